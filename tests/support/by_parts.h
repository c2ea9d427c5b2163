/* An exercise that leaves by parts. What it sends has other values until just before it is marked.
 * What is reported must be right at that moment, and is reported once.
 *
 *     exercise_open(&e);
 *     exercise_init(&e);
 *     by_parts x = by_parts_of(&e);
 *     by_parts_renew(&x, round, &mine);
 *     by_parts_start(&x);
 *     for (int i = 0; i < x.nranges; i++) by_parts_mark(&x, i);
 *     CHECK_OK(grove_wait(e.op));
 *     by_parts_check(&x);
 *     by_parts_free(&x);
 *
 * or by_parts_round for a whole round. Any thread may mark and ask.
 */
#ifndef TEST_BY_PARTS_H
#define TEST_BY_PARTS_H

#include "exercise.h"

/* What one call marks. */
typedef struct part_range {
  int64_t first, count;
  int useful; /* somebody waits for one of its places */
} part_range;

typedef struct by_parts {
  exercise *e;
  int64_t nsent;      /* root numbers, places among the multiroots, or leaf slots */
  char *wanted;       /* per place sent: it has a leaf, or is one */
  int64_t ntold;      /* leaf slots, or root numbers */
  char *due;          /* per place told: something comes for it */
  int64_t *place;     /* gather: where the leaves of each root begin */
  array values;       /* values to send */
  int whole;          /* this round was started as a whole */
  int nranges;        /* of this round, in the order of marking */
  part_range *ranges; /* they overlap where nobody waits */
  int *told;          /* of this round; atomic */
  int64_t left;       /* to be told: atomic */
} by_parts;

by_parts by_parts_of(exercise *e);
void by_parts_free(by_parts *x);

/* Draws values and ranges for another round. The operation is not active. */
void by_parts_renew(by_parts *x, int64_t round, rng *mine);

/* Starts by parts; or as a whole, with all values in place. */
void by_parts_start(by_parts *x);
void by_parts_start_whole(by_parts *x);

/* Writes the values of range i, and marks it. */
void by_parts_mark(by_parts *x, int i);

/* Asserts that what has arrived since is right, and returns how much that was. */
int64_t by_parts_ask(by_parts *x);

/* Whether these have arrived; if so, asserts that they are right. */
int by_parts_look(by_parts *x, int64_t first, int64_t count);

/* After the wait: everything has been told and is right. */
void by_parts_check(by_parts *x);

/* A round in which this many threads mark and ask; 0: this one alone. Some ranks start as a whole.
 * */
void by_parts_round(by_parts *x, int64_t round, int nthreads, rng *mine);

/* A last round: the operation is freed when the wait returns, even if threads are still returning
 * from their last marks. */
void by_parts_last_round(by_parts *x, int64_t round, int nthreads, rng *mine);

#endif
