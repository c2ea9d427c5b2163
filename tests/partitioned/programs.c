/* Random programs: channels between random ranks, made, started, marked, tested, asked, waited for
 * and freed in any legal order and in any state, beside operations on a forest and while options
 * change. Every rank draws the whole program and goes through its own steps of it; every byte of
 * every buffer is known at every step.
 *
 * A step that waits stands behind all that it needs: both ends have started the round, and all
 * parts are marked. So the first of those that wait, in the order of the program, can always go on.
 *
 *     programs --program N [--list]     one program alone; and its steps in words
 *
 * THREADS, if set: MPI_THREAD_MULTIPLE, and parts are marked by several threads.
 */
#include "apart.h"
#include "channel.h"
#include "check.h"
#include "errand.h"
#include "threads.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 8, MOST_STEPS = 400, MOST_PARTS = 48, PROGRAMS_A_CONTEXT = 4, GONE = 0x3c };

/* Those that a program sets, all of them at its beginning. */
enum { OPTIONS = 3 };

typedef enum kind {
  MAKE,
  START,
  MARK,
  WAIT,
  POLL,
  TEST,
  ASK,
  LOOK,
  FREE,
  OPTION,
  FOREST_START,
  FOREST_WAIT
} kind;

typedef struct step {
  kind what;
  int line, sends;
  int64_t first, count;
} step;

/* What the program knows of an end while it is drawn. */
typedef struct view {
  int made, active, freed;
  int64_t round; /* started so far */
} view;

typedef struct line {
  int from, to, tag;
  uint64_t seed;
  const unit *u[2]; /* the receiver's, the sender's */
  int parts[2];
  int64_t count[2];
  int lent[2];
  view end[2];
  char marked[MOST_PARTS];
  int nmarked;
} line;

typedef struct program {
  int nranks;
  int nlines;
  line line[MOST_LINES];
  int nsteps;
  step step[MOST_STEPS + 4 * MOST_LINES];
  int forest_active;
  rng r;
} program;

/* ---- lines ---- */

static int64_t size_of(const unit *u)
{
  int size;
  MPI_Type_size(u->type, &size);
  return size;
}

static void draw_end(line *x, int k, int64_t bytes, rng *r)
{
  int64_t n = bytes / size_of(x->u[k]);
  x->parts[k] = (int)rng_between(r, 1, n < MOST_PARTS ? n : MOST_PARTS);
  while (n % x->parts[k] != 0) x->parts[k]--;
  x->count[k] = n / x->parts[k];
  x->lent[k] = rng_one_in(r, 4);
}

static line draw_line(rng *r, const units *types, int nranks)
{
  static const char *const name[] = {"MPI_INT",         "MPI_DOUBLE",
                                     "int in 20 bytes", "vector of ints with gaps",
                                     "MPI_INT64_T",     "2x2 matrix"};
  static const int64_t multiple[] = {1, 2, 6, 21, 30, 60, 420, 1260};
  line x = {.from = (int)rng_below(r, nranks), .to = (int)rng_below(r, nranks)};
  x.tag = (int)rng_below(r, 3);
  x.seed = rng_next(r);
  int64_t bytes = 96 * multiple[rng_below(r, rng_one_in(r, 4) ? 8 : 5)]; /* all sizes divide 96 */
  for (int k = 0; k < 2; k++) {
    x.u[k] = units_find(types, name[rng_below(r, 6)]);
    draw_end(&x, k, bytes, r);
  }
  return x;
}

static int same_key(const line *a, const line *b)
{
  return a->from == b->from && a->to == b->to && a->tag == b->tag;
}

/* ---- steps that are legal ---- */

/* The k-th meets the k-th: those of one key are made in their order. */
static int may_make(const program *g, int i, int k)
{
  if (g->line[i].end[k].made) return 0;
  for (int j = 0; j < i; j++)
    if (same_key(&g->line[i], &g->line[j]) && !g->line[j].end[k].made) return 0;
  return 1;
}

static int may_wait(const line *x, int k)
{
  const view *me = &x->end[k], *peer = &x->end[1 - k];
  int all = x->nmarked == x->parts[1];
  if (!me->active) return 0;
  if (k == 1) return all && peer->round >= me->round;
  return peer->round > me->round || (peer->round == me->round && all);
}

static int is_legal(const program *g, const step *s)
{
  const line *x = &g->line[s->line];
  const view *e = &x->end[s->sends];
  switch (s->what) {
  case MAKE: return may_make(g, s->line, s->sends);
  case START: return e->made && !e->active && !e->freed;
  case MARK: return s->sends && e->active && x->nmarked < x->parts[1];
  case WAIT:
  case POLL: return may_wait(x, s->sends);
  case TEST: return e->active;
  case ASK:
  case LOOK: return !s->sends && e->active;
  case FREE: return e->made && !e->freed;
  case FOREST_START: return !g->forest_active;
  case FOREST_WAIT: return g->forest_active;
  default: return 1;
  }
}

