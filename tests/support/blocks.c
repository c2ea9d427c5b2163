#include "blocks.h"

#include "check.h"

#include <stdlib.h>

static int64_t size_of(const blocks *b)
{
  return b->p->size * b->width;
}

static int64_t value_of(const blocks *b, int from, int to, int64_t i)
{
  return ((b->round * 64 + from) * 64 + to) * INT64_C(1000000) + i;
}

static void make_arrays(blocks *b)
{
  b->out = need((size_t)size_of(b) * sizeof *b->out);
  b->in = need((size_t)size_of(b) * sizeof *b->in);
  blocks_renew(b);
}

blocks blocks_open(const place *p, op_kind k, int64_t width)
{
  blocks b = {.p = p, .kind = k, .width = width};
  grove_root *root = need((size_t)size_of(&b) * sizeof *root);
  for (int64_t i = 0; i < size_of(&b); i++)
    root[i] = (grove_root){(int)(i / width), p->rank * width + i % width};
  CHECK_OK(grove_forest_create(p->ctx, &b.f));
  CHECK_OK(grove_forest_set_name(b.f, "blocks"));
  CHECK_OK(grove_forest_set_graph(b.f, size_of(&b), size_of(&b), NULL, root));
  CHECK_OK(grove_forest_set_up(b.f));
  free(root);
  make_arrays(&b);
  return b;
}

blocks blocks_sibling(const blocks *b)
{
  blocks other = *b;
  other.borrowed = 1;
  other.op = NULL;
  make_arrays(&other);
  return other;
}

void blocks_init(blocks *b)
{
  int up = kind_goes_to_roots(b->kind);
  op_call c = {.kind = b->kind, .f = b->f, .unit = MPI_INT64_T, .op = MPI_REPLACE};
  c.root = up ? b->in : b->out;
  c.leaf = up ? b->out : b->in;
  CHECK_OK(call_init(&c, &b->op));
}

void blocks_renew(blocks *b)
{
  b->round++;
  for (int64_t i = 0; i < size_of(b); i++) b->out[i] = b->in[i] = BLOCKS_NOTHING;
}

static void put_run(blocks *b, int peer, int64_t first, int64_t count)
{
  for (int64_t i = first; i < first + count; i++)
    b->out[peer * b->width + i] = value_of(b, b->p->rank, peer, i);
}

void blocks_put(blocks *b, int peer, int64_t count)
{
  put_run(b, peer, 0, count);
}

void blocks_put_all(blocks *b)
{
  for (int i = 0; i < b->p->size; i++) blocks_put(b, i, b->width);
}

void blocks_mark(blocks *b, int peer, int64_t count)
{
  blocks_mark_run(b, peer, 0, count);
}

void blocks_mark_run(blocks *b, int peer, int64_t first, int64_t count)
{
  put_run(b, peer, first, count);
  CHECK_OK(grove_ready(b->op, peer * b->width + first, count));
}

void blocks_check_from(const blocks *b, int peer)
{
  for (int64_t i = 0; i < b->width; i++) {
    int64_t got = b->in[peer * b->width + i], expected = value_of(b, peer, b->p->rank, i);
    CHECK(got == expected, "%s: value %lld from rank %d is %lld, not %lld", kind_name(b->kind),
          (long long)i, peer, (long long)got, (long long)expected);
  }
}

void blocks_check(const blocks *b)
{
  for (int i = 0; i < b->p->size; i++) blocks_check_from(b, i);
}

void blocks_run(blocks *b, int rounds)
{
  blocks_init(b);
  for (int round = 0; round < rounds; round++) {
    blocks_renew(b);
    CHECK_OK(grove_start_parts(b->op));
    for (int i = b->p->size - 1; i >= 0; i--) blocks_mark(b, i, b->width);
    CHECK_OK(grove_wait(b->op));
    blocks_check(b);
  }
  CHECK_OK(grove_op_free(&b->op));
}

void blocks_close(blocks *b)
{
  CHECK_OK(grove_op_free(&b->op));
  if (!b->borrowed) CHECK_OK(grove_forest_free(&b->f));
  free(b->out);
  free(b->in);
  *b = (blocks){0};
}
