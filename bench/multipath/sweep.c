/* Sizes, paths, windows and ways, as Figs. 5 and 6 of the paper: the direct path, a static split,
 * what the model predicts, and what the copier does. */
#include "multipath.h"

#include "grove_cuda.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW = 16 };

static const char *const nodes[] = {"beluga", "narval", "dgx", "pcie-box"};
static const char *const lists[] = {"direct,gpu2", "direct,gpu2,gpu3", "direct,gpu2,gpu3,host"};

static void name_case(const bench_load *l, int npaths, char *out, size_t room)
{
  snprintf(out, room, "%d-paths,w%d,%s", npaths, l->window, l->ways == 1 ? "one-way" : "both-ways");
}

/* Bytes of a load that are checked: large ones would take longer than all else. */
static int64_t most_checked(const bench_settings *s, int window, int are_all)
{
  if (s->check) return 4 * MIB;
  return are_all && window == 1 && !s->quick ? 512 * (int64_t)MIB : 64 * (int64_t)MIB;
}

static void check_load(bench_load *l, const char *name, grove_copier *c, int are_all)
{
  if (l->window * l->bytes > most_checked(l->p->s, l->window, are_all)) return;
  bench_judge(l->p, "copies", name, l->bytes, "dynamic", bench_load_check(l, c));
}

/* The static split of a window is that of a single copy. */
static double static_time(bench_load *l, grove_copier *c, grove_copy_decision *d)
{
  if (l->window == 1) return bench_search(l, c, d);
  l->as = d;
  double seconds = bench_load_time(l, c).value;
  l->as = NULL;
  return seconds;
}

static void sweep_load(bench_load *l, grove_copier *c, grove_copy_decision *d, const char *list,
                       int npaths)
{
  char name[64];
  const bench_place *p = l->p;
  name_case(l, npaths, name, sizeof name);
  bench_row(p, "copies", name, l->bytes, "direct", bench_load_time(l, NULL));
  bench_row(p, "copies", name, l->bytes, "static", bench_exactly(static_time(l, c, d)));
  bench_row(p, "copies", name, l->bytes, "dynamic", bench_load_time(l, c));
  bench_row(p, "copies", name, l->bytes, "predicted", bench_exactly(bench_load_predict(l, c)));
  bench_row(p, "copies", name, l->bytes, "best",
            bench_exactly(bench_load_best(l, p->machine, list)));
  check_load(l, name, c, npaths == 4 && l->ways == 1);
}

/* One list of paths on one node. */
static void sweep_list(const bench_place *p, const char *list, int npaths)
{
  int64_t most = p->s->check ? 4 * MIB : 512 * (int64_t)MIB;
  int step = p->s->quick ? 4 : 2;
  grove_copier *c = bench_copier(p, NULL, list);
  grove_copy_decision d = {0};
  for (int ways = 1; ways <= 2; ways++)
    for (int64_t bytes = 2 * MIB; bytes <= most; bytes *= step)
      for (int window = 1; window <= WINDOW; window *= WINDOW) {
        bench_load l;
        bench_load_open(p, 0, 1, bytes, window, ways, &l);
        sweep_load(&l, c, &d, list, npaths);
        bench_load_close(&l);
      }
  bench_need_grove(grove_copier_free(&c));
}

void bench_sweep(bench_settings *s)
{
  for (int n = 0; n < (s->check ? 1 : 4); n++)
    for (int i = 0; i < 3; i++) {
      bench_place p;
      bench_place_emulate(s, nodes[n], "ideal", 0, &p);
      sweep_list(&p, lists[i], i + 2);
      bench_place_close(&p);
    }
}

/* ---- what the model does not know ---- */

static void hard_load(const bench_place *p, grove_copier *c, uint64_t seed, bench_load *l)
{
  char name[64];
  snprintf(name, sizeof name, "seed-%d,%s", (int)seed, l->ways == 1 ? "one-way" : "both-ways");
  bench_row(p, "copies", name, l->bytes, "direct", bench_load_time(l, NULL));
  bench_row(p, "copies", name, l->bytes, "dynamic", bench_load_time(l, c));
  bench_row(p, "copies", name, l->bytes, "predicted", bench_exactly(bench_load_predict(l, c)));
  check_load(l, name, c, 0);
}

/* All paths, the host's among them. */
void bench_hard(bench_settings *s)
{
  int64_t most = s->check ? 8 * MIB : 512 * (int64_t)MIB;
  for (int n = 0; n < (s->check ? 1 : 4); n++)
    for (uint64_t seed = 1; seed <= (s->check ? 1 : 3); seed++) {
      bench_place p;
      bench_place_emulate(s, nodes[n], "hard", seed, &p);
      grove_copier *c = bench_copier(&p, NULL, NULL);
      for (int ways = 1; ways <= 2; ways++)
        for (int64_t bytes = 8 * MIB; bytes <= most; bytes *= s->quick ? 4 : 2) {
          bench_load l;
          bench_load_open(&p, 0, 1, bytes, 1, ways, &l);
          hard_load(&p, c, seed, &l);
          bench_load_close(&l);
        }
      bench_need_grove(grove_copier_free(&c));
      bench_place_close(&p);
    }
}
