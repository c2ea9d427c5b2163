/* What moves one copy over several paths at once; see grove_cuda.h for the public calls.
 *
 * A *pair* of devices has *routes*: the paths that may be used, and decisions about them. There is
 * one at a time; when a path fails, another takes its place. It also has *crews*: a crew carries
 * one copy, with two streams and a few staging slots for each staged path, which is a *lane* of it.
 * Copies that are under way at the same time have different crews, because none may be kept waiting
 * by another.
 *
 *     copier.c        the public calls: what is refused, which driver
 *     copier_make.c   a copier for a driver, for a context, and for stations of that
 *     copier_pair.c   pairs, routes and crews; paths that are struck off
 *     copier_lane.c   streams, events and slots of a staged path; its chunks
 *     copier_move.c   one copy: begin, chunks in rounds, end
 *     copier_links.c  the links of the node, measured
 */
#ifndef GROVE_DEVICE_COPIER_H
#define GROVE_DEVICE_COPIER_H

#include "base/options.h"
#include "device/station.h"
#include "model/multipath.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  GROVE_LANE_SLOTS = 3,          /* one is filled, one is emptied, one is ready for either */
  GROVE_CREWS = 16,              /* of a pair: copies under way at once; any more go directly */
  GROVE_LEAST_SPLIT = 512 << 10, /* where links were measured, it was from so many bytes on */
  GROVE_LANES_STAGED = 4,        /* lanes for which the staging memory of a device is enough, */
  GROVE_SLOT_BYTES = 8 << 20,    /* or more, if their slots would be longer than this */
  GROVE_LINK_SAMPLES = 5         /* of each link, and each size, that is measured */
};

typedef struct grove_copier grove_copier;

/* A staged path of a crew. What a stop at a GPU needs lies there, and its device sends it on; at
 * the host, the device that it is for fetches it. */
typedef struct grove_copy_lane {
  int stop;               /* a device, or GROVE_HOST */
  uint32_t *word, number; /* `out` writes the number of the last copy there when it is done */
  int in_device, out_device;
  grove_stream *in, *out;
  char *memory; /* NULL: another lane with the same stop took it over while this one was idle */
  int64_t slot_bytes;
  grove_event *filled[GROVE_LANE_SLOTS], *freed[GROVE_LANE_SLOTS], *done;
} grove_copy_lane;

typedef struct grove_copy_crew {
  int number;           /* among those of the pair */
  int taken;            /* atomic: a call is enqueuing */
  grove_stream *stream; /* of the last copy, and its device */
  int device;
  int was_idle;                      /* when it was taken */
  grove_event *begin[GROVE_DEVICES]; /* one for each device whose streams it was used with */
  uint32_t stops;                    /* bit s: it has a lane with this stop */
  grove_copy_lane *lanes[GROVE_ENDS];
} grove_copy_crew;

typedef struct grove_copy_route {
  struct grove_copy_route *older;
  /* Without the host, for while a copy the other way goes by it: both would cross the same slots
   * and memory. NULL: no path goes by the host. */
  struct grove_copy_route *apart;
  grove_copy_cache *cache; /* NULL: only the driver's own copy is left */
  int npaths;
  grove_path path[GROVE_PATHS]; /* as decisions number them */
  double slowed[GROVE_PATHS];   /* seconds that the direct path loses for each byte of this one */
  char list[16 * GROVE_PATHS];  /* their names, with commas */
  grove_link_cost own;          /* of the driver's own copy; rate 0: not known */
} grove_copy_route;

typedef struct grove_copy_pair {
  int from, to;
  grove_copy_route *route;             /* atomic */
  uint32_t struck;                     /* atomic; bit s: the path with its stop at s has failed */
  grove_copy_crew *crews[GROVE_CREWS]; /* atomic */
  uint32_t *words;                     /* pinned: one for each lane of each crew */
  uint32_t by_host[GROVE_CREWS];       /* atomic: the number of the host's lane; its word follows */
} grove_copy_pair;

/* What is measured besides links; all 0: nothing. */
typedef struct grove_copy_findings {
  grove_link_cost own[GROVE_DEVICES][GROVE_DEVICES]; /* of the driver's own copies */
  int engines[GROVE_DEVICES]; /* so many copies at once may leave it; 0: any number */
} grove_copy_findings;

struct grove_copier {
  const grove_driver *driver;
  grove_context *ctx; /* whose it is; NULL: nobody's */
  int ndevices;
  grove_machine *machine;
  grove_copy_findings found;
  uint32_t wanted; /* bit 0: direct, bit 1 + s: a stop at s */
  int64_t staging_bytes;
  int64_t staged[GROVE_ENDS];                           /* atomic: bytes in use there */
  pthread_mutex_t lock;                                 /* for what is made */
  grove_copy_pair *pairs[GROVE_DEVICES][GROVE_DEVICES]; /* atomic */
};

