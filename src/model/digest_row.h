/* What the two files of the digest share: rows that have been parsed one by one. */
#ifndef GROVE_MODEL_DIGEST_ROW_H
#define GROVE_MODEL_DIGEST_ROW_H

#include "model/digest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The terms of links, in the order in which their rows are processed. */
enum {
  GROVE_TERM_LINK_ALPHA,
  GROVE_TERM_LINK_BETA,
  GROVE_TERM_LINK_EPSILON,
  GROVE_TERM_PORT_OUT,
  GROVE_TERM_PORT_IN,
  GROVE_TERM_LINK_SHARE,
  GROVE_LINK_TERMS
};

/* A parsed row. The first fields, in this order, are the sorting key. */
typedef struct grove_row_place {
  int term, memory, locality; /* words; for links, the locality is a number of links.h */
  int64_t range;              /* a word, a count of processes, a first size, or a name's number */
  int row;
  int link;      /* one of the terms of links; negative: another term */
  int all_links; /* of a port: includes the links to the host */
  double value;  /* in the term's own unit */
} grove_row_place;

/* Records what is wrong with a row; returns GROVE_ERR_ARG. */
grove_status grove_digest_blame(grove_fault *fault, int row, int column, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 4, 5)))
#endif
  ;

/* Fills m->links from the rows; m->gpus must be known. */
grove_status grove_digest_links(grove_machine *m, const grove_row_place *places, int n,
                                grove_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
