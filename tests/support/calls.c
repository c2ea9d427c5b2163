#include "calls.h"

#include "check.h"

#include <string.h>

const char *kind_name(op_kind k)
{
  static const char *const name[OP_KINDS] = {"bcast", "reduce", "fetch", "gather", "scatter"};
  return name[k];
}

grove_status call_init(const op_call *c, grove_op **out)
{
  switch (c->kind) {
  case KIND_BCAST: return grove_bcast_init(c->f, c->unit, c->root, c->leaf, c->op, out);
  case KIND_REDUCE: return grove_reduce_init(c->f, c->unit, c->leaf, c->root, c->op, out);
  case KIND_FETCH: return grove_fetch_init(c->f, c->unit, c->root, c->leaf, c->update, c->op, out);
  case KIND_GATHER: return grove_gather_init(c->f, c->unit, c->leaf, c->root, out);
  default: return grove_scatter_init(c->f, c->unit, c->root, c->leaf, out);
  }
}

grove_status call_begin(const op_call *c, grove_op **out)
{
  switch (c->kind) {
  case KIND_BCAST: return grove_bcast_begin(c->f, c->unit, c->root, c->leaf, c->op, out);
  case KIND_REDUCE: return grove_reduce_begin(c->f, c->unit, c->leaf, c->root, c->op, out);
  case KIND_FETCH: return grove_fetch_begin(c->f, c->unit, c->root, c->leaf, c->update, c->op, out);
  case KIND_GATHER: return grove_gather_begin(c->f, c->unit, c->leaf, c->root, out);
  default: return grove_scatter_begin(c->f, c->unit, c->root, c->leaf, out);
  }
}

grove_status call_block(const op_call *c)
{
  switch (c->kind) {
  case KIND_BCAST: return grove_bcast(c->f, c->unit, c->root, c->leaf, c->op);
  case KIND_REDUCE: return grove_reduce(c->f, c->unit, c->leaf, c->root, c->op);
  case KIND_FETCH: return grove_fetch(c->f, c->unit, c->root, c->leaf, c->update, c->op);
  case KIND_GATHER: return grove_gather(c->f, c->unit, c->leaf, c->root);
  default: return grove_scatter(c->f, c->unit, c->root, c->leaf);
  }
}

grove_status call_prepare(const op_call *c)
{
  switch (c->kind) {
  case KIND_BCAST: return grove_bcast_prepare(c->f, c->unit, c->op);
  case KIND_REDUCE: return grove_reduce_prepare(c->f, c->unit, c->op);
  case KIND_FETCH: return grove_fetch_prepare(c->f, c->unit, c->op);
  case KIND_GATHER: return grove_gather_prepare(c->f, c->unit);
  default: return grove_scatter_prepare(c->f, c->unit);
  }
}

grove_status call_in_form(const op_call *c, op_form how, grove_op **out)
{
  if (how == FORM_BLOCKING) return call_block(c);
  return how == FORM_INIT ? call_init(c, out) : call_begin(c, out);
}

int op_relays(grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  return strcmp(report.route, "standard") != 0;
}
