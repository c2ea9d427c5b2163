/* Collectives of four devices in one process, as lists of copies: the copies of a step go at the
 * same time, and those of the next begin where their data has come. Each device has a stream of its
 * own for what is in order there, and one for each copy of a step that leaves it.
 *
 *     allreduce   ring        reduce-scatter and allgather, from each to the next: 6 steps
 *                 knomial-2   halves, quarters, and back: 4 steps
 *                 knomial-4   from each to all others, and back: 2 steps
 *     alltoall    pairwise    with i xor 1, i xor 2, i xor 3: 3 steps
 *                 bruck       two blocks to i + 1, two to i + 2: 2 steps, blocks that go twice
 *
 * `together`: the copies of a step are decided as what they are, copies at the same time. `alone`:
 * each as if it were alone, as grove_copier_copy does. `bound`: what the rates of the links allow,
 * step by step, without any latency.
 */
#include "multipath.h"

#include "gpu/kernel.h"
#include "grove_cuda.h"
#include "kit/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGING = 256 * MIB };
enum { N = 4, MOST_STEPS = 6, MOST_COPIES = 12, SIDE = 3 };
enum { IN, OUT, SPARE, MEMORIES }; /* of a device; in an allreduce, OUT is not used */

typedef struct step_copy {
  int from, to, from_memory, to_memory;
  int64_t from_block, to_block, blocks;
} step_copy;

/* At a device, behind its arrivals: blocks of SPARE are added to IN. */
typedef struct step_sum {
  int device;
  int64_t spare_block, block, blocks;
} step_sum;

typedef struct step {
  int ncopies, nsums;
  step_copy copies[MOST_COPIES];
  step_sum sums[MOST_COPIES];
} step;

typedef struct algorithm {
  const char *name;
  int is_reduce;
  int nsteps;
  step steps[MOST_STEPS];
} algorithm;

/* ---- the algorithms ---- */

static void add_copy(step *s, int from, int from_memory, int64_t from_block, int to, int to_memory,
                     int64_t to_block, int64_t blocks)
{
  s->copies[s->ncopies++] =
    (step_copy){from, to, from_memory, to_memory, from_block, to_block, blocks};
}

/* Blocks that are to be added at their end. */
static void add_part(step *s, int from, int to, int64_t block, int64_t blocks, int64_t spare)
{
  add_copy(s, from, IN, block, to, SPARE, spare, blocks);
  s->sums[s->nsums++] = (step_sum){to, spare, block, blocks};
}

static algorithm make_ring(void)
{
  algorithm a = {.name = "allreduce-ring", .is_reduce = 1, .nsteps = 2 * (N - 1)};
  for (int k = 0; k < N - 1; k++)
    for (int i = 0; i < N; i++) {
      int next = (i + 1) % N;
      add_part(&a.steps[k], i, next, (i - k + N) % N, 1, k);
      int64_t block = (i + 1 - k + N) % N;
      add_copy(&a.steps[N - 1 + k], i, IN, block, next, IN, block, 1);
    }
  return a;
}

static algorithm make_knomial_2(void)
{
  algorithm a = {.name = "allreduce-knomial-2", .is_reduce = 1, .nsteps = 4};
  for (int i = 0; i < N; i++) {
    int half = i & 2, mine = i;                      /* what is left to i */
    add_part(&a.steps[0], i, i ^ 2, half ^ 2, 2, 0); /* the other half */
    add_part(&a.steps[1], i, i ^ 1, mine ^ 1, 1, 2); /* the other quarter */
    add_copy(&a.steps[2], i, IN, mine, i ^ 1, IN, mine, 1);
    add_copy(&a.steps[3], i, IN, half, i ^ 2, IN, half, 2);
  }
  return a;
}

static algorithm make_knomial_4(void)
{
  algorithm a = {.name = "allreduce-knomial-4", .is_reduce = 1, .nsteps = 2};
  for (int i = 0; i < N; i++)
    for (int k = 1; k < N; k++) {
      int to = (i + k) % N;
      add_part(&a.steps[0], i, to, to, 1, k);
      add_copy(&a.steps[1], i, IN, i, to, IN, i, 1);
    }
  return a;
}

