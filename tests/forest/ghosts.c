/* grove_ghosts against a serial reference, on 1 to all ranks of the job, some of which own nothing
 * or use nothing: ghosts, local numbers and forest; then what users rely on: the update in place,
 * and the laws that tie it to other constructions. */
#include "algebra.h"
#include "check.h"
#include "serial.h"
#include "sources.h"

#include <stdlib.h>

enum { MOST_OWNED = 30, MOST_USED = 80, UNTOUCHED = -77 };

/* What every rank owns and uses, and this rank's part of it. */
typedef struct numbering {
  int nranks, me;
  int64_t *nowned, *first;
  int64_t total;
  list *used;
  int64_t nghosts, *ghost, *local; /* as they are to be */
  sketch *forest;
} numbering;

static int owner_of(const numbering *d, int64_t number)
{
  int i = 0;
  while (number >= d->first[i] + d->nowned[i]) i++;
  return i;
}

/* Near the own ones, as in a mesh; or anywhere. */
static int64_t draw_number(rng *r, const numbering *d, int rank, int is_near)
{
  int64_t at = d->first[rank] - 5 + rng_below(r, d->nowned[rank] + 10);
  return is_near && at >= 0 && at < d->total ? at : rng_below(r, d->total);
}

static void draw_used(rng *r, numbering *d)
{
  int is_near = rng_one_in(r, 2);
  for (int i = 0; i < d->nranks; i++) {
    list_resize(&d->used[i], d->total == 0 || rng_one_in(r, 4) ? 0 : rng_below(r, MOST_USED));
    for (int64_t k = 0; k < d->used[i].n; k++) d->used[i].item[k] = draw_number(r, d, i, is_near);
  }
}

/* The ghosts of a rank: every number is looked for in its list. */
static int64_t *find_ghosts(const numbering *d, int rank, int64_t *n)
{
  int64_t *ghost = need((size_t)(d->total + 1) * sizeof *ghost);
  *n = 0;
  for (int64_t g = 0; g < d->total; g++)
    if (owner_of(d, g) != rank && list_has(&d->used[rank], g)) ghost[(*n)++] = g;
  return ghost;
}

static void join_ghosts(numbering *d)
{
  for (int i = 0; i < d->nranks; i++) {
    int64_t n = 0, *ghost = find_ghosts(d, i, &n);
    d->forest->part[i].nroots = d->nowned[i];
    for (int64_t k = 0; k < n; k++) {
      int owner = owner_of(d, ghost[k]);
      sketch_join(d->forest, i, d->nowned[i] + k, (grove_root){owner, ghost[k] - d->first[owner]});
    }
    free(ghost);
  }
}

static int64_t local_number(const numbering *d, int64_t number)
{
  if (owner_of(d, number) == d->me) return number - d->first[d->me];
  for (int64_t k = 0; k < d->nghosts; k++)
    if (d->ghost[k] == number) return d->nowned[d->me] + k;
  return UNTOUCHED;
}

static numbering numbering_draw(trial *t)
{
  int n = t->p->size;
  numbering d = {.nranks = n, .me = t->p->rank, .used = lists_create(n)};
  d.nowned = need((size_t)n * sizeof *d.nowned);
  d.first = need((size_t)n * sizeof *d.first);
  d.forest = sketch_create(n);
  int most = rng_one_in(&t->r, 8) ? 1 : MOST_OWNED;
  for (int i = 0; i < n; i++) {
    d.nowned[i] = rng_one_in(&t->r, 4) ? 0 : rng_below(&t->r, most);
    d.first[i] = d.total;
    d.total += d.nowned[i];
  }
  draw_used(&t->r, &d);
  join_ghosts(&d);
  d.ghost = find_ghosts(&d, d.me, &d.nghosts);
  const list *own = &d.used[d.me];
  d.local = need((size_t)own->n * sizeof *d.local);
  for (int64_t i = 0; i < own->n; i++) d.local[i] = local_number(&d, own->item[i]);
  return d;
}

static void numbering_free(numbering *d)
{
  free(d->nowned);
  free(d->first);
  free(d->ghost);
  free(d->local);
  lists_free(d->used, d->nranks);
  sketch_free(d->forest);
}

static int64_t *copy_of(const list *l)
{
  int64_t *copy = need((size_t)l->n * sizeof *copy);
  for (int64_t i = 0; i < l->n; i++) copy[i] = l->item[i];
  return copy;
}

static void check_list(const char *what, int64_t n, const int64_t *got, const int64_t *expected)
{
  for (int64_t i = 0; i < n; i++)
    CHECK(got[i] == expected[i], "%s[%lld] is %lld, not %lld", what, (long long)i,
          (long long)got[i], (long long)expected[i]);
}

