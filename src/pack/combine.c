#include "pack/combine.h"

static int operation_number(MPI_Op op)
{
  const MPI_Op ops[GROVE_OPS] = {[GROVE_OP_SUM] = MPI_SUM,         [GROVE_OP_PROD] = MPI_PROD,
                                 [GROVE_OP_MAX] = MPI_MAX,         [GROVE_OP_MIN] = MPI_MIN,
                                 [GROVE_OP_LAND] = MPI_LAND,       [GROVE_OP_LOR] = MPI_LOR,
                                 [GROVE_OP_LXOR] = MPI_LXOR,       [GROVE_OP_BAND] = MPI_BAND,
                                 [GROVE_OP_BOR] = MPI_BOR,         [GROVE_OP_BXOR] = MPI_BXOR,
                                 [GROVE_OP_MAXLOC] = MPI_MAXLOC,   [GROVE_OP_MINLOC] = MPI_MINLOC,
                                 [GROVE_OP_REPLACE] = MPI_REPLACE, [GROVE_OP_NO_OP] = MPI_NO_OP};
  for (int i = 0; i < GROVE_OPS; i++)
    if (ops[i] == op) return i;
  return -1;
}

static grove_status choose_kernels(const grove_unit *unit, grove_combine *c)
{
  c->way = GROVE_COMBINE_KERNEL;
  if (unit->bytes == 0) { /* nothing to combine, whatever the type is made of */
    c->way = GROVE_COMBINE_NOTHING;
    return GROVE_OK;
  }
  GROVE_PASS_CHECK(
    unit->elements > 0, GROVE_ERR_UNSUPPORTED,
    "a predefined operation on a unit of several basic types; use a user's operation");
  c->kernels = grove_kernels_integer(unit->kind, unit->element_bytes, c->number);
  c->exact = c->kernels != NULL;
  if (!c->kernels) c->kernels = grove_kernels_float(unit->kind, unit->element_bytes, c->number);
  GROVE_PASS_CHECK(c->kernels, GROVE_ERR_UNSUPPORTED,
                   "the operation has no meaning on this basic type of %lld bytes",
                   (long long)unit->element_bytes);
  return GROVE_OK;
}

/* A pair type of an unknown layout is left to MPI. */
static grove_status choose_pair_kernels(const grove_unit *unit, grove_combine *c)
{
  GROVE_PASS_CHECK(unit->kind == GROVE_KIND_PAIR && !unit->owned, GROVE_ERR_UNSUPPORTED,
                   "MPI_MAXLOC and MPI_MINLOC work on MPI's pair types only, like MPI_DOUBLE_INT");
  c->kernels =
    grove_kernels_pair(unit->type, unit->bytes, unit->extent, c->number, &c->memory_index);
  c->message_index = c->memory_index;
  c->way = c->kernels ? GROVE_COMBINE_KERNEL : GROVE_COMBINE_MPI;
  /* In a message the index follows its value. */
  if (unit->npieces == 2) c->message_index = grove_unit_pieces(unit)[1].message_at;
  return GROVE_OK;
}

grove_status grove_combine_create(MPI_Op op, const grove_unit *unit, grove_combine *out)
{
  grove_combine c = {.op = op, .way = GROVE_COMBINE_MPI, .commutative = 1};
  GROVE_PASS_CHECK(op != MPI_OP_NULL, GROVE_ERR_ARG, "the operation is MPI_OP_NULL");
  c.number = operation_number(op);
  if (op == MPI_REPLACE) {
    c.way = GROVE_COMBINE_REPLACE;
    c.commutative = 0;
  } else if (op == MPI_NO_OP) {
    c.way = GROVE_COMBINE_NOTHING;
  } else if (op == MPI_MAXLOC || op == MPI_MINLOC) {
    GROVE_PASS(choose_pair_kernels(unit, &c));
  } else if (c.number >= 0) {
    GROVE_PASS(choose_kernels(unit, &c));
  } else {
    GROVE_PASS_MPI(MPI_Op_commutative(op, &c.commutative));
  }
  *out = c;
  return GROVE_OK;
}
