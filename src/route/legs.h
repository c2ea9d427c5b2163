/* Legs: how the blocks of ranks travel between nodes. A *leg* is a part of a block, with the rank
 * that sends it to the other node and the rank that receives it there.
 *
 *     rank 1's block for node 2, ten units:   units 0 to 5 by rank 0 to rank 8
 *                                             units 6 to 9 by rank 1 to rank 9
 */
#ifndef GROVE_ROUTE_LEGS_H
#define GROVE_ROUTE_LEGS_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Units begin .. end-1 of what `from` has for `node`. */
typedef struct grove_leg {
  int32_t from, node;
  int32_t sender, receiver; /* ranks of from's node and of `node` */
  int64_t begin, end;
} grove_leg;

typedef struct grove_legs {
  int64_t count;
  grove_leg *leg;
} grove_legs;

grove_status grove_legs_add(grove_legs *legs, const grove_leg *leg);
void grove_legs_free(grove_legs *legs);

typedef int (*grove_legs_order)(const void *a, const void *b);
void grove_legs_sort(grove_legs *legs, grove_legs_order order);

/* By from, node, begin; by sender, receiver, from, begin; by receiver, sender, from, begin. */
int grove_legs_by_block(const void *a, const void *b);
int grove_legs_by_sender(const void *a, const void *b);
int grove_legs_by_receiver(const void *a, const void *b);

#ifdef __cplusplus
}
#endif

#endif