/* A run of parts that are not marked yet. */
static void draw_range(line *x, step *s, rng *r)
{
  int64_t first = rng_below(r, x->parts[1]), most = rng_one_in(r, 3) ? x->parts[1] : 4;
  while (x->marked[first]) first = (first + 1) % x->parts[1];
  s->first = first;
  do s->count++;
  while (s->count < most && first + s->count < x->parts[1] && !x->marked[first + s->count]);
}

static void take_effect(program *g, step *s)
{
  line *x = &g->line[s->line];
  view *e = &x->end[s->sends];
  switch (s->what) {
  case MAKE: e->made = 1; break;
  case START:
    e->active = 1;
    e->round++;
    if (s->sends) x->nmarked = 0;
    if (s->sends) memset(x->marked, 0, sizeof x->marked);
    break;
  case MARK:
    draw_range(x, s, &g->r);
    memset(x->marked + s->first, 1, (size_t)s->count);
    x->nmarked += (int)s->count;
    break;
  case LOOK:
    s->first = rng_below(&g->r, x->parts[0]);
    s->count = rng_between(&g->r, 0, x->parts[0] - s->first);
    break;
  case WAIT:
  case POLL: e->active = 0; break;
  case FREE:
    e->active = 0;
    e->freed = 1;
    break;
  case OPTION: s->first += rng_below(&g->r, 1000) * OPTIONS; break;
  case FOREST_START: g->forest_active = 1; break;
  case FOREST_WAIT: g->forest_active = 0; break;
  default: break;
  }
}

static void add(program *g, step s)
{
  if (!is_legal(g, &s)) return;
  take_effect(g, &s);
  g->step[g->nsteps++] = s;
}

static void draw_step(program *g)
{
  static const kind likely[] = {MAKE, MAKE, START, START, START, START, MARK,         MARK,
                                MARK, MARK, MARK,  MARK,  WAIT,  WAIT,  WAIT,         POLL,
                                TEST, ASK,  ASK,   LOOK,  LOOK,  FREE,  FOREST_START, FOREST_WAIT};
  step s = {.what = likely[rng_below(&g->r, 24)]};
  s.line = (int)rng_below(&g->r, g->nlines);
  s.sends = s.what == MARK || (s.what != ASK && s.what != LOOK && rng_one_in(&g->r, 2));
  if (s.what == FREE && !rng_one_in(&g->r, 4)) return; /* most of them live longer */
  if (rng_one_in(&g->r, 150)) s = (step){.what = OPTION, .first = rng_below(&g->r, OPTIONS)};
  add(g, s);
}

static void draw_program(program *g, const units *types, int nranks, uint64_t number)
{
  *g = (program){.nranks = nranks, .r = rng_from(test_seed(), number)};
  g->nlines = (int)rng_between(&g->r, 1, MOST_LINES);
  for (int i = 0; i < g->nlines; i++) g->line[i] = draw_line(&g->r, types, nranks);
  for (int i = 0; i < OPTIONS; i++) add(g, (step){.what = OPTION, .first = i});
  int64_t tries = rng_between(&g->r, 50, 3 * MOST_STEPS);
  while (tries-- > 0 && g->nsteps < MOST_STEPS) draw_step(g);
  /* The next program counts from here: both ends have made as many. */
  for (int i = 0; i < 2 * g->nlines; i++) add(g, (step){MAKE, i / 2, i % 2, 0, 0});
  add(g, (step){.what = FOREST_WAIT});
}

/* ---- in words ---- */

static void print_program(const program *g)
{
  static const char *const word[] = {"make", "start",  "mark",         "wait",
                                     "poll", "test",   "ask",          "look",
                                     "free", "option", "forest start", "forest wait"};
  for (int i = 0; i < g->nlines; i++) {
    const line *x = &g->line[i];
    printf("line %d: %d -> %d, tag %d: %d parts of %lld '%s'%s to %d parts of %lld '%s'%s\n", i,
           x->from, x->to, x->tag, x->parts[1], (long long)x->count[1], x->u[1]->name,
           x->lent[1] ? " (lent)" : "", x->parts[0], (long long)x->count[0], x->u[0]->name,
           x->lent[0] ? " (lent)" : "");
  }
  for (int i = 0; i < g->nsteps; i++) {
    const step *s = &g->step[i];
    const line *x = &g->line[s->line];
    if (s->what >= OPTION)
      printf("%4d  all ranks: %s\n", i, word[s->what]);
    else
      printf("%4d  rank %d: %s %s of line %d, %lld, %lld\n", i, s->sends ? x->from : x->to,
             word[s->what], s->sends ? "sender" : "receiver", s->line, (long long)s->first,
             (long long)s->count);
  }
  fflush(stdout);
}

