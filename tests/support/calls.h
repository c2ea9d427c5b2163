/* Grove's operations, each in its three forms, behind one call, for tests that try all of them.
 *
 *     op_call c = {.kind = KIND_FETCH, .f = f, .unit = MPI_INT, .op = MPI_SUM, .root = ...};
 *     CHECK_OK(call_init(&c, &op));
 */
#ifndef TEST_CALLS_H
#define TEST_CALLS_H

#include "grove.h"

typedef enum op_kind {
  KIND_BCAST,
  KIND_REDUCE,
  KIND_FETCH,
  KIND_GATHER,
  KIND_SCATTER,
  OP_KINDS
} op_kind;

const char *kind_name(op_kind k);

/* Whether its roots are multiroots: one slot per leaf, and nothing to combine. */
static inline int kind_is_multi(op_kind k)
{
  return k == KIND_GATHER || k == KIND_SCATTER;
}

/* Whether values go from leaves to roots; those of a fetch also come back. */
static inline int kind_goes_to_roots(op_kind k)
{
  return k == KIND_REDUCE || k == KIND_FETCH || k == KIND_GATHER;
}

/* Arguments of any of them. */
typedef struct op_call {
  op_kind kind;
  grove_forest *f;
  MPI_Datatype unit;
  MPI_Op op;  /* for bcast, reduce and fetch */
  void *root; /* for gather and scatter: the multiroots */
  void *leaf;
  void *update; /* for fetch */
} op_call;

/* grove_..._init, grove_..._begin, and the blocking form. */
grove_status call_init(const op_call *c, grove_op **out);
grove_status call_begin(const op_call *c, grove_op **out);
grove_status call_block(const op_call *c);
/* grove_..._prepare of what the other two need, without its arrays. */
grove_status call_prepare(const op_call *c);

/* The three forms by number; a blocking call makes no operation. */
typedef enum op_form { FORM_INIT, FORM_BEGIN, FORM_BLOCKING, OP_FORMS } op_form;
grove_status call_in_form(const op_call *c, op_form how, grove_op **out);

/* Whether others' values may pass through a rank: on any route but standard. The rank then depends
 * on its whole node, and what it has freed depends on its calling Grove. The same on all ranks. */
int op_relays(grove_op *op);

#endif