static algorithm make_pairwise(void)
{
  algorithm a = {.name = "alltoall-pairwise", .nsteps = N - 1};
  for (int k = 1; k < N; k++)
    for (int i = 0; i < N; i++) add_copy(&a.steps[k - 1], i, IN, i ^ k, i ^ k, OUT, i, 1);
  return a;
}

/* What i has for i + 3 stops at i + 1. */
static algorithm make_bruck(void)
{
  algorithm a = {.name = "alltoall-bruck", .nsteps = 2};
  for (int i = 0; i < N; i++) {
    int one = (i + 1) % N, two = (i + 2) % N, three = (i + 3) % N;
    add_copy(&a.steps[0], i, IN, one, one, OUT, i, 1);
    add_copy(&a.steps[0], i, IN, three, one, SPARE, 0, 1);
    add_copy(&a.steps[1], i, IN, two, two, OUT, i, 1);
    add_copy(&a.steps[1], i, SPARE, 0, two, OUT, three, 1);
  }
  return a;
}

/* ---- what the links allow ---- */

/* Of the bytes of a step: no device sends or receives more than its links carry; and a byte that
 * does not go directly crosses two links. */
static double step_bound(const grove_links *l, const step *s, double block)
{
  double out[N] = {0}, in[N] = {0}, wanted[N][N] = {{0}}, sum = 0, links = 0, direct = 0, least = 0;
  for (int k = 0; k < s->ncopies; k++) {
    const step_copy *c = &s->copies[k];
    double bytes = (double)c->blocks * block;
    out[c->from] += bytes;
    in[c->to] += bytes;
    if (wanted[c->from][c->to] == 0) direct += l->link[c->from][c->to].rate;
    wanted[c->from][c->to] += bytes;
    sum += bytes;
  }
  for (int i = 0; i < N; i++) {
    double rate_out = 0, rate_in = 0;
    for (int k = 0; k < N; k++) {
      if (i == k) continue;
      rate_out += l->link[i][k].rate;
      rate_in += l->link[k][i].rate;
      links += l->link[i][k].rate;
    }
    for (int kind = 0; kind < GROVE_PORT_KINDS; kind++) { /* NaN: no limit */
      rate_out = fmin(rate_out, l->port[GROVE_PORT_OUT][kind][i]);
      rate_in = fmin(rate_in, l->port[GROVE_PORT_IN][kind][i]);
    }
    least = fmax(least, fmax(out[i] / rate_out, in[i] / rate_in));
  }
  return fmax(least, 2 * sum / (links + direct));
}

static double whole_bound(const grove_links *l, const algorithm *a, double block)
{
  double seconds = 0;
  for (int k = 0; k < a->nsteps; k++) seconds += step_bound(l, &a->steps[k], block);
  return seconds;
}

/* ---- running ---- */

typedef struct team {
  const bench_place *p;
  const algorithm *a;
  grove_copier *c;
  int64_t block; /* bytes */
  int is_together;
  char *memory[N][MEMORIES];
  grove_stream *own[N], *side[N][SIDE];
  grove_event *ready[N], *sent[N][SIDE];
  grove_copy_decision decisions[MOST_STEPS][MOST_COPIES];
  bench_kernel sums[N]; /* of one block */
} team;

static void open_team(team *t)
{
  const grove_driver *d = t->p->driver;
  bench_place_moves(t->p, 1); /* a kernel's recipe is copied too */
  for (int i = 0; i < N; i++) {
    const bench_gpu g = {.driver = d, .device = i};
    for (int k = 0; k < MEMORIES; k++) {
      void *memory = NULL;
      bench_need_grove(d->allocate(i, N * t->block, &memory));
      t->memory[i][k] = memory;
    }
    bench_need_grove(d->create_stream(i, &t->own[i]));
    bench_need_grove(d->create_event(i, &t->ready[i]));
    for (int k = 0; k < SIDE; k++) {
      bench_need_grove(d->create_stream(i, &t->side[i][k]));
      bench_need_grove(d->create_event(i, &t->sent[i][k]));
    }
    bench_need(bench_kernel_open(&g, MPI_INT64_T, MPI_SUM, NULL, t->block / 8, GROVE_MOTION_UNPACK,
                                 &t->sums[i]),
               "there is no kernel that adds");
  }
  bench_place_moves(t->p, 0);
}

