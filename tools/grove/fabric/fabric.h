/* grove fabric: libfabric's providers, what Grove makes of them, and a try of each. */
#ifndef GROVE_TOOLS_FABRIC_H
#define GROVE_TOOLS_FABRIC_H

#include "transport/ofi.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A provider that libfabric has here. */
typedef struct fabric_row {
  char provider[GROVE_FABRIC_NAME_BYTES];
  grove_fabric_about about; /* of use if it is usable: of its best domain */
  int is_usable;
  int ndomains;
  char why[200]; /* it is not */
} fabric_row;

/* All of them; returns an exit status. The caller frees the list. */
int fabric_list(fabric_row **out, int *n);

/* In a plain word: how Grove's channels would write. */
const char *fabric_form(const fabric_row *row);

enum { FABRIC_SIZES = 4 };
extern const int64_t fabric_sizes[FABRIC_SIZES];

/* What became of one provider between two ranks. */
typedef struct fabric_trial {
  int is_good;
  char why[512];                /* it is not */
  double seconds[FABRIC_SIZES]; /* one way; 0: not done */
} fabric_trial;

/* Bytes go to and fro between the first two ranks, and are looked at. Collective; every rank gets
 * the same result. */
void fabric_try(const char *provider, double limit, fabric_trial *out);

#ifdef __cplusplus
}
#endif

#endif