/* ---- running ---- */

typedef struct end {
  channel c;
  int complete; /* a test said so: nothing more is asked in this round */
  char told[MOST_PARTS];
  unsigned char *gone; /* the buffer of a receiver that was freed */
  size_t gone_bytes;
} end;

typedef struct stage {
  const place *p;
  grove_op *idle;
  errand beside;
  const program *g;
  end end[MOST_LINES][2]; /* those on this rank */
  char *shared;
  int threads;
} stage;

static int is_mine(const stage *t, int i, int k)
{
  const line *x = &t->g->line[i];
  return (k ? x->from : x->to) == t->p->rank;
}

static size_t line_up(size_t bytes)
{
  return (bytes + 63) / 64 * 64;
}

/* Memory of grove_alloc goes with the context. */
static void dress(stage *t)
{
  size_t bytes = 0, at = 0;
  void *memory = NULL;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < 2 * t->g->nlines; i++) {
      const line *x = &t->g->line[i / 2];
      int k = i % 2;
      channel *c = &t->end[i / 2][k].c;
      if (!is_mine(t, i / 2, k)) continue;
      if (pass == 0) *c = (channel){.ctx = t->p->ctx, .sends = k, .tag = x->tag, .u = x->u[k]};
      c->peer = k ? x->to : x->from;
      c->parts = x->parts[k];
      c->count = x->count[k];
      c->seed = x->seed;
      if (x->lent[k] && pass == 0) bytes += line_up(channel_room(c));
      if (x->lent[k] && pass == 1) c->lent = t->shared + at;
      if (x->lent[k] && pass == 1) at += line_up(channel_room(c));
    }
    if (pass == 0) CHECK_OK(grove_alloc(t->p->ctx, bytes, &memory));
    t->shared = memory;
  }
}

/* A receiver's buffer is somebody else's now. */
static void drop(end *e)
{
  channel *c = &e->c;
  if (c->sends) {
    channel_abandon(c);
    return;
  }
  CHECK_OK(grove_op_free(&c->op));
  e->gone = c->data.memory;
  e->gone_bytes = c->data.bytes;
  channel_set(c, GONE);
  array_free(&c->expected);
}

static void check_gone(end *e)
{
  if (e->gone != NULL) channel_fetch(&e->c);
  for (size_t i = 0; i < e->gone_bytes; i++)
    CHECK(e->gone[i] == GONE, "byte %zu of a buffer was written after its channel was freed", i);
  if (e->gone != NULL) apart_return(e->c.apart);
  if (e->c.lent == NULL) free(e->gone);
  e->gone = NULL;
  e->gone_bytes = 0;
}

static void ask(end *e)
{
  int64_t first = -1, count = -1;
  if (e->complete) return;
  CHECK_OK(grove_arrivals(e->c.op, &first, &count));
  for (int64_t i = first; i < first + count; i++) {
    CHECK(i >= 0 && i < e->c.parts && !e->told[i], "part %lld is told, twice or wrongly",
          (long long)i);
    e->told[i] = 1;
  }
  if (count > 0) channel_check_parts(&e->c, first, count);
}

static void look(end *e, const step *s)
{
  int yes = 0;
  if (e->complete) return;
  CHECK_OK(grove_arrived(e->c.op, s->first, s->count, &yes));
  if (yes) channel_check_parts(&e->c, s->first, s->count);
}

typedef struct marking {
  channel *c;
  const step *s;
} marking;

enum { MARKERS = 3 };

static void mark_some(int number, void *self)
{
  const marking *m = self;
  for (int64_t i = number; i < m->s->count; i += MARKERS) channel_ready(m->c, m->s->first + i, 1);
}

static void mark(stage *t, channel *c, const step *s)
{
  marking m = {c, s};
  if (t->threads && s->count > 1)
    in_threads(MARKERS, mark_some, &m);
  else
    channel_ready(c, s->first, s->count);
}

/* Options of what is made from now on. Collective. */
static void set_option(stage *t, int64_t drawn)
{
  static const char *const aggregator[] = {"auto", "none", "ploggp", "timer", "adaptive"};
  static const char *const delta[] = {"auto", "0.00001", "0.001"};
  static const char *const most[] = {"0", "1", "3"};
  int64_t value = drawn / OPTIONS;
  switch (drawn % OPTIONS) {
  case 0: place_set(t->p, "aggregator", aggregator[value % 5]); break;
  case 1: place_set(t->p, "delta", delta[value % 3]); break;
  default: place_set(t->p, "max_messages", most[value % 3]);
  }
}