/* Every output, behind whose end nothing is written. */
static grove_forest *check_outputs(const place *p, const numbering *d)
{
  const list *own = &d->used[d->me];
  int64_t *local = need((size_t)(own->n + 1) * sizeof *local), *given = copy_of(own);
  int64_t *ghost = need((size_t)(own->n + 1) * sizeof *ghost), nghosts = UNTOUCHED;
  grove_forest *f = NULL;
  local[own->n] = ghost[d->nghosts] = UNTOUCHED;
  CHECK_OK(grove_ghosts(p->ctx, d->nowned[d->me], own->n, own->n > 0 ? given : NULL, local,
                        &nghosts, ghost, &f));
  CHECK(nghosts == d->nghosts, "%lld ghosts, not %lld", (long long)nghosts, (long long)d->nghosts);
  check_list("ghost", d->nghosts, ghost, d->ghost);
  check_list("local", own->n, local, d->local);
  check_list("global", own->n, given, own->item);
  CHECK(local[own->n] == UNTOUCHED && ghost[d->nghosts] == UNTOUCHED, "written behind the end");
  sketch_check(f, d->forest, d->me, "ghosts");
  free(local);
  free(given);
  free(ghost);
  return f;
}

/* Local numbers in the place of the global ones; and without any output but the forest. */
static void check_fewer_outputs(const place *p, const numbering *d, grove_forest *f)
{
  const list *own = &d->used[d->me];
  int64_t *both = copy_of(own), nowned = d->nowned[d->me];
  grove_forest *in_place = NULL, *alone = NULL;
  CHECK_OK(grove_ghosts(p->ctx, nowned, own->n, both, both, NULL, NULL, &in_place));
  check_list("local", own->n, both, d->local);
  CHECK_OK(grove_ghosts(p->ctx, nowned, own->n, own->item, NULL, NULL, NULL, &alone));
  sketch_check_same(in_place, f, "in place");
  sketch_check_same(alone, f, "without local numbers");
  forests_free(2, (grove_forest *[]){in_place, alone});
  free(both);
}

/* What it is for: x has at local[i] what its owner has at global[i]. */
static void check_update(const numbering *d, grove_forest *f)
{
  int64_t nowned = d->nowned[d->me], *x = need((size_t)(nowned + d->nghosts) * sizeof *x);
  const list *own = &d->used[d->me];
  for (int64_t i = 0; i < nowned + d->nghosts; i++)
    x[i] = i < nowned ? 1000 + d->first[d->me] + i : UNTOUCHED;
  CHECK_OK(grove_bcast(f, MPI_INT64_T, x, x, MPI_REPLACE));
  for (int64_t i = 0; i < own->n; i++)
    CHECK(x[d->local[i]] == 1000 + own->item[i], "entry %lld, number %lld: %lld", (long long)i,
          (long long)own->item[i], (long long)x[d->local[i]]);
  free(x);
}

/* The same forest by names that are numbers; a rank's own slots look for nothing. */
static void check_against_match(const place *p, const numbering *d, grove_forest *f)
{
  int64_t nowned = d->nowned[d->me], n = nowned + d->nghosts;
  int64_t *name = need((size_t)nowned * sizeof *name), *sought = need((size_t)n * sizeof *sought);
  grove_forest *by_name = NULL;
  for (int64_t i = 0; i < nowned; i++) name[i] = d->first[d->me] + i;
  for (int64_t i = 0; i < n; i++) sought[i] = i < nowned ? -1 : d->ghost[i - nowned];
  CHECK_OK(grove_forest_match(p->ctx, nowned, name, n, sought, &by_name));
  sketch_check_same(f, by_name, "names that are numbers");
  CHECK_OK(grove_forest_free(&by_name));
  free(name);
  free(sought);
}

/* Ghosts of ghosts are the same ones, in the same places. */
static void check_again(const place *p, const numbering *d, grove_forest *f)
{
  int64_t n = 0, *ghost = need((size_t)d->nghosts * sizeof *ghost);
  int64_t *local = need((size_t)d->nghosts * sizeof *local);
  grove_forest *again = NULL;
  CHECK_OK(grove_ghosts(p->ctx, d->nowned[d->me], d->nghosts, d->ghost, local, &n, ghost, &again));
  CHECK(n == d->nghosts, "%lld ghosts of %lld ghosts", (long long)n, (long long)d->nghosts);
  for (int64_t k = 0; k < n; k++)
    CHECK(ghost[k] == d->ghost[k] && local[k] == d->nowned[d->me] + k, "ghost %lld is at %lld",
          (long long)ghost[k], (long long)local[k]);
  sketch_check_same(again, f, "ghosts of the ghosts");
  CHECK_OK(grove_forest_free(&again));
  free(ghost);
  free(local);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/ghosts");
  places all = places_create();
  int64_t cases = test_samples(40);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    trial t = trial_begin(places_turn(&all, i), i);
    numbering d = numbering_draw(&t);
    grove_forest *f = check_outputs(t.p, &d);
    check_fewer_outputs(t.p, &d, f);
    check_update(&d, f);
    check_against_match(t.p, &d, f);
    check_again(t.p, &d, f);
    CHECK_OK(grove_forest_free(&f));
    numbering_free(&d);
  }
  places_free(&all);
  return test_end();
}
