/* The engine of the emulated device: the thread that does what is enqueued on streams. It goes on
 * whatever the program does, since streams of other processes may wait for it. Here is what it
 * works on, for the files that enqueue (emulated_stream.c, emulated_work.c).
 *
 * Everything enqueued is a *task*, with a number in its stream. It begins when those before
 * it in its stream are done and when other streams have passed the points that it waits for. Such
 * points are events, and what holds for the default stream.
 */
#ifndef GROVE_DEVICE_EMULATED_ENGINE_H
#define GROVE_DEVICE_EMULATED_ENGINE_H

#include "device/emulated_parts.h"

#include <pthread.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_work {
  GROVE_WORK_NOTHING,
  GROVE_WORK_COPY,
  GROVE_WORK_LAUNCH,
  GROVE_WORK_WRITE,
  GROVE_WORK_AWAIT
} grove_work;

/* A stream that has done this many. */
typedef struct grove_stream_point {
  grove_stream *stream;
  uint64_t number;
} grove_stream_point;

typedef struct grove_task {
  struct grove_task *next;
  grove_stream *stream;
  uint64_t number;
  uint64_t ticket; /* among all of the process */
  grove_work kind;
  int demanded; /* somebody waits for it */
  int patient;  /* lazy: also until this thread has computed so long */
  int thread;   /* its clockid_t */
  double thread_due, due;
  void *to;
  const void *from;
  int64_t bytes;
  uint32_t *word, value;
  grove_launch *launch;
  uint64_t seed;
  double at; /* when it was enqueued, by the clock of the device */
  int npoints;
  grove_stream_point points[];
} grove_task;

struct CUstream_st {
  int slot; /* its place in clocks */
  int device;
  int is_alive, is_default;
  uint64_t enqueued, done; /* numbers; a stream that takes its place goes on counting */
  grove_task *first, *last;
  grove_order order; /* what came before its last task, with that task */
  int is_unsure;     /* the host put it behind something, by a word, and nobody knows what */
};

struct grove_event {
  int device;
  grove_stream_point point; /* no stream: never recorded */
  grove_order order;
};

typedef struct grove_engine_state {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  pthread_t thread;
  pid_t process; /* whose thread it is; 0: none */
  int stop;
  grove_stream *streams[GROVE_ORDER_STREAMS]; /* they stay: events know them */
  int nstreams;
  grove_stream *defaults[GROVE_EMULATED_DEVICES];
  uint64_t tickets;
  int strict;
  int has_clock; /* time is that of emulated_links.c, and so are tempers */
  grove_temper temper;
  uint64_t random;
} grove_engine_state;

extern grove_engine_state grove_engine;

void grove_engine_lock(void);
void grove_engine_unlock(void);

/* ---- all that follows: with the lock ---- */

/* Once for a process. */
grove_status grove_engine_start(void);

static inline int grove_stream_point_passed(const grove_stream_point *p)
{
  return p->stream->done >= p->number;
}

/* Keeps the host here until it is done. */
void grove_engine_wait(grove_stream_point p);

/* ---- what is done with a task (emulated_task.c) ---- */

/* Notes what the host has seen of it, before the host can see it. */
void grove_task_note(const grove_task *t);
/* Does the work; this needs no lock. */
void grove_task_perform(const grove_task *t);
/* It is done, and gone. */
void grove_task_retire(grove_task *t);
/* Has the word come that it awaits? */
int grove_task_word_came(const grove_task *t);

/* ---- a clock of its own (emulated_links.c) ---- */

/* The host calls something, which takes its time; returns when it is done. */
double grove_clock_call(void);
/* Lets time pass until it is done. */
void grove_clock_wait(grove_stream_point p);

/* When it may begin, by the temper. */
void grove_task_delay(grove_task *t);
/* NULL is none. */
void grove_task_free(grove_task *t);

/* ---- how work is enqueued (emulated_stream.c) ---- */

/* A new task, which nobody but the caller knows yet. */
grove_status grove_task_make(int device, grove_stream *stream, grove_work kind, grove_task **out);
/* Lets a task wait until `number` tasks of the stream are done. */
void grove_task_add(grove_task *t, grove_stream_point p);
/* Gives it its place. What it waits for besides was added before. */
void grove_task_enqueue(grove_task *t);

#ifdef __cplusplus
}
#endif

#endif
