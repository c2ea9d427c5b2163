/* A rank that runs out of memory while a forest is made from others, at each of its larger
 * allocations in turn: all ranks get GROVE_ERR_MEMORY and one sentence, nobody is left waiting, no
 * output is set, and with enough memory the same call succeeds. (scarce.h) */
#include "algebra.h"
#include "check.h"
#include "scarce.h"

#include <stdlib.h>

/* ---- the constructions ---- */

/* LEAVES numbers from `first` on, `step` apart. */
static const int64_t *numbers(int64_t first, int64_t step)
{
  static int64_t all[LEAVES];
  for (int64_t i = 0; i < LEAVES; i++) all[i] = first + step * i;
  return all;
}

typedef grove_status construction(const place *p, grove_forest *f, grove_forest **out);

static grove_status inverse(const place *p, grove_forest *f, grove_forest **out)
{
  (void)p;
  return grove_forest_inverse(f, out);
}

static grove_status compose(const place *p, grove_forest *f, grove_forest **out)
{
  (void)p;
  return grove_forest_compose(f, f, out);
}

static grove_status compose_inverse(const place *p, grove_forest *f, grove_forest **out)
{
  (void)p;
  return grove_forest_compose_inverse(f, f, out);
}

static grove_status embed_roots(const place *p, grove_forest *f, grove_forest **out)
{
  (void)p;
  return grove_forest_embed_roots(f, roots_of(f), numbers(0, 1), out);
}

static grove_status embed_leaves(const place *p, grove_forest *f, grove_forest **out)
{
  (void)p;
  return grove_forest_embed_leaves(f, end_of(f), numbers(0, 1), out);
}

static grove_status local(const place *p, grove_forest *f, grove_forest **out)
{
  grove_forest *both[2] = {f, f};
  (void)p;
  return grove_forest_concatenate(2, both, GROVE_ROOTS_LOCAL, out);
}

static grove_status global(const place *p, grove_forest *f, grove_forest **out)
{
  grove_forest *both[2] = {f, f};
  (void)p;
  return grove_forest_concatenate(2, both, GROVE_ROOTS_GLOBAL, out);
}

static grove_status merge(const place *p, grove_forest *f, grove_forest **out)
{
  (void)p;
  return grove_forest_merge(f, f, out);
}

static grove_status blocks(const place *p, grove_forest *f, grove_forest **out)
{
  return grove_forest_strided(f, 2, LEAVES + p->rank, 0, out);
}

static grove_status expand(const place *p, grove_forest *f, grove_forest **out)
{
  (void)p;
  return grove_forest_expand(f, numbers(1, 0), NULL, NULL, out);
}

static grove_status match(const place *p, grove_forest *f, grove_forest **out)
{
  const int64_t *names = numbers(p->rank, p->size);
  return grove_forest_match(p->ctx, LEAVES, names, end_of(f), names, out);
}

static grove_status ghosts(const place *p, grove_forest *f, grove_forest **out)
{
  static int64_t local[LEAVES], ghost[LEAVES];
  int64_t nghosts = 0, next = (p->rank + 1) % p->size;
  const int64_t *all = numbers(LEAVES * (next + 1) - 1, -1); /* to be sorted */
  return grove_ghosts(p->ctx, LEAVES, end_of(f), all, local, &nghosts, ghost, out);
}

static grove_status box(const place *p, grove_forest *f, grove_forest **out)
{
  const int64_t size[2] = {p->size, LEAVES};
  const int procs[2] = {0, 1}, periodic[2] = {1, 0};
  (void)f;
  return grove_forest_box(p->ctx, 2, size, procs, periodic, NULL, 0, out);
}

static construction *const constructions[] = {
  inverse, compose, compose_inverse, embed_roots, embed_leaves, local, global,
  merge,   blocks,  expand,          match,       ghosts,       box,
};

/* ---- failures ---- */

/* The rank in trouble has leaves on all ranks, and the others none. */
static grove_forest *plant(const place *p, int bad)
{
  grove_root *root = need(LEAVES * sizeof *root);
  grove_forest *f = NULL;
  for (int64_t i = 0; i < LEAVES; i++) root[i] = (grove_root){(int)(i % p->size), i};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, LEAVES, p->rank == bad ? LEAVES : 0, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  free(root);
  return f;
}

/* Whether any rank met a failure. */
static int on_any_rank(const place *p, int here)
{
  int any = 0;
  MPI_Request request;
  MPI_Iallreduce(&here, &any, 1, MPI_INT, MPI_MAX, p->comm, &request);
  polite_wait(&request);
  return any;
}

/* Returns 0 if there is no allocation of this number. */
static int fail_one(const place *p, construction *make, int bad, int64_t number)
{
  grove_forest *f = plant(p, bad), *out = NULL;
  scarce.met = 0;
  scarce.least = LARGE_BYTES;
  scarce.fail = number;
  scarce.armed = p->rank == bad;
  grove_status status = make(p, f, &out);
  scarce.armed = 0;
  int failed = on_any_rank(p, scarce.met > number);
  if (failed) {
    CHECK(status == GROVE_ERR_MEMORY, "allocation %lld: %s: %s", (long long)number,
          grove_status_name(status), grove_last_error());
    CHECK_SAME_ERROR(p->comm, status);
    CHECK_NUMBER_IN(grove_last_error(), bad);
    CHECK(out == NULL, "an output was set by a call that failed");
    status = make(p, f, &out);
  }
  CHECK_OK(status);
  forests_free(2, (grove_forest *[]){f, out});
  return failed;
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "algebra/short_of_memory");
  place p = place_create(split(0));
  for (int bad = 0; bad < p.size; bad++)
    for (size_t k = 0; k < sizeof constructions / sizeof *constructions; k++) {
      int64_t number = 0;
      test_case((int64_t)k);
      if (constructions[k] == ghosts && p.size == 1) continue; /* there are none */
      while (fail_one(&p, constructions[k], bad, number)) number++;
      CHECK(number > 0, "no allocation failed in construction %zu", k);
    }
  place_free(&p);
  return test_end();
}
