#include "run.h"

#include "check.h"
#include "forests.h"
#include "memory.h"
#include "sources.h"
#include "threads.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- contexts ---- */

/* A collective call: when it returns, every rank has completed what it will complete, so nobody
 * waits any more for what others have freed. */
static void quiesce(run *r)
{
  if (r->now == NOTHING || r->context[r->now] == NULL) return;
  CHECK_OK(grove_context_set(r->context[r->now], "spin", "auto"));
}

static void make_context(run *r, int id)
{
  quiesce(r);
  CHECK_OK(grove_context_create(r->at.comm, &r->context[id]));
  if (r->p->own_first) CHECK_OK(grove_context_set(r->context[id], "order", "own-first"));
  memory_use(r, id);
  r->now = id;
}

static void set_option(run *r, const step *st)
{
  char text[OPTION_TEXT];
  const char *name = option_name(st->way);
  CHECK_OK(grove_context_set(r->context[r->now], name, option_value(r->p, st, text)));
  if (strcmp(name, "progress") == 0) r->has_helper[r->now] = strcmp(text, "thread") == 0;
}

static void use_machine(run *r, const step *st)
{
  grove_machine *m = NULL;
  if (machine_name(st) != NULL) CHECK_OK(grove_machine_open(machine_name(st), &m));
  CHECK_OK(grove_context_use_machine(r->context[r->now], m));
  CHECK_OK(grove_machine_free(&m));
}

/* ---- forests ---- */

static void make_forest(run *r, int id, const step *st)
{
  const graph *known = r->s->forest[id].order;
  int derived = st->kind == STEP_DERIVE, me = r->at.rank;
  r->forest[id] = derived ? forest_derived(r->s, id, r->context[r->now], r->forest, me)
                          : forest_made(r->s, id, r->context[r->now], me);
  const char *name = derived ? derivation_name(st) : source_name(st);
  sketch_check(r->forest[id], r->s->forest[id].s, me, name);
  if (known != NULL) graph_check(r->forest[id], &known->part[me], name);
  r->order[id] = known != NULL ? r->s->forest[id].order : graph_gathered(&r->at, r->forest[id]);
}

static void query(run *r, const step *st)
{
  int f = st->of[0];
  sketch_check(r->forest[f], r->s->forest[f].s, r->at.rank, "a query");
  graph_check(r->forest[f], &r->order[f]->part[r->at.rank], "a query");
  if (st->seed % 4 > 0) return;
  FILE *nowhere = fopen("/dev/null", "w");
  CHECK_OK(grove_forest_print(r->forest[f], nowhere));
  fclose(nowhere);
}

static void explain(run *r, const step *st)
{
  FILE *nowhere = r->at.rank == 0 ? fopen("/dev/null", "w") : NULL;
  CHECK_OK(grove_forest_explain(r->forest[st->of[0]], (size_t)(1 + st->seed % 100), nowhere));
  if (nowhere != NULL) fclose(nowhere);
}

/* ---- arrays ---- */

static void make_arrays(run *r, int id, const step *st)
{
  for (int number = ROLES * id; number < ROLES * id + ROLES; number++) {
    if (!r->s->array[number].made) continue;
    memory_create(r, number, st->seed);
    memory_fill(r, number, st->seed, NOTHING);
  }
}

static void give_back(run *r, const step *st)
{
  quiesce(r);
  for (int number = ROLES * st->of[0]; number < ROLES * st->of[0] + ROLES; number++) {
    if (!r->s->array[number].allocated || r->real[number].memory == NULL) continue;
    void *given = memory_given(&r->real[number], r->real[number].memory);
    memory_free(r, number);
    CHECK_OK(grove_dealloc(r->context[r->now], given));
  }
}

/* Before operation `op` is started; what comes by another stream than its own is there by then. */
static void renew(run *r, const step *st, int op, int ncalls, const int *call, int round)
{
  int on_stream = st->flags & FLAG_PARTS ? NOTHING : op;
  for (int i = 0; i < ncalls; i++)
    for (role k = 0; k < ROLES; k++)
      if (r->s->call[call[i]].array[k] != NOTHING) memory_settle(r, r->s->call[call[i]].array[k]);
  for (int i = 0; (st->flags & FLAG_FRESH) && i < ncalls; i++)
    for (int number = ROLES * call[i]; number < ROLES * call[i] + ROLES; number++)
      if (r->real[number].memory != NULL) memory_fill(r, number, round_seed(st, round), on_stream);
}

/* ---- operations ---- */