static void close_team(team *t)
{
  const grove_driver *d = t->p->driver;
  for (int i = 0; i < N; i++) {
    const bench_gpu g = {.driver = d, .device = i};
    bench_kernel_close(&g, &t->sums[i]);
    for (int k = 0; k < MEMORIES; k++) d->free(i, t->memory[i][k]);
    d->free_stream(i, t->own[i]);
    d->free_event(t->ready[i]);
    for (int k = 0; k < SIDE; k++) {
      d->free_stream(i, t->side[i][k]);
      d->free_event(t->sent[i][k]);
    }
  }
}

static void begin_step_copy(const team *t, const step_copy *c, const grove_copy_decision *d,
                            grove_stream *stream)
{
  grove_copy_pair *pair = NULL;
  const grove_copy_order order = {t->memory[c->to][c->to_memory] + c->to_block * t->block,
                                  t->memory[c->from][c->from_memory] + c->from_block * t->block,
                                  c->blocks * t->block, c->from, stream};
  if (!t->c) {
    bench_need_grove(t->p->driver->copy(c->from, stream, order.to, order.from, order.bytes));
    return;
  }
  bench_need_grove(grove_copy_pair_find(t->c, c->from, c->to, &pair));
  bench_need_grove(t->is_together ? grove_copy_move_as(t->c, pair, d, &order)
                                  : grove_copy_move(t->c, pair, &order));
}

static void add_arrivals(const team *t, const step_sum *sum)
{
  const bench_gpu g = {.driver = t->p->driver, .device = sum->device};
  char *const *memory = t->memory[sum->device];
  for (int64_t i = 0; i < sum->blocks; i++)
    bench_kernel_enqueue(&g, &t->sums[sum->device], t->own[sum->device],
                         memory[IN] + (sum->block + i) * t->block,
                         memory[SPARE] + (sum->spare_block + i) * t->block);
}

/* What leaves a device comes behind all that its own stream has; both ends go on behind it. */
static void run_step(const team *t, int number, int with_sums)
{
  const grove_driver *d = t->p->driver;
  const step *s = &t->a->steps[number];
  int used[N] = {0}, side[MOST_COPIES];
  for (int i = 0; i < N; i++) bench_need_grove(d->record(i, t->ready[i], t->own[i]));
  for (int k = 0; k < s->ncopies; k++) {
    const step_copy *c = &s->copies[k];
    int way = side[k] = used[c->from]++;
    grove_stream *stream = t->side[c->from][way];
    bench_need_grove(d->after(c->from, stream, t->ready[c->from]));
    bench_need_grove(d->after(c->from, stream, t->ready[c->to]));
    begin_step_copy(t, c, &t->decisions[number][k], stream);
    bench_need_grove(d->record(c->from, t->sent[c->from][way], stream));
  }
  for (int k = 0; k < s->ncopies; k++) {
    const step_copy *c = &s->copies[k];
    bench_need_grove(d->after(c->to, t->own[c->to], t->sent[c->from][side[k]]));
    bench_need_grove(d->after(c->from, t->own[c->from], t->sent[c->from][side[k]]));
  }
  for (int k = 0; k < s->nsums && with_sums; k++) add_arrivals(t, &s->sums[k]);
}

static double run_all(const team *t, int with_sums)
{
  const grove_driver *d = t->p->driver;
  double begin = bench_place_clock(t->p);
  for (int k = 0; k < t->a->nsteps; k++) run_step(t, k, with_sums);
  for (int i = 0; i < N && !t->a->is_reduce && with_sums; i++)
    bench_need_grove(d->copy(i, t->own[i], t->memory[i][OUT] + i * t->block,
                             t->memory[i][IN] + i * t->block, t->block));
  for (int i = 0; i < N; i++) bench_need_grove(d->finish(i, t->own[i]));
  return bench_place_clock(t->p) - begin;
}

/* ---- decisions for the copies of a step ---- */

static grove_copy_decision decision_of(const grove_split *split)
{
  grove_copy_decision d = {.gain = 1};
  for (int i = 0; i < split->npaths; i++) {
    const grove_path_load *load = &split->load[i];
    if (!(load->share > 0)) continue;
    d.path[load->place] = i;
    d.share[load->place] = load->share;
    d.chunks[load->place] = load->chunks;
    d.npaths++;
  }
  return d;
}