static inline void grove_copy_crew_give(grove_copy_crew *crew)
{
  __atomic_store_n(&crew->taken, 0, __ATOMIC_RELEASE);
}

/* Is all that it carried done, as far as the host knows? */
static inline int grove_copy_crew_is_idle(const grove_copy_crew *crew)
{
  for (uint32_t stops = crew->stops; stops; stops &= stops - 1) {
    const grove_copy_lane *lane = crew->lanes[__builtin_ctz(stops)];
    if (__atomic_load_n(lane->word, __ATOMIC_ACQUIRE) != lane->number) return 0;
  }
  return 1;
}

/* ---- copier_make.c ---- */

/* A copier for a driver that is open. `m` NULL: the links are measured. `paths` NULL: all. */
grove_status grove_copier_open(const grove_driver *driver, int ndevices, const grove_machine *m,
                               const char *paths, int64_t staging_bytes, grove_copier **out);
void grove_copier_close(grove_copier *c);

/* Gives the context a copier, if its device is open. With the lock. */
grove_status grove_copier_make(grove_context *ctx);

/* From now on the copier of the station's context carries what goes from there to another device.
 * What copies of so many bytes need is made. Returns whether it could be. With the lock, when no
 * stream waits for an operation. */
int grove_copier_serve(grove_station *s, int to, int64_t bytes);

/* ---- copier_pair.c ---- */

grove_status grove_copy_pair_find(grove_copier *c, int from, int to, grove_copy_pair **out);
void grove_copy_pair_free(grove_copier *c, grove_copy_pair *pair);
/* The path with this stop is not used again. */
void grove_copy_pair_strike(grove_copier *c, grove_copy_pair *pair, int stop);
/* Where a path has its stop: a device, or GROVE_HOST; -1: it is the direct one. */
int grove_copy_path_stop(const grove_path *p);
/* What a copy of so many bytes should do; NULL: the driver's own copy is best, or all there is. */
const grove_copy_decision *grove_copy_route_decide(const grove_copy_route *route, int64_t bytes);
/* Is a copy under way by the host, as far as this host knows? */
int grove_copy_pair_is_by_host(const grove_copy_pair *pair);
/* The route for a copy of so many bytes now. */
const grove_copy_route *grove_copy_pair_route(const grove_copier *c, const grove_copy_pair *pair,
                                              int64_t bytes);
/* Seconds that a copy should take by the model, and those of the best single path. */
grove_status grove_copy_pair_predict(const grove_copier *c, const grove_copy_pair *pair,
                                     int64_t bytes, double *seconds, double *single);
/* One that is idle, or that the same stream has used last; NULL: there is none. */
grove_copy_crew *grove_copy_crew_take(grove_copy_pair *pair, grove_stream *stream, int device);

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
 * When all is done, the lane's word tells the host. If the lane failed, something may have come in
 * that does not leave. The last sentence may be another one afterwards, even if nothing failed. */
grove_status grove_copy_lane_end(grove_copier *c, grove_copy_lane *lane, int has_failed, int device,
                                 grove_stream *stream);

/* ---- copier_move.c ---- */

/* What one copy is about. */
typedef struct grove_copy_order {
  char *to;
  const char *from;
  int64_t bytes;
  int device; /* of the stream */
  grove_stream *stream;
} grove_copy_order;

grove_status grove_copy_move(grove_copier *c, grove_copy_pair *pair, const grove_copy_order *order);
/* The same, with what is there already: nothing is made, so that nothing waits. */
grove_status grove_copy_move_at_once(grove_copier *c, grove_copy_pair *pair,
                                     const grove_copy_order *order);
/* Makes what such a copy needs. */
grove_status grove_copy_prepare(grove_copier *c, grove_copy_pair *pair,
                                const grove_copy_order *order);
/* The same by a decision of the caller's, about the paths of the pair's route. NULL: directly. */
grove_status grove_copy_move_as(grove_copier *c, grove_copy_pair *pair,
                                const grove_copy_decision *d, const grove_copy_order *order);

/* ---- copier_links.c ---- */

/* A machine with the links between the devices of this driver and the host, measured. Where nothing
 * can be measured, all links are alike. */
grove_status grove_copy_links_measure(const grove_driver *driver, int ndevices,
                                      grove_copy_findings *found, grove_machine **out);

#ifdef __cplusplus
}
#endif

#endif
