/* A rank performs a program, and asserts that everything is as the model says. */
#ifndef TEST_RUN_H
#define TEST_RUN_H

#include "model.h"
#include "places.h"

/* An operation on this rank since its last start, if it is of a kind that can leave by parts. */
typedef struct tracked {
  int on, by_parts; /* it is; and it was started so */
  int64_t nsent, ntold;
  char *unmarked; /* of what it sends: somebody waits for it */
  char *due;      /* of what it is told: it was not yet */
  array saved;    /* the array that it sends from, with its values */
} tracked;

typedef struct memories memories;

/* A stream waits for an operation, and the host does other things meanwhile. */
typedef struct pending {
  int on, op, complete; /* the step that was to complete it */
} pending;

typedef struct run {
  const scene *s;
  const program *p;
  place at; /* the communicator; its context is none */
  int now;  /* the context that steps work with */
  grove_context *context[MOST_STEPS];
  grove_forest *forest[MOST_STEPS];
  graph *order[MOST_STEPS];
  grove_op *op[MOST_STEPS];
  char active[MOST_STEPS];
  char unwaited[MOST_STEPS];   /* complete, and no host has waited for it, but for its stream */
  char has_helper[MOST_STEPS]; /* of contexts: progress=thread */
  int in_region;               /* there are several threads */
  pending late;
  int starts[MOST_STEPS]; /* completed ones, of an operation */
  tracked parts[MOST_STEPS];
  array real[ROLES * MOST_STEPS]; /* this rank's arrays, where it sees them */
  array last[ROLES * MOST_STEPS]; /* what they held when they were known last */
  model *m;
  memories *memory; /* where the arrays lie */
} run;

/* The whole program, on its ranks. Collective over comm. */
void run_program(const scene *s, MPI_Comm comm);

/* ---- parts.c ---- */

/* Starts an operation, by parts if the step has it so for this rank. */
void parts_start(run *r, int op, const step *st);

/* Marks some of what is not marked, or all, on ranks that have started it so. */
void parts_mark(run *r, int op, uint64_t seed, int all);

/* What has come of round k of a start must be right; says how much that was. */
int64_t parts_ask(run *r, int op, int start, int round);

/* It is complete; it was freed while active. */
void parts_end(run *r, int op, int start, int round, rng *mine);
void parts_drop(run *r, int op);

/* ---- settle.c: what comes after a start ---- */

/* Waits for the operation that a step started, in one of the ways there are. */
void settle_complete(run *r, int id, int op, rng *mine);

/* After that: is everything where it should be? Round k of the step that started it. */
void settle_check(run *r, int start, int round, const char *when);

/* Frees an operation while it is active: nothing but what it was to write may have changed, and
 * from now on not even that. `start` is NOTHING if not all ranks have started it. */
void settle_abandon(run *r, int op, int start);

/* At the end all arrays hold what they held when they were looked at last. */
void settle_arrays(run *r);

#endif
