/* An active operation is freed while memory runs out, at each of its allocations in turn. Either
 * the others get what they would have got, though the arrays change, and no sentence tells of it;
 * or the call says that they will not. */
#include "check.h"
#include "exec/op.h"
#include "places.h"
#include "scarce.h"

#include <stdlib.h>
#include <string.h>

/* More than shared memory has room for at once, so that much is left to send. */
enum { ROOTS = 1 << 20 };

typedef enum { BCAST, FETCH } kind;

typedef struct arrays {
  int *root, *leaf, *update;
} arrays;

static void fill(arrays *a, int first)
{
  for (int i = 0; i < ROOTS; i++) {
    a->root[i] = first + i;
    a->leaf[i] = 1;
    a->update[i] = -1;
  }
}

/* Rank 0 owns what rank 1 needs: every second root, so that it must be packed, or a row of them. */
static grove_forest *make_forest(const place *p, int stride)
{
  int n = p->rank == 1 ? ROOTS / stride : 0;
  grove_root *root = need(sizeof *root * (size_t)(n + 1));
  for (int i = 0; i < n; i++) root[i] = (grove_root){0, stride * i};
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, p->rank == 0 ? ROOTS : 0, n, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  free(root);
  return f;
}

static grove_op *make_op(kind k, grove_forest *f, arrays *a)
{
  grove_op *op = NULL;
  if (k == BCAST)
    CHECK_OK(grove_bcast_init(f, MPI_INT, a->root, a->leaf, MPI_REPLACE, &op));
  else
    CHECK_OK(grove_fetch_init(f, MPI_INT, a->root, a->leaf, a->update, MPI_SUM, &op));
  return op;
}

/* Frees on rank 0; returns whether it had such an allocation. */
static int free_with_little(grove_op **op, int64_t number, grove_status *status)
{
  const char *wrong = "grove_wait: no sentence of before";
  grove_error_set(GROVE_OK, wrong);
  scarce.met = 0;
  scarce.fail = number;
  scarce.armed = 1;
  *status = grove_op_free(op);
  scarce.armed = 0;
  if (*status == GROVE_OK)
    CHECK(strcmp(grove_last_error(), wrong) == 0, "allocation %lld left the sentence '%s'",
          (long long)number, grove_last_error());
  else
    CHECK(*status == GROVE_ERR_MEMORY && strstr(grove_last_error(), "no memory"),
          "allocation %lld: %s, '%s'", (long long)number, grove_status_name(*status),
          grove_last_error());
  return scarce.met > number;
}

static void check_values(kind k, const arrays *a, int stride, int first)
{
  const int *got = k == BCAST ? a->leaf : a->update;
  for (int i = 0; i < ROOTS / stride; i++)
    if (got[i] != first + stride * i) {
      CHECK(0, "leaf %d is %d, not %d", i, got[i], first + stride * i);
      return;
    }
}

typedef struct setting {
  place p;
  grove_op *idle;
  kind kind;
  int stride;
  grove_forest *forest;
  arrays arrays;
} setting;

/* Returns whether there was an allocation of this number; counts those that were missed. */
static int trial(setting *s, int64_t number, int *missed)
{
  int first = 7 + (int)number, told[2] = {0, GROVE_OK}, before = s->p.ctx->abandoned;
  fill(&s->arrays, first);
  grove_op *op = make_op(s->kind, s->forest, &s->arrays);
  if (s->p.rank == 0) {
    grove_status status = GROVE_OK;
    CHECK_OK(grove_start(op));
    told[0] = free_with_little(&op, number, &status);
    told[1] = (int)status;
    fill(&s->arrays, -1000);
  }
  MPI_Bcast(told, 2, MPI_INT, 0, s->p.comm);
  *missed += told[1] != GROVE_OK;
  if (s->p.rank == 1 && told[1] == GROVE_OK) {
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    check_values(s->kind, &s->arrays, s->stride, first);
  }
  place_meet(&s->p, s->idle);
  if (told[1] == GROVE_OK)
    CHECK(s->p.ctx->abandoned == before, "what was freed is through, and not gone");
  CHECK_OK(grove_op_free(&op));
  return told[0];
}

static void all_trials(setting *s)
{
  int missed = 0;
  int64_t number = 0;
  s->forest = make_forest(&s->p, s->stride);
  while (trial(s, number, &missed)) number++;
  CHECK(missed > 0, "%s, stride %d: none of %lld allocations was missed",
        s->kind == BCAST ? "bcast" : "fetch", s->stride, (long long)number);
  CHECK_OK(grove_forest_free(&s->forest));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/free_short_of_memory");
  setting s = {.p = place_create(split(0))};
  size_t bytes = sizeof(int) * ROOTS;
  s.arrays = (arrays){need(bytes), need(bytes), need(bytes)};
  s.idle = place_idle(&s.p);
  for (s.stride = 1; s.stride <= 2; s.stride++) {
    s.kind = BCAST;
    all_trials(&s);
    s.kind = FETCH;
    all_trials(&s);
  }
  CHECK_OK(grove_op_free(&s.idle));
  place_free(&s.p);
  free(s.arrays.root);
  free(s.arrays.leaf);
  free(s.arrays.update);
  return test_end();
}
