/* What a context has of a device: two streams of Grove's own, one for what leaves it and one for
 * what comes to it. So copies go both ways at once. On each, *batches* follow each other. The
 * stream counts those that are done in a word of pinned memory, which costs less to look at than an
 * event.
 */
#ifndef GROVE_DEVICE_STATION_H
#define GROVE_DEVICE_STATION_H

#include "device/driver.h"
#include "device/space.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_BATCH_COPIES = GROVE_JOBS };

typedef struct grove_device_copy {
  char *to;
  const char *from;
  int64_t bytes;
  int is_far; /* to the memory of another device, */
  int to_device;
} grove_device_copy;

typedef struct grove_copy_list {
  int n;
  grove_device_copy list[GROVE_BATCH_COPIES];
} grove_copy_list;

/* Somebody who asks for something. If another enqueues that, and fails, it is told later. */
typedef struct grove_asker {
  grove_status failure;
  grove_sentence sentence;
} grove_asker;

/* A launch, and what it touches, for a driver that checks the order. */
typedef struct grove_watched_launch {
  grove_launch launch;
  int naccesses;
  grove_access *accesses;
} grove_watched_launch;

/* What was asked for and not enqueued yet: copies to the device, kernels, copies from it. What goes
 * `ahead` stays on the device, and the others may read it. */
typedef struct grove_device_batch {
  grove_asker *asker; /* Others enqueue it before they ask for anything. */
  int has_ordered;    /* it has an ordered job: a further one must wait for the next batch */
  int64_t bytes;
  grove_copy_list copies_ahead, before, after;
  grove_watched_launch ahead, main;
} grove_device_batch;

typedef struct grove_track {
  grove_stream *stream;
  uint32_t *word;    /* how many batches are done, modulo 2^32 */
  uint32_t *reached; /* the word, for kernels; NULL: they do not reach it */
  uint32_t *counter; /* of launches, in the device's memory */
  int64_t enqueued;  /* how many there were */
  int broken;        /* the stream cannot count any more: nobody waits, and all else fails */
  grove_device_batch *batch;
} grove_track;

typedef struct grove_station {
  struct grove_station *next;
  grove_context *ctx;
  const grove_driver *driver;
  int device;
  grove_event *event;
  struct grove_page *pages; /* pinned: words */
  int npins;                /* memory that processes share, pinned to the end */
  void **pins;
  int is_awaited; /* users' streams may wait for one of the words */
  /* Copies to other devices; NULL: the driver does (copier.c). */
  grove_status (*carry)(const struct grove_station *s, grove_stream *stream,
                        const grove_device_copy *copy);
  grove_track tracks[GROVE_HEADINGS];
} grove_station;

/* The context's station at a device, made the first time. This rank's failure. */
grove_status grove_station_find(grove_context *ctx, const grove_driver *driver, int device,
                                grove_station **out);

/* A batch of no work: it is done when all before it is. */
grove_status grove_station_count(grove_station *s, grove_heading heading);

/* Enqueues what was asked for. If it was another who asked, that one is told of a failure. */
grove_status grove_station_flush(grove_station *s, grove_heading heading, const grove_asker *by);

/* What failed when another enqueued it; once. */
grove_status grove_asker_told(grove_asker *asker);

/* Is something under way that what was asked for may as well wait for? More may come meanwhile, and
 * go with it. */
int grove_station_may_gather(const grove_station *s, grove_heading heading);

/* Waits until no stream waits for an operation of the context: what stands behind such a stream may
 * be what moves that operation. Called without the lock. GROVE_ERR_TIMEOUT, as of a wait. */
grove_status grove_station_settle(grove_context *ctx);

/* All that was enqueued before on the user's stream comes first; or on the default stream of a
 * device, which may be another one. */
grove_status grove_station_follow(grove_station *s, grove_stream *stream);
grove_status grove_station_follow_default(grove_station *s, int device);
/* The same for an event, and one heading. What was asked for before does not wait for it. */
grove_status grove_station_follow_event(grove_station *s, grove_heading heading,
                                        grove_event *event);

/* Pins memory that processes share, once, until the context ends; if that fails, copies of it are
 * slower. */
void grove_station_pin(grove_station *s, void *memory, int64_t bytes);

/* A word of pinned memory, for a while. */
grove_status grove_station_take_word(grove_station *s, uint32_t **out);
void grove_station_give_word(grove_station *s, uint32_t *word);

/* The number of the batch with the last that somebody asked for; and how many are done. */
int64_t grove_track_begun(const grove_track *t, const grove_asker *asker);
int64_t grove_track_passed(const grove_track *t);

#ifdef __cplusplus
}
#endif

#endif
