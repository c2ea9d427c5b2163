/* Two machines, number by number, for grove machine compare. */
#ifndef GROVE_TOOLS_MACHINE_PAIRS_H
#define GROVE_TOOLS_MACHINE_PAIRS_H

#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A number of each machine, NaN where it has none. LIMIT: a size at which a protocol begins. */
typedef enum kind { SHAPE, LIMIT, PARAMETER, MESSAGE } kind;

typedef struct pair {
  kind kind;
  char name[64];
  const char *unit; /* "1", "B", "s" or "s/B" */
  double a, b;
} pair;

typedef struct pairs {
  int n, failed; /* failed: out of memory */
  pair *at;
} pairs;

/* Everything that at least one of them has, and the times of messages of some sizes on both. The
 * caller frees `at`. */
pairs pair_up(const grove_machine *a, const grove_machine *b);

#ifdef __cplusplus
}
#endif

#endif
