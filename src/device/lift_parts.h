/* What the files of a lift know of each other: lift.c makes ready what it will be asked for, and
 * lift_ask.c puts that into batches. */
#ifndef GROVE_DEVICE_LIFT_PARTS_H
#define GROVE_DEVICE_LIFT_PARTS_H

#include "device/by_host.h"
#include "device/lift.h"
#include "device/merged.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Host memory in which messages lie, and its mirror: where kernels have them. Of a small cover that
 * is the same memory, as kernels reach it. A kernel then takes as long as its copy would, and there
 * is none. */
typedef struct grove_cover {
  char *memory, *mirror;
  int64_t bytes;
  int pinned;
  int reached; /* the mirror is no other memory */
  int shared;  /* the wiring's memory, pinned with its region */
} grove_cover;

/* What is prepared for a window of a shape, and one motion. */
typedef struct grove_motion_plan {
  const grove_shape *shape; /* NULL: none here */
  int64_t begin, count;
  grove_motion motion;
  grove_prepared prepared;
  grove_by_host *by_host; /* instead, and why: */
  grove_obstacle obstacle;
} grove_motion_plan;

/* What lies at `place` has the mirror of `message`. */
typedef struct grove_likeness {
  const char *place, *message;
  int64_t bytes;
} grove_likeness;

/* Messages that meet in the same slots. */
typedef struct grove_meeting {
  const grove_mover *mover;
  grove_motion motion;
  grove_merged *merged; /* NULL: each has a plan of its own, and the next batch */
  grove_sweep sweep;    /* those that are in ... */
  int64_t batch;        /* ... the batch of this number, */
  int job;              /* from this job on */
} grove_meeting;

/* Messages that stay in mirrors. */
typedef struct grove_inside {
  char *begin, *end;
} grove_inside;

/* Messages that go to the mirror of another lift, which unpacks them. */
typedef struct grove_passage {
  char *begin, *end;
  grove_lift *to;
} grove_passage;

enum { GROVE_NO_BATCH = -1 };

struct grove_lift {
  grove_station *station;
  int ncovers;
  grove_cover *covers;
  grove_likeness like;
  int ninside;
  grove_inside *inside;
  int npassages;
  grove_passage *passages;
  int64_t fetching; /* so many batches were enqueued when a fetch of something inside came */
  grove_asker asker;
  int nmeetings;
  grove_meeting *meetings;
  int64_t nmessages[GROVE_HEADINGS]; /* that it may move at once */
  int nplans, room;                  /* room: a power of 2, more than twice as many */
  grove_motion_plan *plans;
};

/* ---- messages ---- */

/* Where kernels have a message; NULL: nowhere. */
char *grove_lift_mirror_of(const grove_lift *lift, const char *message);
/* Do kernels have it where it lies? */
int grove_lift_reaches(const grove_lift *lift, const char *message);
/* Does it stay on the device? */
int grove_lift_keeps(const grove_lift *lift, const char *message);
/* Where copies find it, or put it: with the device, if that is another one. */
grove_device_copy grove_lift_place(const grove_lift *lift, char *message);

/* ---- plans ---- */

static inline grove_heading grove_heading_of(grove_motion motion)
{
  return motion == GROVE_MOTION_PACK ? GROVE_OUT : GROVE_IN;
}

/* What is prepared for these units, or is now. */
grove_status grove_lift_plan(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                             int64_t begin, int64_t count, grove_motion motion,
                             grove_motion_plan **out);
/* By a copy, or by a kernel? */
int grove_lift_copies(const grove_lift *lift, const grove_prepared *p, grove_motion motion);
/* The messages that meet, of this motion; NULL: none. */
grove_meeting *grove_lift_meeting(const grove_lift *lift, const grove_mover *mover,
                                  grove_motion motion);
/* Which part of a merged recipe so many units of a message are. */
int grove_lift_part(const grove_lift *lift, const grove_meeting *m, const char *message,
                    int64_t count, grove_sweep *out);

#ifdef __cplusplus
}
#endif

#endif