static int64_t own_roots(const run *r, const scene_call *c)
{
  const sketch *f = r->s->forest[c->forest].s;
  int64_t n = 0;
  if (!kind_is_multi(c->kind)) return f->part[r->at.rank].nroots;
  for (int i = 0; i < f->nranks; i++)
    for (int64_t j = 0; j < f->part[i].nslots; j++) n += f->part[i].slot[j].rank == r->at.rank;
  return n;
}

static op_call arguments(const run *r, int call)
{
  const scene_call *c = &r->s->call[call];
  void *slot0[ROLES] = {NULL};
  for (role k = 0; k < ROLES; k++)
    if (c->array[k] != NOTHING)
      slot0[k] = memory_given(&r->real[c->array[k]],
                              call_view(c, k, &r->real[c->array[k]], r->at.rank).slot0);
  if (r->p->step[call].flags & FLAG_NULLS) {
    if (own_roots(r, c) == 0) slot0[ROLE_ROOT] = NULL;
    if (r->s->forest[c->forest].s->part[r->at.rank].nslots == 0)
      slot0[ROLE_LEAF] = slot0[ROLE_UPDATE] = NULL;
  }
  return (op_call){.kind = c->kind,
                   .f = r->forest[c->forest],
                   .unit = c->u->type,
                   .op = c->r->op,
                   .root = slot0[ROLE_ROOT],
                   .leaf = slot0[ROLE_LEAF],
                   .update = slot0[ROLE_UPDATE]};
}

static void check_way(const char *got, const char *expected, const char *what)
{
  CHECK(expected == NULL || strcmp(got, expected) == 0, "%s is %s, not %s", what, got, expected);
}

/* It goes as the options say that were set when it was made. */
static void check_ways(const run *r, int op)
{
  const scene_op *about = &r->s->op[op];
  grove_report told = {.struct_size = sizeof told};
  CHECK_OK(grove_op_report(r->op[op], &told));
  if (about->ncalls == 0) return;
  check_way(told.route, about->route, "the route");
  check_way(told.transport, about->off_node, "the transport between nodes");
  check_way(told.transport_on_node, about->on_node, "the transport inside a node");
}

static void make_operation(run *r, int id, const step *st)
{
  op_call c = arguments(r, st->of[0]);
  CHECK_OK(call_init(&c, &r->op[id]));
  memory_choose_stream(r, id, st);
  check_ways(r, id);
}

static void make_bundle(run *r, int id, const step *st)
{
  grove_op *member[MOST_OF];
  for (int i = 0; i < st->nof; i++) {
    member[i] = r->op[st->of[i]];
    if (r->unwaited[st->of[i]]) CHECK_OK(grove_wait(member[i]));
    r->unwaited[st->of[i]] = 0;
  }
  CHECK_OK(grove_op_bundle(st->nof, member, &r->op[id]));
  memory_choose_stream(r, id, st);
  check_ways(r, id);
}

/* Some ranks are late, and others have long been waiting, or have freed what they started. */
static void come_late(const run *r, const step *st)
{
  if (mix2(st->seed + 1, (uint64_t)r->at.rank) % 8 == 0) linger(1e-3);
}

static void start(run *r, int id, const step *st, int round)
{
  int n = 0;
  const int *call = step_calls(r->s, id, &n);
  renew(r, st, st->of[0], n, call, round);
  if (round == 0) come_late(r, st);
  parts_start(r, st->of[0], st);
  r->active[st->of[0]] = 1;
  r->unwaited[st->of[0]] = 0;
}

static void begin(run *r, int id, const step *st)
{
  op_call c = arguments(r, st->of[0]);
  renew(r, st, id, 1, st->of, 0);
  come_late(r, st);
  CHECK_OK(call_begin(&c, &r->op[id]));
  r->active[id] = 1;
  check_ways(r, id);
}

static void block(run *r, int id, const step *st)
{
  op_call c = arguments(r, st->of[0]);
  renew(r, st, id, 1, st->of, 0);
  CHECK_OK(call_block(&c));
  settle_check(r, id, 0, "blocking");
}

/* The host turns to it at last. */
static void end_late(run *r, rng *mine)
{
  int op = r->late.op, start_of = r->s->start_of[r->late.complete];
  if (!r->late.on) return;
  r->late.on = 0;
  memory_finish_stream(r, op);
  r->unwaited[op] = rng_one_in(mine, 2);
  if (!r->unwaited[op]) CHECK_OK(grove_wait(r->op[op]));
  r->active[op] = 0;
  r->starts[op]++;
  parts_end(r, op, start_of, 0, mine);
  settle_check(r, start_of, 0, "completed by a stream");
}

