/* What a plan may do, and what it is for. The same on every rank.
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
  int by_root; /* it will run the other way: messages in the order of the roots, where what comes is
                * combined with what is there; reading the leaves in any order costs less */
  int back;    /* it will run the other way, or both ways: then a hub has a slot of its own for
                * each rank that a value goes to, so that none is written twice on the way back */
  int64_t cap; /* route split: units of a message between nodes */
} grove_build;

#ifdef __cplusplus
}
#endif

#endif
