/* What moves one copy over several paths at once; see grove_cuda.h for the public calls.
 *
 * A *pair* of devices has *routes*: the paths that may be used, and decisions about them. There is
 * one at a time; when a path fails, another takes its place. It also has *crews*: a crew carries
 * one copy, with two streams and a few staging slots for each staged path, which is a *lane* of it.
 * Copies that are under way at the same time have different crews, because none may be kept waiting
 * by another.
 *
 *     copier.c        the public calls: what is refused, which driver, who frees
 *     copier_pair.c   pairs, routes and crews; paths that are struck off
 *     copier_lane.c   streams, events and slots of a staged path; its chunks
 *     copier_move.c   one copy: begin, chunks in rounds, end
 *     copier_links.c  the links of the node, measured
 */
#ifndef GROVE_DEVICE_COPIER_H
#define GROVE_DEVICE_COPIER_H

#include "base/options.h"
#include "device/driver.h"
#include "model/multipath.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  GROVE_LANE_SLOTS = 3,          /* one is filled, one is emptied, one is ready for either */
  GROVE_CREWS = 16,              /* of a pair: copies under way at once; any more go directly */
  GROVE_LEAST_SPLIT = 512 << 10, /* where links were measured, it was from so many bytes on */
  GROVE_LANES_STAGED = 4         /* full lanes for which the staging memory of a device is enough */
};

typedef struct grove_copier grove_copier;

/* A staged path of a crew. What a stop at a GPU needs lies there, and its device sends it on; at
 * the host, the device that it is for fetches it. */
typedef struct grove_copy_lane {
  int stop;               /* a device, or GROVE_HOST */
  uint32_t *word, number; /* `out` writes the number of the last copy there when it is done */
  int in_device, out_device;
  grove_stream *in, *out;
  char *memory;
  int64_t slot_bytes;
  grove_event *filled[GROVE_LANE_SLOTS], *freed[GROVE_LANE_SLOTS], *done;
} grove_copy_lane;

typedef struct grove_copy_crew {
  int number;           /* among those of the pair */
  int taken;            /* atomic: a call is enqueuing */
  grove_stream *stream; /* of the last copy, and its device */
  int device;
  grove_event *begin[GROVE_DEVICES]; /* one for each device whose streams it was used with */
  grove_copy_lane *lanes[GROVE_ENDS];
} grove_copy_crew;

typedef struct grove_copy_route {
  struct grove_copy_route *older;
  grove_copy_cache *cache; /* NULL: only the driver's own copy is left */
  int npaths;
  grove_path path[GROVE_PATHS]; /* as decisions number them */
  char list[16 * GROVE_PATHS];  /* their names, with commas */
  grove_link_cost own;          /* of the driver's own copy; rate 0: not known */
} grove_copy_route;

typedef struct grove_copy_pair {
  int from, to;
  grove_copy_route *route;             /* atomic */
  uint32_t struck;                     /* atomic; bit s: the path with its stop at s has failed */
  grove_copy_crew *crews[GROVE_CREWS]; /* atomic */
  uint32_t *words;                     /* pinned: one for each lane of each crew */
} grove_copy_pair;

/* What is measured besides links; all 0: nothing. */
typedef struct grove_copy_findings {
  grove_link_cost own[GROVE_DEVICES][GROVE_DEVICES]; /* of the driver's own copies */
  int engines[GROVE_DEVICES]; /* so many copies at once may leave it; 0: any number */
} grove_copy_findings;

struct grove_copier {
  const grove_driver *driver;
  int ndevices;
  grove_machine *machine;
  grove_copy_findings found;
  uint32_t wanted; /* bit 0: direct, bit 1 + s: a stop at s */
  int64_t staging_bytes;
  int64_t staged[GROVE_ENDS];                           /* atomic: bytes in use there */
  pthread_mutex_t lock;                                 /* for what is made */
  grove_copy_pair *pairs[GROVE_DEVICES][GROVE_DEVICES]; /* atomic */
};

/* ---- copier.c ---- */

/* A copier for a driver that is open. `m` NULL: the links are measured. `paths` NULL: all. */
grove_status grove_copier_open(const grove_driver *driver, int ndevices, const grove_machine *m,
                               const char *paths, int64_t staging_bytes, grove_copier **out);
void grove_copier_close(grove_copier *c);

/* ---- copier_pair.c ---- */

grove_status grove_copy_pair_find(grove_copier *c, int from, int to, grove_copy_pair **out);
void grove_copy_pair_free(grove_copier *c, grove_copy_pair *pair);
/* The path with this stop is not used again. */
void grove_copy_pair_strike(grove_copier *c, grove_copy_pair *pair, int stop);
/* What a copy of so many bytes should do; NULL: the driver's own copy is best, or all there is. */
const grove_copy_decision *grove_copy_route_decide(const grove_copy_route *route, int64_t bytes);
/* Seconds that a copy should take by the model, and those of the best single path. */
grove_status grove_copy_pair_predict(const grove_copier *c, const grove_copy_pair *pair,
                                     int64_t bytes, double *seconds, double *single);
/* One that is idle, or that the same stream has used last; NULL: there is none. */
grove_copy_crew *grove_copy_crew_take(grove_copy_pair *pair, grove_stream *stream, int device);
void grove_copy_crew_give(grove_copy_crew *crew);
/* Is all that it carried done, as far as the host knows? */
int grove_copy_crew_is_idle(const grove_copy_crew *crew);

/* ---- copier_lane.c ---- */

/* The crew's lane with this stop, made the first time. GROVE_ERR_MEMORY: there is no staging memory
 * left for it now. */
grove_status grove_copy_lane_find(grove_copier *c, grove_copy_pair *pair, grove_copy_crew *crew,
                                  int stop, grove_copy_lane **out);
void grove_copy_lane_free(grove_copier *c, grove_copy_lane *lane);
/* Its streams go on behind the event, and behind what it has carried before unless that is known to
 * be done. */
grove_status grove_copy_lane_begin(grove_copier *c, grove_copy_lane *lane, grove_event *begin,
                                   int is_idle);
/* Takes chunk `number` of this copy, through its slot, which is not used again in the last round.
 * `left` tells whether the chunk has left the slot for `to`, even if something failed later. */
grove_status grove_copy_lane_carry(grove_copier *c, grove_copy_lane *lane, int64_t number,
                                   int is_last_round, char *to, const char *from, int64_t bytes,
                                   int *left);
/* The stream of the device goes on behind all of that. If no event can do this, the host waits.
 * When all is done, the lane's word tells the host. */
grove_status grove_copy_lane_end(grove_copier *c, grove_copy_lane *lane, int device,
                                 grove_stream *stream);

/* ---- copier_move.c ---- */

grove_status grove_copy_move(grove_copier *c, grove_copy_pair *pair, char *to, const char *from,
                             int64_t bytes, int device, grove_stream *stream);

/* ---- copier_links.c ---- */

/* A machine with the links between the devices of this driver and the host, measured. Where nothing
 * can be measured, all links are alike. */
grove_status grove_copy_links_measure(const grove_driver *driver, int ndevices,
                                      grove_copy_findings *found, grove_machine **out);

#ifdef __cplusplus
}
#endif

#endif
