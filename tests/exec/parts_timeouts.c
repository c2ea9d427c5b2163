/* With the option `timeout`: a rank that has not marked all is told which roots or slots are not
 * ready; those who wait for it, that they do. The round goes on: what is marked then arrives, and
 * waiting again ends it. */
#include "blocks.h"
#include "check.h"

#include <string.h>

enum { WIDTH = 20 };

/* Of the block for rank 1, by rank 0: two runs, and one alone. */
static const struct {
  int64_t first, count;
  int ready;
} runs[] = {{0, 3, 1}, {3, 4, 0}, {7, 2, 1}, {9, 1, 0}, {10, 5, 1}, {15, 5, 0}};
enum { RUNS = sizeof runs / sizeof *runs };

static void mark_runs(blocks *b, int ready)
{
  for (int i = 0; i < RUNS; i++)
    if (runs[i].ready == ready)
      CHECK_OK(grove_ready(b->op, 1 * b->width + runs[i].first, runs[i].count));
}

/* "... not ready: roots 23 to 26, 29, ..." */
static void names_what_is_missing(const blocks *b)
{
  char text[2048];
  const char *noun = b->kind == KIND_BCAST     ? "root"
                     : b->kind == KIND_SCATTER ? "multi-root"
                                               : "slot";
  snprintf(text, sizeof text, "%s", grove_last_error());
  const char *from = strstr(text, "not ready");
  CHECK(strstr(text, kind_name(b->kind)) != NULL, "no '%s' in '%s'", kind_name(b->kind), text);
  CHECK(strstr(text, "blocks") != NULL, "no name of a forest in '%s'", text);
  CHECK(from != NULL, "no 'not ready' in '%s'", text);
  CHECK(strstr(from, noun) != NULL, "no '%s' in '%s'", noun, text);
  CHECK_NUMBER_IN(from, WIDTH + 3);
  CHECK_NUMBER_IN(from, WIDTH + 6);
  CHECK_NUMBER_IN(from, WIDTH + 9);
  CHECK(!number_in(from, WIDTH + 2) && !number_in(from, WIDTH + 7) && !number_in(from, WIDTH + 10),
        "what is ready, in '%s'", text);
}

static void names_rank(const blocks *b)
{
  const char *text = grove_last_error();
  CHECK(strstr(text, kind_name(b->kind)) != NULL, "no '%s' in '%s'", kind_name(b->kind), text);
  CHECK(op_relays(b->op) || strstr(text, "from rank 0") != NULL, "no rank 0 in '%s'", text);
  CHECK(strstr(text, "not ready") == NULL, "all was ready here: '%s'", text);
}

static void again(blocks *b)
{
  grove_status status;
  do status = grove_wait(b->op); /* a slow machine may need more than one timeout */
  while (status == GROVE_ERR_TIMEOUT);
  CHECK_OK(status);
  blocks_check(b);
}

static void try_kind(blocks *b, grove_op *idle)
{
  const place *p = b->p;
  blocks_renew(b);
  blocks_put_all(b);
  if (p->rank > 1 && p->rank % 2) {
    CHECK_OK(grove_start(b->op));
  } else {
    CHECK_OK(grove_start_parts(b->op));
    for (int i = 0; i < p->size; i++)
      if (p->rank != 0 || i != 1) CHECK_OK(grove_ready(b->op, i * b->width, b->width));
  }
  if (p->rank == 0) mark_runs(b, 1);
  if (p->rank < 2) CHECK_STATUS(grove_wait(b->op), GROVE_ERR_TIMEOUT);
  if (p->rank == 0) names_what_is_missing(b);
  if (p->rank == 1) names_rank(b);
  place_meet(p, idle);
  if (p->rank == 0) mark_runs(b, 0);
  again(b);
  place_meet(p, idle);
}

int main(int argc, char **argv)
{
  static const op_kind kinds[] = {KIND_BCAST, KIND_REDUCE, KIND_SCATTER, KIND_GATHER};
  blocks b[4];
  test_begin(&argc, &argv, "exec/parts_timeouts");
  if (world_size() < 2) return test_skip("one rank waits for nobody");
  place p = place_create(split(0));
  grove_op *idle = place_idle(&p);
  for (int i = 0; i < 4; i++) {
    b[i] = blocks_open(&p, kinds[i], WIDTH);
    blocks_init(&b[i]);
  }
  polite_barrier(p.comm);
  place_set(&p, "timeout", test_timeout());
  for (int i = 0; i < 4; i++) {
    test_case(i);
    try_kind(&b[i], idle);
  }
  polite_barrier(p.comm);
  place_set(&p, "timeout", "0");
  for (int i = 0; i < 4; i++) blocks_close(&b[i]);
  CHECK_OK(grove_op_free(&idle));
  place_free(&p);
  return test_end();
}
