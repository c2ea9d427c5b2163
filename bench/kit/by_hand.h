/* A hand-written exchange, in two halves around the messages. Consecutive data is sent from and
 * received into the user's arrays. The rest is packed and unpacked with loops over 32-bit lists.
 *
 *     bench_by_hand_open(&graph, comm, how, &h);      collective
 *     bench_by_hand_pack(&h, from);                   before messages are sent
 *     bench_by_hand_unpack(&h, to);                   after they were received
 *     bench_by_hand_keep(&h, from, to);               the edges of this rank to itself
 *     bench_by_hand_close(&h);
 */
#ifndef BENCH_KIT_BY_HAND_H
#define BENCH_KIT_BY_HAND_H

#include "kit/lists.h"
#include "kit/types.h"

typedef struct bench_by_hand_how {
  const bench_type *type;
  int64_t width; /* values of the type in a unit; sizes: 1, 2, 4 bytes, or a multiple of 8 */
  int reduce;    /* from leaves to roots, summed there; else from roots to leaves */
  int share;     /* see bench_lists_open */
  int stages;    /* a rank's data for itself goes through memory, as with MPI */
} bench_by_hand_how;

typedef struct bench_message {
  int peer;
  int units;  /* that travel */
  int nslots; /* of the array; equals units if nothing is shared */
  const int32_t *slots;
  const int32_t *place; /* the unit of each slot; NULL: slot i is unit i */
  int consecutive;      /* slots[i] is slots[0] + i */
  int direct;           /* uses the user's array from slots[0] on, not the staging memory */
  char *staging;
} bench_message;

typedef struct bench_by_hand {
  bench_by_hand_how how;
  size_t bytes; /* of a unit */
  bench_lists lists;
  int nsends, nreceives;
  bench_message *sends, *receives; /* ascending by peer */
  int nself;
  const int32_t *self_from, *self_to;
  char *staging;      /* of all messages: sends first, then receives */
  char *self_staging; /* or NULL */
} bench_by_hand;

/* Collective. */
void bench_by_hand_open(const bench_graph *g, MPI_Comm comm, bench_by_hand_how how,
                        bench_by_hand *out);
void bench_by_hand_close(bench_by_hand *h);

/* The address of the message, given the user's array, and its number of values of the type. */
static inline void *bench_message_data(const bench_by_hand *h, const bench_message *m, char *array)
{
  return m->direct ? array + (size_t)m->slots[0] * h->bytes : m->staging;
}
static inline int bench_message_count(const bench_by_hand *h, const bench_message *m)
{
  return (int)(m->units * h->how.width);
}

void bench_message_pack(const bench_by_hand *h, const bench_message *m, const char *from);

/* All of them. */
void bench_by_hand_pack(const bench_by_hand *h, const char *from);
void bench_by_hand_unpack(const bench_by_hand *h, char *to);

void bench_by_hand_keep(const bench_by_hand *h, const char *from, char *to);

/* Persistent requests for these arrays: receives, then sends. */
void bench_by_hand_init(const bench_by_hand *h, char *from, char *to, MPI_Comm comm, int tag,
                        MPI_Request *requests);

/* ---- neighbourhood collectives ---- */

/* The arguments of MPI_Neighbor_alltoallv. It takes one address for all messages, so all lie in the
 * array, or all are staged. */
typedef struct bench_neighbors {
  MPI_Comm comm;
  MPI_Datatype type;
  int *send_counts, *send_at, *receive_counts, *receive_at; /* in values of the type */
} bench_neighbors;

/* Collective. */
void bench_neighbors_open(bench_by_hand *h, MPI_Comm comm, bench_neighbors *out);
void bench_neighbors_close(bench_neighbors *n);

/* That address, given the user's array. */
static inline void *bench_neighbors_data(const bench_message *first, int n, char *array)
{
  return n > 0 && !first->direct ? first->staging : array;
}

#endif
