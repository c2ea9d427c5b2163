/* How the rows of a profile become the numbers that formulas use. digest.c has the terms. */
#ifndef GROVE_MODEL_DIGEST_H
#define GROVE_MODEL_DIGEST_H

#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The columns of a row. */
enum {
  GROVE_COLUMN_TERM,
  GROVE_COLUMN_MEMORY,
  GROVE_COLUMN_LOCALITY,
  GROVE_COLUMN_RANGE,
  GROVE_COLUMN_VALUE,
  GROVE_COLUMN_UNIT,
  GROVE_COLUMN_SOURCE,
  GROVE_COLUMNS
};

/* The standings, as profiles and commands spell them: "complete", "assumed", "incomplete". */
extern const char *const grove_standing_names[];

/* What is wrong with a row, and in which column. */
typedef struct grove_fault {
  int row, column;
  char why[400];
} grove_fault;

/* grove_machine_digest for callers who know where the rows came from. With GROVE_ERR_ARG it leaves
 * the fault for the caller to put into a sentence. The machine is changed only on success. */
grove_status grove_digest(grove_machine *m, grove_fault *fault);

/* Does a formula know this term? */
int grove_digest_knows(const char *term);

#ifdef __cplusplus
}
#endif

#endif