static void run_for_all(stage *t, const step *s)
{
  if (s->what == OPTION) {
    set_option(t, s->first);
  } else if (s->what == FOREST_START) {
    errand_fill(&t->beside);
    CHECK_OK(grove_start(t->beside.op));
  } else {
    CHECK_OK(grove_wait(t->beside.op));
    errand_check(&t->beside);
  }
}

static void run_step(stage *t, const step *s)
{
  end *e = &t->end[s->line][s->sends];
  int done = 0;
  switch (s->what) {
  case MAKE: channel_open(&e->c); break;
  case START:
    e->complete = 0;
    memset(e->told, 0, sizeof e->told);
    channel_start(&e->c);
    break;
  case MARK: mark(t, &e->c, s); break;
  case WAIT: channel_wait(&e->c); break;
  case POLL:
    if (e->complete)
      channel_wait(&e->c);
    else
      channel_poll(&e->c);
    break;
  case TEST:
    if (!e->complete) CHECK_OK(grove_test(e->c.op, &done));
    if (done) channel_over(&e->c);
    if (done) e->complete = 1;
    break;
  case ASK: ask(e); break;
  case LOOK: look(e, s); break;
  case FREE: drop(e); break;
  default: break;
  }
}

/* What is left is freed as it is, in an order of this rank's own, and so is the rest. */
static void clear(stage *t, rng *mine)
{
  int64_t order[2 * MOST_LINES];
  for (int i = 0; i < 2 * t->g->nlines; i++) order[i] = i;
  rng_shuffle(mine, 2 * t->g->nlines, order);
  for (int i = 0; i < 2 * t->g->nlines; i++) {
    end *e = &t->end[order[i] / 2][order[i] % 2];
    if (e->c.op != NULL) drop(e);
  }
  place_meet(t->p, t->idle);
  for (int i = 0; i < 2 * t->g->nlines; i++) check_gone(&t->end[i / 2][i % 2]);
}

static void run_program(stage *t, const program *g, uint64_t number)
{
  rng mine = rng_from(test_seed() ^ number, (uint64_t)t->p->rank);
  t->g = g;
  memset(t->end, 0, sizeof t->end);
  dress(t);
  for (int i = 0; i < g->nsteps; i++) {
    const step *s = &g->step[i];
    if (s->what >= OPTION)
      run_for_all(t, s);
    else if (is_mine(t, s->line, s->sends))
      run_step(t, s);
    if (rng_one_in(&mine, 20)) sched_yield();
  }
  place_meet(t->p, t->idle); /* who is through goes on calling the library */
  clear(t, &mine);
}

/* ---- all of them ---- */

static void open_stage(stage *t, place *p)
{
  *t = (stage){.p = p, .threads = getenv("THREADS") != NULL};
  *p = place_create(split(0));
  t->idle = place_idle(p);
  t->beside = (errand){.n = 30, .step = 7, .width = 1, .unit = MPI_INT64_T};
  t->beside.forest = errand_forest(p->ctx, t->beside.n, t->beside.step);
  errand_open(&t->beside, p->comm);
  errand_init(&t->beside);
}

static void close_stage(stage *t, place *p)
{
  CHECK_OK(grove_forest_free(&t->beside.forest));
  errand_close(&t->beside);
  CHECK_OK(grove_op_free(&t->idle));
  place_free(p);
  polite_barrier(MPI_COMM_WORLD);
  channels_sweep();
}

/* The number of a program that is run alone, or -1. */
static int64_t asked_for(int argc, char **argv, int *list)
{
  int64_t number = -1;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--list") == 0) *list = 1;
    if (strcmp(argv[i], "--program") == 0 && i + 1 < argc) number = atoll(argv[i + 1]);
  }
  return number;
}

int main(int argc, char **argv)
{
  static program g;
  static stage t;
  place p;
  int list = 0, open = 0;
  test_begin(&argc, &argv, "partitioned/programs");
  units *types = units_create();
  int64_t one = asked_for(argc, argv, &list);
  int64_t first = one < 0 ? 0 : one, behind = one < 0 ? test_samples(40) : one + 1;
  for (int64_t i = first; i < behind; i++) {
    test_case(i);
    test_hint("SEED=%llu tools/launch %d .../partitioned/programs --program %lld --list\n",
              (unsigned long long)test_seed(), world_size(), (long long)i);
    if (!open) open_stage(&t, &p);
    open = 1;
    draw_program(&g, types, world_size(), (uint64_t)i);
    if (list && world_rank() == 0) print_program(&g);
    run_program(&t, &g, (uint64_t)i);
    if (i % PROGRAMS_A_CONTEXT == PROGRAMS_A_CONTEXT - 1) {
      close_stage(&t, &p);
      open = 0;
    }
  }
  if (open) close_stage(&t, &p);
  units_free(types);
  return test_end();
}