/* Is it no business of the step? Of the options it is, for they have the thread. */
static int passes_late(const run *r, int id)
{
  step_kind kind = r->p->step[id].kind;
  return kind >= STEP_FOREST && kind <= STEP_FREE_FOREST &&
         step_group(r->s, id) != step_group(r->s, r->late.complete);
}

/* By a stream, and later. */
static int leave_to_stream(run *r, int id, const step *st)
{
  int op = st->of[0];
  if (r->in_region || r->late.on || r->s->op[op].begun ||
      mix2(st->seed + 5, (uint64_t)r->at.rank) % 2)
    return 0;
  r->late = (pending){memory_wait_on_stream(r, op), op, id};
  return r->late.on;
}

static void complete(run *r, int id, const step *st, rng *mine)
{
  if (st->kind == STEP_COMPLETE && leave_to_stream(r, id, st)) return;
  settle_complete(r, id, st->of[0], mine);
  parts_end(r, st->of[0], r->s->start_of[id], 0, mine);
  settle_check(r, r->s->start_of[id], 0, "completed");
}

static void go_rounds(run *r, int id, const step *st, rng *mine)
{
  for (int round = 0; round < st->way; round++) {
    start(r, id, st, round);
    parts_mark(r, st->of[0], round_seed(st, round), 1);
    settle_complete(r, id, st->of[0], mine);
    parts_end(r, st->of[0], id, round, mine);
    settle_check(r, id, round, "one of many rounds");
  }
}

static void report(run *r, const step *st)
{
  grove_report about = {.struct_size = sizeof about};
  CHECK_OK(grove_op_report(r->op[st->of[0]], &about));
  CHECK(about.starts == r->starts[st->of[0]], "%lld starts are reported, not %d",
        (long long)about.starts, r->starts[st->of[0]]);
}

/* Those who complete it may keep it. */
static void abandon(run *r, int id, const step *st, rng *mine)
{
  int op = st->of[0];
  if (step_chooses(st, r->at.rank)) {
    settle_abandon(r, op, r->s->start_of[id]);
  } else {
    complete(r, id, st, mine);
    if (rng_one_in(mine, 2)) CHECK_OK(grove_op_free(&r->op[op]));
  }
}

static void desert(run *r, const step *st, rng *mine)
{
  int op = st->of[0], done = 0;
  if (!step_chooses(st, r->at.rank)) {
    CHECK_OK(grove_op_free(&r->op[op]));
    return;
  }
  parts_start(r, op, st);
  parts_mark(r, op, st->seed, 0);
  for (int64_t k = rng_below(mine, 4); k > 0; k--) CHECK_OK(grove_test(r->op[op], &done));
  settle_abandon(r, op, NOTHING);
}

/* ---- the order ---- */

static void perform(run *r, int id, rng *mine)
{
  const step *st = &r->p->step[id];
  switch (st->kind) {
  case STEP_CONTEXT: make_context(r, id); break;
  case STEP_SWITCH:
    quiesce(r);
    r->now = st->of[0];
    break;
  case STEP_SET: set_option(r, st); break;
  case STEP_MACHINE: use_machine(r, st); break;
  case STEP_FOREST:
  case STEP_DERIVE: make_forest(r, id, st); break;
  case STEP_QUERY: query(r, st); break;
  case STEP_EXPLAIN: explain(r, st); break;
  case STEP_CALL: make_arrays(r, id, st); break;
  case STEP_INIT: make_operation(r, id, st); break;
  case STEP_BUNDLE: make_bundle(r, id, st); break;
  case STEP_START: start(r, id, st, 0); break;
  case STEP_MARK: parts_mark(r, st->of[0], st->seed, !st->detail); break;
  case STEP_ASK: parts_ask(r, st->of[0], r->s->start_of[id], 0); break;
  case STEP_BEGIN: begin(r, id, st); break;
  case STEP_COMPLETE: complete(r, id, st, mine); break;
  case STEP_BLOCK: block(r, id, st); break;
  case STEP_ROUNDS: go_rounds(r, id, st, mine); break;
  case STEP_REPORT: report(r, st); break;
  case STEP_ABANDON: abandon(r, id, st, mine); break;
  case STEP_DESERT: desert(r, st, mine); break;
  case STEP_FREE_OP: CHECK_OK(grove_op_free(&r->op[st->of[0]])); break;
  case STEP_FREE_FOREST: CHECK_OK(grove_forest_free(&r->forest[st->of[0]])); break;
  case STEP_FREE_CONTEXT: CHECK_OK(grove_context_free(&r->context[r->now])); break;
  case STEP_DEALLOC: give_back(r, st); break;
  default: break;
  }
}

