/* An exchange as one writes it by hand, in two halves around the messages: what is consecutive is
 * sent from and received into the array; the rest is packed and unpacked with loops over 32-bit
 * lists. Where an eighth or more of a message would repeat values, each is sent once.
 *
 *     by_hand_open(b, task, &h);                  collective
 *     by_hand_pack(&h, &h.sends[i]) ...           before it is sent
 *     by_hand_unpack(&h, &h.receives[i]) ...      after it was received
 *     by_hand_keep(&h);                           the edges of this rank to itself
 *     by_hand_close(&h);
 */
#ifndef GROVE_TOOLS_BY_HAND_H
#define GROVE_TOOLS_BY_HAND_H

#include "grove/bench/bench.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct by_hand_message {
  int peer;
  int units;  /* that travel */
  int nslots; /* of the array; as many as units if nothing is repeated */
  int32_t *slots;
  int32_t *place;          /* which unit each slot stands for; NULL: the one of its number */
  int consecutive, direct; /* slots[i] is slots[0] + i; and the array itself is sent or written */
  double *staging, *data;  /* data: one of the two */
} by_hand_message;

typedef struct by_hand {
  const bench *b;
  int reduce;
  int nsends, nreceives;
  by_hand_message *sends, *receives; /* ascending by peer */
  int nself;
  int32_t *self_root, *self_leaf;
  int32_t *leaf_slots, *leaf_places, *root_slots; /* behind all lists */
  double *send_staging, *receive_staging;         /* of all messages, one after the other */
} by_hand;

void by_hand_open(const bench *b, const bench_task *task, by_hand *out);
void by_hand_close(by_hand *h);

/* From now on it goes through staging memory. */
void by_hand_stage(by_hand_message *m);

void by_hand_pack(const by_hand *h, const by_hand_message *m);
void by_hand_unpack(const by_hand *h, const by_hand_message *m);
void by_hand_keep(const by_hand *h);

#ifdef __cplusplus
}
#endif

#endif
