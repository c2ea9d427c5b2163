/* What a plan is for, and what it may do. The same on every rank.
 */
#ifndef GROVE_ROUTE_BUILD_H
#define GROVE_ROUTE_BUILD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_build {
  int share;   /* a value that several leaves of a message, or of a node, need may be sent once; on
                * the way back their contributions are then combined before they are sent */
  int by_root; /* the plan will run backwards: messages in the order of the roots, where incoming
                * values are combined; reading leaves in any order costs less */
  int back;    /* it will run backwards, or both ways: then a hub has a separate slot for each rank
                * that a value goes to, so that none is written twice on the way back */
  int64_t cap; /* route split: the most units of a message between nodes */
} grove_build;

#ifdef __cplusplus
}
#endif

#endif
