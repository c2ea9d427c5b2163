/* An exchange as one writes it by hand: what is consecutive is sent from and received into the
 * user's array, the rest is packed and unpacked with a loop over an index list.
 */
#ifndef BENCH_METHODS_BY_HAND_H
#define BENCH_METHODS_BY_HAND_H

#include "methods/lists.h"

typedef struct bench_message {
  int peer, count;
  const int32_t *index;
  int consecutive; /* index[i] is index[0] + i */
  int direct;      /* the user's array from index[0] on, not the staging memory */
  char *staging;
} bench_message;

/* One exchange of a case, in its direction: bcast goes from roots to leaves, reduce back. */
typedef struct bench_by_hand {
  const bench_type *type;
  int reduce;
  bench_lists lists;
  int nsends, nreceives;
  bench_message *sends, *receives;
  int nself;
  const int32_t *self_from, *self_to;
  char *staging;      /* of all messages: sends first, ascending by peer, then receives */
  char *self_staging; /* a reduction of one's own leaves goes through memory, as with MPI */
} bench_by_hand;

/* Collective. */
void bench_by_hand_open(const bench_case *c, int exchange, bench_by_hand *out);
void bench_by_hand_close(bench_by_hand *h);

/* Where the message lies, given the user's array. */
static inline void *bench_message_data(const bench_by_hand *h, const bench_message *m, char *array)
{
  return m->direct ? array + (size_t)m->index[0] * h->type->bytes : m->staging;
}

void bench_by_hand_pack(const bench_by_hand *h, const char *from);
/* Includes the edges from this rank to itself. */
void bench_by_hand_unpack(const bench_by_hand *h, const char *from, char *to);

/* The arrays in the direction of the exchange. */
static inline char *bench_from_array(const bench_case *c, int buffer)
{
  return c->spec->kind == BENCH_REDUCE ? bench_leaf_array(c, buffer) : bench_root_array(c, buffer);
}
static inline char *bench_to_array(const bench_case *c, int buffer)
{
  return c->spec->kind == BENCH_REDUCE ? bench_root_array(c, buffer) : bench_leaf_array(c, buffer);
}

/* to[i] = from[index[i]], and to[index[i]] = from[i]; for units of 1, 2, 4, 8 and 16 bytes. */
void bench_gather(size_t bytes, const void *from, void *to, const int32_t *index, int n);
void bench_scatter(size_t bytes, const void *from, void *to, const int32_t *index, int n);

#endif