/* The operation that a step starts or completes, or NOTHING. */
static int operation_of(const program *p, int id)
{
  step_kind kind = p->step[id].kind;
  if (kind == STEP_BEGIN) return id;
  return kind == STEP_START || kind == STEP_COMPLETE ? p->step[id].of[0] : NOTHING;
}

/* Between two steps: a test of something under way, or a pause. */
static void dawdle(run *r, int n, const int *order, rng *mine)
{
  int op = operation_of(r->p, order[rng_below(mine, n)]), done = 0;
  if (op != NOTHING && r->active[op]) CHECK_OK(grove_test(r->op[op], &done));
  if (rng_one_in(mine, 16)) linger(1e-6 * (double)rng_below(mine, 200));
  if (rng_one_in(mine, 8)) sched_yield();
}

static void perform_all(run *r, int n, const int *order, int thread)
{
  rng mine = rng_from((uint64_t)r->p->number, (uint64_t)(16 * r->at.rank + thread + 1));
  for (int k = 0; k < n; k++) {
    dawdle(r, n, order, &mine);
    if (r->late.on && !passes_late(r, order[k])) end_late(r, &mine);
    perform(r, order[k], &mine);
  }
  end_late(r, &mine);
}

/* ---- threads ---- */

typedef struct region {
  run *r;
  int n;
  const int *order;
} region;

static void perform_own(int number, void *self)
{
  region *x = self;
  int own[MOST_STEPS], n = 0;
  for (int k = 0; k < x->n; k++)
    if (step_thread(x->r->s, x->order[k]) == number) own[n++] = x->order[k];
  perform_all(x->r, n, own, number + 1);
}

/* Steps up to the next one of this kind, or to the end. */
static int count_until(const program *p, int n, const int *order, step_kind kind)
{
  int k = 0;
  while (k < n && p->step[order[k]].kind != kind) k++;
  return k;
}

static void perform_program(run *r)
{
  int order[MOST_STEPS], n = schedule(r->s, r->at.rank, order);
  for (int at = 0; at < n;) {
    int alone = count_until(r->p, n - at, order + at, STEP_THREADS);
    perform_all(r, alone, order + at, 0);
    at += alone;
    if (at == n) break;
    int threads = r->p->step[order[at++]].way;
    region x = {r, count_until(r->p, n - at, order + at, STEP_JOIN), order + at};
    r->in_region = 1;
    in_threads(threads, perform_own, &x);
    r->in_region = 0;
    at += x.n + 1;
  }
}

/* ---- the end ---- */

/* Operations, forests and the context itself, in any order. */
static void free_context(run *r, int context, rng *mine)
{
  int64_t order[2 * MOST_STEPS + 1];
  for (int i = 0; i <= 2 * MOST_STEPS; i++) order[i] = i;
  rng_shuffle(mine, 2 * MOST_STEPS + 1, order);
  for (int i = 0; i <= 2 * MOST_STEPS; i++) {
    int id = (int)(order[i] % MOST_STEPS);
    if (order[i] == 2 * MOST_STEPS)
      CHECK_OK(grove_context_free(&r->context[context]));
    else if (order[i] < MOST_STEPS && r->s->op[id].context == context)
      CHECK_OK(grove_op_free(&r->op[id]));
    else if (order[i] >= MOST_STEPS && r->s->forest[id].context == context)
      CHECK_OK(grove_forest_free(&r->forest[id]));
  }
}

static void tear_down(run *r)
{
  rng mine = rng_from((uint64_t)r->p->number, (uint64_t)(16 * r->at.rank));
  quiesce(r);
  settle_arrays(r);
  for (int id = 0; id < r->p->nsteps; id++)
    if (r->s->context[id].made) free_context(r, id, &mine);
  for (int i = 0; i < ROLES * MOST_STEPS; i++) {
    memory_free(r, i);
    array_free(&r->last[i]);
  }
  memory_close(r);
  for (int id = 0; id < r->p->nsteps; id++)
    if (r->order[id] != r->s->forest[id].order) graph_free(r->order[id]);
}

void run_program(const scene *s, MPI_Comm comm)
{
  run *r = calloc(1, sizeof *r);
  CHECK(r != NULL, "no memory for a run");
  r->s = s;
  r->p = s->p;
  r->now = NOTHING;
  r->at.comm = comm;
  MPI_Comm_rank(comm, &r->at.rank);
  MPI_Comm_size(comm, &r->at.size);
  CHECK(r->at.size == r->p->nranks, "%d ranks, not %d", r->at.size, r->p->nranks);
  r->m = model_create(s, r->at.rank, r->order);
  memory_open(r);
  perform_program(r);
  tear_down(r);
  model_free(r->m);
  free(r);
}
