/* What the two files of the digest share: rows, understood one by one. */
#ifndef GROVE_MODEL_DIGEST_ROW_H
#define GROVE_MODEL_DIGEST_ROW_H

#include "model/digest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The terms of links, in the order in which their rows are put in place. */
enum {
  GROVE_TERM_LINK_ALPHA,
  GROVE_TERM_LINK_BETA,
  GROVE_TERM_LINK_EPSILON,
  GROVE_TERM_PORT_OUT,
  GROVE_TERM_PORT_IN,
  GROVE_TERM_LINK_SHARE,
  GROVE_LINK_TERMS
};

/* A row, understood. The order of the first fields is the order of sorting. */
typedef struct grove_row_place {
  int term, memory, locality; /* words; of links, the locality is a number of links.h */
  int64_t range;              /* a word, a number of processes, a first size, or a name's number */
  int row;
  int link;      /* one of the terms of links; negative: another term */
  int all_links; /* of a port: those to the host as well */
  double value;  /* in the term's own unit */
} grove_row_place;

/* Says what is wrong with a row; the status is GROVE_ERR_ARG. */
grove_status grove_digest_blame(grove_fault *fault, int row, int column, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 4, 5)))
#endif
  ;

/* Fills m->links from the rows; m->gpus is known. */
grove_status grove_digest_links(grove_machine *m, const grove_row_place *places, int n,
                                grove_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