/* The machine is the one that the copier has measured. */
static void decide_together(team *t)
{
  grove_copies *set = bench_alloc(1, sizeof *set);
  grove_split *splits = bench_alloc(MOST_COPIES, sizeof *splits);
  for (int k = 0; k < t->a->nsteps; k++) {
    const step *s = &t->a->steps[k];
    memset(set, 0, sizeof *set);
    for (int i = 0; i < s->ncopies; i++) {
      grove_copy_pair *pair = NULL;
      const step_copy *c = &s->copies[i];
      bench_need_grove(grove_copy_pair_find(t->c, c->from, c->to, &pair));
      bench_need_grove(grove_copies_add(set, t->c->machine, c->from, c->to,
                                        (double)(c->blocks * t->block), pair->route->list));
    }
    bench_need_grove(grove_multipath_solve(set, GROVE_SOLVER_EXACT, splits));
    for (int i = 0; i < s->ncopies; i++) t->decisions[k][i] = decision_of(&splits[i]);
  }
  free(splits);
  free(set);
}

/* ---- values ---- */

static int64_t value_of(int device, int64_t i)
{
  return (device + 1) * (i + 7);
}

static int64_t expected_value(const team *t, int device, int64_t i)
{
  int64_t per_block = t->block / 8, sum = 0;
  if (!t->a->is_reduce) return value_of((int)(i / per_block), device * per_block + i % per_block);
  for (int k = 0; k < N; k++) sum += value_of(k, i);
  return sum;
}

static void move(const team *t, int device, void *to, const void *from)
{
  bench_need_grove(t->p->driver->copy(device, NULL, to, from, N * t->block));
  bench_need_grove(t->p->driver->finish(device, NULL));
}

static int64_t check_values(team *t)
{
  int64_t n = N * t->block / 8, wrong = 0, *values = bench_alloc((size_t)n, 8);
  bench_place_moves(t->p, 1);
  for (int d = 0; d < N; d++) {
    for (int64_t i = 0; i < n; i++) values[i] = value_of(d, i);
    move(t, d, t->memory[d][IN], values);
  }
  run_all(t, 1);
  for (int d = 0; d < N; d++) {
    move(t, d, values, t->memory[d][t->a->is_reduce ? IN : OUT]);
    if (t->p->s->sabotage) values[1]++;
    for (int64_t i = 0; i < n; i++) wrong += values[i] != expected_value(t, d, i);
  }
  free(values);
  bench_place_moves(t->p, 0);
  return wrong;
}

/* ---- rows ---- */

static void run_method(team *t, const char *method)
{
  int64_t bytes = N * t->block;
  run_all(t, 0); /* makes lanes */
  bench_row(t->p, "collectives", t->a->name, bytes, method, bench_exactly(run_all(t, 0)));
  if (bytes <= (t->p->s->check ? 1 : 16) * MIB)
    bench_judge(t->p, "collectives", t->a->name, bytes, method, check_values(t));
}

static void run_size(const bench_place *p, const algorithm *a, grove_copier *c, int64_t bytes)
{
  team t = {.p = p, .a = a, .block = bytes / N};
  double bound = whole_bound(&p->machine->links, a, (double)t.block);
  open_team(&t);
  run_method(&t, "direct");
  t.c = c;
  run_method(&t, "alone");
  decide_together(&t);
  t.is_together = 1;
  run_method(&t, "together");
  bench_row(p, "collectives", a->name, bytes, "bound", bench_exactly(bound));
  close_team(&t);
}

/* By other devices, not by the host, as in the paper. All steps are enqueued before the first is
 * done, so there are lanes for more copies than 64 MiB of staging memory serve. */
void bench_collectives(bench_settings *s)
{
  static const char *const nodes[] = {"beluga", "narval"};
  algorithm all[] = {make_ring(), make_knomial_2(), make_knomial_4(), make_pairwise(),
                     make_bruck()};
  for (int n = 0; n < (s->check ? 1 : 2); n++)
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      bench_place p;
      bench_place_emulate(s, nodes[n], "ideal", 0, &p);
      grove_copier *c = bench_copier_with(&p, NULL, "direct,gpu0,gpu1,gpu2,gpu3", STAGING);
      for (int64_t bytes = s->check ? MIB : 2 * MIB; bytes <= (s->check ? 1 : 512) * (int64_t)MIB;
           bytes *= 4)
        run_size(&p, &all[i], c, bytes);
      bench_need_grove(grove_copier_free(&c));
      bench_place_close(&p);
    }
}
