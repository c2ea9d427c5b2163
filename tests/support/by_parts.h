/* An exercise that leaves by parts: what it sends has other values until right before it is marked,
 * and what is told must be right then, and is told once.
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
 * or all of that round by by_parts_round. Marks and questions: any thread.
 */
#ifndef TEST_BY_PARTS_H
#define TEST_BY_PARTS_H

#include "exercise.h"

/* What one call marks. */
typedef struct part_range {
  int64_t first, count;
  int useful; /* somebody waits for one of them */
} part_range;

typedef struct by_parts {
  exercise *e;
  int64_t nsent;      /* root numbers, places among the multiroots, or leaf slots */
  char *wanted;       /* of these: it has a leaf, or is one */
  int64_t ntold;      /* leaf slots, or root numbers */
  char *due;          /* of these: something comes for it */
  int64_t *place;     /* gather: where the leaves of each root begin */
  array values;       /* what is to be sent */
  int whole;          /* this round: started as a whole */
  int nranges;        /* this round: in the order in which they are marked */
  part_range *ranges; /* they overlap where nobody waits */
  int *told;          /* this round: atomic */
  int64_t left;       /* to be told: atomic */
} by_parts;

by_parts by_parts_of(exercise *e);
void by_parts_free(by_parts *x);

/* Values and ranges for another round. The operation is not active. */
void by_parts_renew(by_parts *x, int64_t round, rng *mine);

/* By parts; and as a whole, with all values there. */
void by_parts_start(by_parts *x);
void by_parts_start_whole(by_parts *x);

/* Puts the values of range i where they belong, and marks it. */
void by_parts_mark(by_parts *x, int i);

/* What has come since: asserts that it is right. Says how much that was. */
int64_t by_parts_ask(by_parts *x);

/* Have these? If so, asserts that they are right. */
int by_parts_look(by_parts *x, int64_t first, int64_t count);

/* Behind the wait: what was not told is, and everything is as it should be. */
void by_parts_check(by_parts *x);

/* A round in which so many threads mark and ask; 0: this one alone. Some ranks start as a whole. */
void by_parts_round(by_parts *x, int64_t round, int nthreads, rng *mine);

/* A last one: the operation is freed when the wait returns, whatever threads are about to return
 * from their last marks. */
void by_parts_last_round(by_parts *x, int64_t round, int nthreads, rng *mine);

#endif
