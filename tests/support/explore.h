/* Visits every state that a model of a protocol can reach, breadth first, each once.
 *
 * A state is a block of bytes of fixed size, without padding that differs. Given a state, a
 * function of the model calls explorer_reach() with every state that is one step away, and
 * explorer_fail() if it sees what must never happen: the search ends there. If nothing fails, the
 * search also shows whether the end can be reached from every state: no deadlock, and no endless
 * loop.
 *
 *     explorer x;
 *     explorer_begin(&x, sizeof start, &model, all_steps, ended);
 *     explorer_run(&x, &start);
 *     CHECK(!x.failed, "...");
 *     explorer_free(&x);
 */
#ifndef TEST_EXPLORE_H
#define TEST_EXPLORE_H

#include <stddef.h>
#include <stdint.h>

enum { EXPLORER_DEAD_END = -1 };

typedef struct explorer {
  void *model; /* data for its functions */
  void (*all_steps)(struct explorer *x, const void *state);
  int (*ended)(const struct explorer *x, const void *state);

  int failed;      /* 0; what explorer_fail() was told; or EXPLORER_DEAD_END */
  uint32_t now;    /* the current state; the one that failed */
  uint64_t states; /* found so far */

  size_t bytes, stride; /* of a state, and of one in `seen`, padded to 8-byte words */
  unsigned char *seen;  /* all states, in the order they were found */
  uint32_t *from;       /* the state each was first found from */
  uint32_t *next;       /* the states one step away: those of state i begin at first[i] */
  uint64_t *first;
  uint32_t *table; /* hashed: the number of a state, plus 1 */
  uint64_t room, steps, step_room, table_size;
} explorer;

void explorer_begin(explorer *x, size_t bytes, void *model,
                    void (*all_steps)(explorer *, const void *),
                    int (*ended)(const explorer *, const void *));
void explorer_run(explorer *x, const void *start);
void explorer_free(explorer *x);

void explorer_reach(explorer *x, const void *state);
void explorer_fail(explorer *x, int what); /* the first counts */

/* State i, and the least number of steps to it. */
const void *explorer_state(const explorer *x, uint32_t i);
int explorer_depth(const explorer *x, uint32_t i);

#endif
