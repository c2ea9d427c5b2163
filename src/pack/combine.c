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

const char *grove_combine_name(MPI_Op op)
{
  static const char *const names[GROVE_OPS] = {
    [GROVE_OP_SUM] = "MPI_SUM",         [GROVE_OP_PROD] = "MPI_PROD",
    [GROVE_OP_MAX] = "MPI_MAX",         [GROVE_OP_MIN] = "MPI_MIN",
    [GROVE_OP_LAND] = "MPI_LAND",       [GROVE_OP_LOR] = "MPI_LOR",
    [GROVE_OP_LXOR] = "MPI_LXOR",       [GROVE_OP_BAND] = "MPI_BAND",
    [GROVE_OP_BOR] = "MPI_BOR",         [GROVE_OP_BXOR] = "MPI_BXOR",
    [GROVE_OP_MAXLOC] = "MPI_MAXLOC",   [GROVE_OP_MINLOC] = "MPI_MINLOC",
    [GROVE_OP_REPLACE] = "MPI_REPLACE", [GROVE_OP_NO_OP] = "MPI_NO_OP"};
  int number = operation_number(op);
  return number >= 0 ? names[number] : "a user's operation";
}

/* Which predefined operations there are for elements of a kind. */
static const char *allowed_ops(grove_kind kind)
{
  switch (kind) {
  case GROVE_KIND_SIGNED:
  case GROVE_KIND_UNSIGNED: return "it takes any but MPI_MAXLOC and MPI_MINLOC";
  case GROVE_KIND_FLOAT: return "it takes MPI_SUM, MPI_PROD, MPI_MAX and MPI_MIN";
  case GROVE_KIND_COMPLEX: return "it takes MPI_SUM and MPI_PROD";
  case GROVE_KIND_LOGICAL: return "it takes MPI_LAND, MPI_LOR and MPI_LXOR";
  case GROVE_KIND_BYTE: return "it takes MPI_BAND, MPI_BOR and MPI_BXOR";
  case GROVE_KIND_PAIR: return "it takes MPI_MAXLOC and MPI_MINLOC";
  default: return "it takes no arithmetic";
  }
}

static grove_status refuse_operation(const grove_combine *c, const grove_unit *unit,
                                     const char *reason)
{
  char type[GROVE_UNIT_NAME_BYTES];
  grove_unit_name(unit->type, type);
  return grove_error(GROVE_ERR_UNSUPPORTED, __FILE__, __LINE__,
                     "%s has no meaning on %s: %s; MPI_Op_create makes an operation of your own",
                     grove_combine_name(c->op), type, reason);
}

static grove_status choose_kernels(const grove_unit *unit, grove_combine *c)
{
  c->way = GROVE_COMBINE_KERNEL;
  if (unit->bytes == 0) { /* nothing to combine, whatever the type is made of */
    c->way = GROVE_COMBINE_NOTHING;
    return GROVE_OK;
  }
  if (unit->elements == 0) return refuse_operation(c, unit, "this type mixes several basic types");
  c->kernels = grove_kernels_integer(unit->kind, unit->element_bytes, c->number);
  c->exact = c->kernels != NULL;
  if (!c->kernels) c->kernels = grove_kernels_float(unit->kind, unit->element_bytes, c->number);
  return c->kernels ? GROVE_OK : refuse_operation(c, unit, allowed_ops(unit->kind));
}

/* A pair type of an unknown layout is left to MPI. */
static grove_status choose_pair_kernels(const grove_unit *unit, grove_combine *c)
{
  if (unit->kind != GROVE_KIND_PAIR || unit->owned)
    return refuse_operation(c, unit, "it works on MPI's pair types only, like MPI_DOUBLE_INT");
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
