/* What is legal, in the written order: a step is admitted only if everything that the header says
 * of it holds, given what earlier steps have made and left. */
#include "program.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Limits that keep a program quick; and sums exact, however often they are added up. */
enum { MOST_EDGES = 1500, MOST_EDGES_STALE = 400, MOST_STALE = 2, MOST_BYTES = 2000000 };
enum { MOST_WORK = 60000, MOST_CONTEXTS = 2 };

scene *scene_create(const program *p, const units *types)
{
  scene *s = calloc(1, sizeof *s);
  CHECK(s != NULL, "no memory for a scene");
  s->p = p;
  s->types = types;
  s->now = s->region = NOTHING;
  return s;
}

void scene_free(scene *s)
{
  for (int i = 0; i < MOST_STEPS; i++) {
    sketch_free(s->forest[i].s);
    graph_free(s->forest[i].order);
  }
  free(s);
}

int step_chooses(const step *st, int rank)
{
  return st->detail == 0 || mix2(st->seed, (uint64_t)rank) % 2;
}

int step_is_by_parts(const scene *s, int id)
{
  const step *st = &s->p->step[id];
  switch (st->kind) {
  case STEP_START:
  case STEP_ROUNDS:
  case STEP_DESERT: return !!(st->flags & FLAG_PARTS);
  case STEP_MARK: return 1;
  case STEP_ASK:
  case STEP_COMPLETE:
  case STEP_ABANDON: return !!(s->p->step[s->start_of[id]].flags & FLAG_PARTS);
  default: return 0;
  }
}

int step_starts_by_parts(const step *st, int rank)
{
  return (st->flags & FLAG_PARTS) && mix2(st->seed + 3, (uint64_t)rank) % 4 > 0;
}

/* ---- contexts ---- */

static int any_active(const scene *s)
{
  for (int i = 0; i < s->p->nsteps; i++)
    if (s->op[i].state == OP_ACTIVE) return 1;
  return 0;
}

/* Steps that nobody may have operations under way in. */
static int is_quiet(const scene *s)
{
  return s->region == NOTHING && !any_active(s);
}

static int has_handle(const scene *s)
{
  return s->now != NOTHING && s->context[s->now].handle;
}

static int admit_context(scene *s, int id, const step *st)
{
  (void)st;
  if (!is_quiet(s) || s->ncontexts == MOST_CONTEXTS) return 0;
  if (s->now != NOTHING && !has_handle(s)) return 0;
  if (s->now != NOTHING) s->context[s->now].duties = 0;
  s->context[id] =
    (scene_context){.made = 1, .handle = 1, .route = "auto", .on_node = "shm", .off_node = "p2p"};
  s->now = id;
  s->ncontexts++;
  return 1;
}

static int admit_switch(scene *s, int id, const step *st)
{
  (void)id;
  const scene_context *to = &s->context[st->of[0]];
  if (!is_quiet(s) || !has_handle(s) || !to->made || st->of[0] == s->now) return 0;
  s->context[s->now].duties = 0;
  s->now = st->of[0];
  return 1;
}

/* Not every transport serves routes that pass data on; the library refuses the others. */
static int serves_routes(const char *off_node)
{
  return strcmp(off_node, "neighbor") != 0 && strcmp(off_node, "rma") != 0;
}

static int fits_together(const scene_context *c, const char *name, const char *text)
{
  const char *route = strcmp(name, "route") == 0 ? text : c->route;
  const char *off_node = strcmp(name, "transport_off_node") == 0 ? text : c->off_node;
  return serves_routes(off_node) || strcmp(route, "auto") == 0 || strcmp(route, "standard") == 0;
}

static int admit_set(scene *s, int id, const step *st)
{
  if (!has_handle(s) || s->region != NOTHING) return 0;
  if (!s->p->threads && option_needs_threads(st->way, st->detail)) return 0;
  scene_context *c = &s->context[s->now];
  const char *name = option_name(st->way), *text = option_text(st->way, st->detail);
  if (!fits_together(c, name, text)) return 0;
  s->collective[id] = 1;
  c->generation++;
  if (strcmp(name, "deterministic") == 0) c->deterministic = st->detail;
  if (strcmp(name, "route") == 0) c->route = text;
  if (strcmp(name, "transport_on_node") == 0) c->on_node = text;
  if (strcmp(name, "transport_off_node") == 0) c->off_node = text;
  return 1;
}

static int admit_machine(scene *s, int id, const step *st)
{
  (void)st;
  if (!has_handle(s) || s->region != NOTHING) return 0;
  s->collective[id] = 1;
  s->context[s->now].generation++;
  return 1;
}

/* Memory of grove_alloc goes with the last thing that holds the context, whatever that is. */
static int has_memory(const scene *s)
{
  for (int i = 0; i < ROLES * MOST_STEPS; i++)
    if (s->array[i].made && s->array[i].allocated) return 1;
  return 0;
}

static int admit_free_context(scene *s, int id, const step *st)
{
  (void)id;
  (void)st;
  if (!has_handle(s) || s->region != NOTHING || s->ncontexts > 1) return 0;
  if (s->context[s->now].duties || has_memory(s)) return 0;
  s->context[s->now].handle = 0;
  return 1;
}

/* ---- forests ---- */

static int forest_usable(const scene *s, int id)
{
  const scene_forest *f = &s->forest[id];
  return f->made && f->handle && f->context == s->now;
}

static int64_t count_edges(const sketch *s)
{
  int64_t n = 0;
  for (int i = 0; i < s->nranks; i++)
    for (int64_t j = 0; j < s->part[i].nslots; j++) n += sketch_is_leaf(&s->part[i], j);
  return n;
}

static int is_handy(const sketch *s)
{
  for (int i = 0; i < s->nranks; i++)
    if (s->part[i].nroots + s->part[i].nslots > MOST_EDGES) return 0;
  return count_edges(s) <= MOST_EDGES;
}

/* Takes both. */
static int add_forest(scene *s, int id, sketch *result, graph *order)
{
  s->forest[id] = (scene_forest){1, 1, s->now, result, order, count_edges(result)};
  s->collective[id] = 1;
  return 1;
}

static int admit_forest(scene *s, int id, const step *st)
{
  if (!has_handle(s) || (st->nof > 0 && !s->forest[st->of[0]].made)) return 0;
  graph *g = forest_graph(s, st);
  return add_forest(s, id, sketch_of_graph(g), g);
}

static int admit_derive(scene *s, int id, const step *st)
{
  if (s->now == NOTHING) return 0;
  for (int i = 0; i < st->nof; i++)
    if (!forest_usable(s, st->of[i])) return 0;
  if (st->way >= DERIVE_MATCH && !has_handle(s)) return 0;
  sketch *result = derived_sketch(s, st);
  if (result == NULL) return 0;
  if (!is_handy(result)) {
    sketch_free(result);
    return 0;
  }
  return add_forest(s, id, result, derived_order(s, st, result));
}

static int admit_query(scene *s, int id, const step *st)
{
  s->collective[id] = st->kind == STEP_EXPLAIN;
  return forest_usable(s, st->of[0]);
}

static int admit_free_forest(scene *s, int id, const step *st)
{
  (void)id;
  if (s->region != NOTHING || !forest_usable(s, st->of[0])) return 0;
  s->forest[st->of[0]].handle = 0;
  return 1;
}

/* ---- calls and their arrays ---- */

int call_reads(const scene_call *c, role which)
{
  return which == (kind_goes_to_roots(c->kind) ? ROLE_LEAF : ROLE_ROOT);
}

int call_writes(const scene_call *c, role which)
{
  if (which == ROLE_ROOT) return kind_goes_to_roots(c->kind);
  return which == ROLE_LEAF ? !kind_goes_to_roots(c->kind) : c->kind == KIND_FETCH;
}

/* Whether any role of the call writes this array. */
static int call_alters(const scene_call *c, int number)
{
  for (role k = 0; k < ROLES; k++)
    if (c->array[k] == number && call_writes(c, k)) return 1;
  return 0;
}

static int64_t edges_to(const sketch *s, int rank)
{
  int64_t n = 0;
  for (int i = 0; i < s->nranks; i++)
    for (int64_t j = 0; j < s->part[i].nslots; j++) n += s->part[i].slot[j].rank == rank;
  return n;
}

static int64_t root_slots(const sketch *s, op_kind k, int rank)
{
  return kind_is_multi(k) ? edges_to(s, rank) : s->part[rank].nroots;
}

/* Whether roots that have leaves and leaf slots that begin at `shift` meet nowhere on the rank. */
static int is_disjoint(const sketch *s, op_kind k, int rank, int64_t shift)
{
  const sketch_part *own = &s->part[rank];
  if (kind_is_multi(k)) return shift >= root_slots(s, k, rank);
  for (int i = 0; i < s->nranks; i++)
    for (int64_t j = 0; j < s->part[i].nslots; j++) {
      grove_root r = s->part[i].slot[j];
      if (r.rank == rank && sketch_is_leaf(own, r.index - shift)) return 0;
    }
  return 1;
}

/* Where the leaves begin in an array that they share with the roots. */
static int64_t draw_shift(const sketch *s, const step *st, op_kind k, int rank)
{
  int64_t roots = root_slots(s, k, rank);
  rng r = rng_from(st->seed, (uint64_t)rank);
  for (int i = 0; i < 4; i++) {
    int64_t shift = rng_below(&r, roots + 3);
    if (is_disjoint(s, k, rank, shift)) return shift;
  }
  return roots;
}

static int is_rough_type(const unit *u)
{
  for (int i = 0; i < u->npieces; i++)
    if (u->piece[i].kind < SCALAR_F32) return 0;
  return u->npieces > 0;
}

/* The array that one call may read from another's: nobody writes it. */
static int lent_array(const scene *s, const scene_call *c, int lender, const int64_t *needed)
{
  const scene_call *from = &s->call[lender];
  if (!from->made || from->context != c->context || from->u != c->u) return NOTHING;
  int number = from->array[kind_goes_to_roots(from->kind) ? ROLE_LEAF : ROLE_ROOT];
  const scene_array *a = &s->array[number];
  int moves = kind_is_multi(c->kind) || c->r->code == OP_REPLACE || c->r->code == OP_NO_OP;
  if (call_alters(from, number) || a->gone || (!moves && a->r != c->r)) return NOTHING;
  for (int i = 0; i < s->p->nranks; i++)
    if (a->nslots[i] < needed[i]) return NOTHING;
  return number;
}

static int is_behind(const step *st, int rank, int number)
{
  return mix2(st->seed + 2, (uint64_t)(ROLES * rank + number % ROLES)) % 3 > 0;
}

/* Of this length, and a little more on some ranks. False: it would be too large. */
static int add_array(scene *s, int number, const scene_call *c, const step *st, int64_t *nslots)
{
  scene_array *a = &s->array[number];
  int64_t bytes = 0;
  *a = (scene_array){.made = 1, .u = c->u, .r = c->r, .allocated = !!(st->flags & FLAG_ALLOC)};
  a->rough = (st->flags & FLAG_ROUGH) && c->r->code == OP_SUM && is_rough_type(c->u);
  for (int i = 0; i < s->p->nranks; i++) {
    a->nslots[i] = nslots[i] + (int64_t)(mix2(st->seed, (uint64_t)(i + number)) % 3);
    if (c->u->most_slots > 0 && a->nslots[i] > c->u->most_slots) return 0;
    if ((st->flags & FLAG_BEHIND) && (a->allocated || is_behind(st, i, number)))
      a->behind |= 1u << i;
    bytes += a->nslots[i] * c->u->extent;
  }
  return bytes <= MOST_BYTES;
}

/* All calls of one group get the number of the other. */
static void join_groups(scene *s, int a, int b)
{
  for (int i = 0; i < MOST_STEPS; i++)
    if (s->call[i].made && s->call[i].group == b) s->call[i].group = a;
}

static int lay_out(scene *s, int id, const step *st, scene_call *c)
{
  const sketch *f = s->forest[c->forest].s;
  int64_t roots[MOST_RANKS], leaves[MOST_RANKS];
  int one = !!(st->flags & FLAG_ONE_ARRAY), lent = NOTHING;
  for (int i = 0; i < s->p->nranks; i++) {
    roots[i] = root_slots(f, c->kind, i);
    leaves[i] = f->part[i].nslots;
    c->shift[i] = one ? draw_shift(f, st, c->kind, i) : 0;
    if (one && roots[i] < c->shift[i] + leaves[i]) roots[i] = c->shift[i] + leaves[i];
  }
  c->array[ROLE_ROOT] = ROLES * id + ROLE_ROOT;
  c->array[ROLE_LEAF] = ROLES * id + (one ? ROLE_ROOT : ROLE_LEAF);
  c->array[ROLE_UPDATE] = NOTHING;
  if (c->kind == KIND_FETCH)
    c->array[ROLE_UPDATE] =
      st->flags & FLAG_IN_LEAF ? c->array[ROLE_LEAF] : ROLES * id + ROLE_UPDATE;
  role reads = kind_goes_to_roots(c->kind) ? ROLE_LEAF : ROLE_ROOT;
  if (st->nof > 1 && !one && !call_alters(c, c->array[reads]))
    lent = lent_array(s, c, st->of[1], reads == ROLE_LEAF ? leaves : roots);
  if (lent != NOTHING) c->array[reads] = lent;
  for (role k = 0; k < ROLES; k++)
    if (c->array[k] == ROLES * id + (int)k &&
        !add_array(s, c->array[k], c, st, k == ROLE_ROOT ? roots : leaves))
      return 0;
  return 1;
}

static int admit_call(scene *s, int id, const step *st)
{
  if (!forest_usable(s, st->of[0])) return 0;
  if ((st->flags & FLAG_ALLOC) && !has_handle(s)) return 0;
  scene_call c = {.made = 1, .context = s->now, .forest = st->of[0], .kind = (op_kind)st->way};
  c.u = program_unit(s->p, s->types, st->unit);
  c.r =
    s->p->plain ? unit_reduction(c.u, "SUM") : &c.u->reduction[st->reduction % c.u->nreductions];
  c.group = id;
  if (!lay_out(s, id, st, &c)) {
    memset(&s->array[ROLES * id], 0, ROLES * sizeof *s->array);
    return 0;
  }
  role reads = kind_goes_to_roots(c.kind) ? ROLE_LEAF : ROLE_ROOT;
  int lender = c.array[reads] / ROLES;
  c.rough = c.r->code == OP_SUM &&
            (s->array[c.array[ROLE_ROOT]].rough || s->array[c.array[ROLE_LEAF]].rough);
  s->call[id] = c;
  if (lender != id) join_groups(s, s->call[lender].group, id);
  s->collective[id] = !!(st->flags & FLAG_ALLOC);
  return 1;
}

static int array_in_use(const scene_array *a)
{
  return a->readers + a->writers > 0;
}

static int admit_dealloc(scene *s, int id, const step *st)
{
  const scene_call *c = &s->call[st->of[0]];
  int any = 0;
  if (!is_quiet(s) || !has_handle(s) || !c->made || c->context != s->now) return 0;
  for (role k = 0; k < ROLES; k++) {
    scene_array *a = &s->array[ROLES * st->of[0] + (int)k];
    if (!a->made || !a->allocated || a->gone) continue;
    a->gone = any = 1;
  }
  if (any) s->context[s->now].duties = 0;
  s->collective[id] = 1;
  return any;
}

/* ---- operations ---- */

static int call_usable(const scene *s, int id)
{
  const scene_call *c = &s->call[id];
  if (!c->made || c->context != s->now) return 0;
  for (role k = 0; k < ROLES; k++)
    if (c->array[k] != NOTHING && s->array[c->array[k]].gone) return 0;
  return 1;
}

/* Whether the options, as they are now, keep sums in their order where that counts. */
static int keeps_order(const scene *s, const scene_call *c)
{
  return !c->rough || c->kind != KIND_REDUCE || s->context[s->now].deterministic;
}

static int can_make(const scene *s, int id)
{
  const scene_call *c = &s->call[id];
  return call_usable(s, id) && forest_usable(s, c->forest) && keeps_order(s, c);
}

/* Old values are added up only as long as the sums stay exact. */
static int may_be_stale(const scene *s, const scene_call *c)
{
  return c->r->code != OP_PROD && c->stale < MOST_STALE &&
         s->forest[c->forest].edges <= MOST_EDGES_STALE;
}

/* By parts: what is sent has other values until it is marked. */
static int can_start(const scene *s, int id, int fresh, int by_parts)
{
  const scene_call *c = &s->call[id];
  if (!call_usable(s, id) || (!fresh && !may_be_stale(s, c))) return 0;
  for (role k = 0; k < ROLES; k++) {
    if (c->array[k] == NOTHING) continue;
    const scene_array *a = &s->array[c->array[k]];
    int own = c->array[k] / ROLES == id;
    int alters = call_alters(c, c->array[k]) || (fresh && own) || by_parts;
    if (alters ? array_in_use(a) : a->writers > 0) return 0;
  }
  return 1;
}

/* The call's arrays are in use, or not any more. */
static void occupy(scene *s, int id, int change, int by_parts)
{
  const scene_call *c = &s->call[id];
  for (role k = 0; k < ROLES; k++) {
    if (c->array[k] == NOTHING || (k > 0 && c->array[k] == c->array[k - 1])) continue;
    scene_array *a = &s->array[c->array[k]];
    if (call_alters(c, c->array[k]) || by_parts)
      a->writers += change;
    else
      a->readers += change;
  }
}

static int has_parts(const scene *s, const scene_op *op)
{
  return !op->begun && !op->bundle && s->call[op->call[0]].kind != KIND_FETCH;
}

static int can_start_all(const scene *s, const scene_op *op, unsigned flags)
{
  int fresh = !!(flags & FLAG_FRESH), by_parts = !!(flags & FLAG_PARTS);
  if (by_parts && !has_parts(s, op)) return 0;
  for (int i = 0; i < op->ncalls; i++)
    if (!can_start(s, op->call[i], fresh, by_parts)) return 0;
  return 1;
}

static void start(scene *s, scene_op *op, int id, unsigned flags)
{
  int fresh = !!(flags & FLAG_FRESH);
  op->by_parts = op->unmarked = !!(flags & FLAG_PARTS);
  for (int i = 0; i < op->ncalls; i++) {
    scene_call *c = &s->call[op->call[i]];
    c->stale = fresh ? 0 : c->stale + 1;
    occupy(s, op->call[i], 1, op->by_parts);
  }
  op->state = OP_ACTIVE;
  op->starts++;
  op->last_start = id;
}

static void stop(scene *s, scene_op *op, op_state state)
{
  for (int i = 0; i < op->ncalls; i++) occupy(s, op->call[i], -1, op->by_parts);
  op->state = state;
  op->unmarked = 0;
}

static int op_is(const scene *s, int id, op_state state)
{
  return s->op[id].state == state && s->op[id].context == s->now;
}

int scene_call_is_ready(const scene *s, int id)
{
  return can_make(s, id) && can_start(s, id, 1, 0);
}

int scene_op_is_ready(const scene *s, int id)
{
  return op_is(s, id, OP_IDLE) && can_start_all(s, &s->op[id], FLAG_FRESH);
}

int scene_op_has_parts(const scene *s, int id)
{
  return has_parts(s, &s->op[id]);
}

/* Without calls yet, and made with the options as they are now. */
static scene_op new_op(const scene *s)
{
  const scene_context *c = &s->context[s->now];
  int serves = serves_routes(c->off_node), chosen = strcmp(c->route, "auto") != 0;
  scene_op op = {.state = OP_IDLE, .context = s->now, .last_start = NOTHING};
  op.route = !serves ? "standard" : chosen ? c->route : NULL;
  op.off_node = c->off_node;
  op.on_node = strcmp(c->on_node, "mpi") == 0 ? "mpi" : NULL; /* or there is no memory */
  return op;
}

static scene_op op_of(const scene *s, int call)
{
  scene_op op = new_op(s);
  op.ncalls = 1;
  op.call[0] = call;
  return op;
}

static int admit_init(scene *s, int id, const step *st)
{
  if (!can_make(s, st->of[0])) return 0;
  s->op[id] = op_of(s, st->of[0]);
  s->collective[id] = 1;
  return 1;
}

int scene_calls_clash(const scene *s, int first, int second)
{
  const scene_call *a = &s->call[first], *b = &s->call[second];
  for (role k = 0; k < ROLES; k++)
    for (role l = 0; l < ROLES; l++)
      if (a->array[k] != NOTHING && a->array[k] == b->array[l] &&
          (call_alters(a, a->array[k]) || call_alters(b, b->array[l])))
        return 1;
  return 0;
}

static int admit_bundle(scene *s, int id, const step *st)
{
  if (s->now == NOTHING) return 0;
  scene_op bundle = new_op(s);
  bundle.bundle = 1;
  for (int i = 0; i < st->nof; i++) {
    if (!op_is(s, st->of[i], OP_IDLE) || s->op[st->of[i]].ncalls != 1) return 0;
    int call = s->op[st->of[i]].call[0];
    if (!keeps_order(s, &s->call[call]) || !can_start(s, call, 1, 0)) return 0;
    for (int k = 0; k < i; k++)
      if (scene_calls_clash(s, call, bundle.call[k])) return 0;
    bundle.call[bundle.ncalls++] = call;
  }
  for (int i = 1; i < bundle.ncalls; i++)
    join_groups(s, s->call[bundle.call[0]].group, s->call[bundle.call[i]].group);
  s->op[id] = bundle;
  s->collective[id] = bundle.ncalls > 0;
  return 1;
}

static int admit_start(scene *s, int id, const step *st)
{
  scene_op *op = &s->op[st->of[0]];
  if (!op_is(s, st->of[0], OP_IDLE) || !can_start_all(s, op, st->flags)) return 0;
  start(s, op, id, st->flags);
  return 1;
}

static int admit_mark(scene *s, int id, const step *st)
{
  scene_op *op = &s->op[st->of[0]];
  if (!op_is(s, st->of[0], OP_ACTIVE) || !op->unmarked) return 0;
  s->start_of[id] = op->last_start;
  op->unmarked = st->detail;
  return 1;
}

static int admit_ask(scene *s, int id, const step *st)
{
  const scene_op *op = &s->op[st->of[0]];
  if (!op_is(s, st->of[0], OP_ACTIVE) || !has_parts(s, op)) return 0;
  s->start_of[id] = op->last_start;
  return 1;
}

static int64_t work_of(const scene *s, const scene_op *op)
{
  int64_t work = 0;
  for (int i = 0; i < op->ncalls; i++) {
    const scene_call *c = &s->call[op->call[i]];
    for (role k = 0; k < ROLES; k++)
      for (int j = 0; c->array[k] != NOTHING && j < s->p->nranks; j++)
        work += s->array[c->array[k]].nslots[j] * (1 + c->u->npieces);
  }
  return work;
}

static int admit_rounds(scene *s, int id, const step *st)
{
  scene_op *op = &s->op[st->of[0]];
  if (!op_is(s, st->of[0], OP_IDLE) || !can_start_all(s, op, st->flags)) return 0;
  if (st->way * work_of(s, op) > MOST_WORK) return 0;
  start(s, op, id, st->flags);
  stop(s, op, OP_IDLE);
  op->starts += st->way - 1;
  return 1;
}

/* Whether this is the first of its kind, as far as the program can know; it is then collective. */
static int is_first(scene *s, int call)
{
  const scene_call *c = &s->call[call];
  begin_kind k = {c->forest, s->context[s->now].generation, c->kind, c->u, c->r->op};
  for (int i = 0; i < s->nkinds; i++) {
    const begin_kind *known = &s->kind[i];
    if (known->forest == k.forest && known->generation == k.generation && known->kind == k.kind &&
        known->u == k.u && known->op == k.op)
      return 0;
  }
  s->kind[s->nkinds++] = k;
  return 1;
}

/* Calls of one kind are matched in their order: let one thread make them. */
static void join_begun(scene *s, int call)
{
  for (int i = 0; i < MOST_STEPS; i++)
    if (s->call[i].made && s->call[i].forest == s->call[call].forest)
      join_groups(s, s->call[call].group, s->call[i].group);
}

static int admit_begin(scene *s, int id, const step *st)
{
  int fresh = st->flags & FLAG_FRESH;
  if (!can_make(s, st->of[0]) || !can_start(s, st->of[0], fresh, 0)) return 0;
  s->collective[id] = is_first(s, st->of[0]);
  join_begun(s, st->of[0]);
  s->op[id] = op_of(s, st->of[0]);
  s->op[id].begun = 1;
  start(s, &s->op[id], id, st->flags);
  if (st->kind == STEP_BLOCK) stop(s, &s->op[id], OP_GONE);
  return 1;
}

static int admit_complete(scene *s, int id, const step *st)
{
  scene_op *op = &s->op[st->of[0]];
  if (!op_is(s, st->of[0], OP_ACTIVE) || op->unmarked) return 0;
  s->start_of[id] = op->last_start;
  stop(s, op, op->begun ? OP_GONE : OP_IDLE);
  return 1;
}

static void retire_arrays(scene *s, const scene_op *op)
{
  for (int i = 0; i < op->ncalls; i++)
    for (role k = 0; k < ROLES; k++) {
      int number = s->call[op->call[i]].array[k];
      if (number != NOTHING) s->array[number].gone = 1;
    }
}

/* What is not marked never leaves: nobody may wait for it. */
static int admit_abandon(scene *s, int id, const step *st)
{
  scene_op *op = &s->op[st->of[0]];
  if (!op_is(s, st->of[0], OP_ACTIVE) || !has_handle(s)) return 0;
  if (op->unmarked && st->detail != 0) return 0;
  s->start_of[id] = op->last_start;
  stop(s, op, OP_GONE);
  retire_arrays(s, op);
  s->context[s->now].duties = 1;
  return 1;
}

static int admit_desert(scene *s, int id, const step *st)
{
  scene_op *op = &s->op[st->of[0]];
  (void)id;
  unsigned flags = FLAG_FRESH | st->flags;
  if (!op_is(s, st->of[0], OP_IDLE) || !has_handle(s) || !can_start_all(s, op, flags)) return 0;
  op->state = OP_GONE;
  retire_arrays(s, op);
  s->context[s->now].duties = 1;
  return 1;
}

static int admit_report(scene *s, int id, const step *st)
{
  (void)id;
  return op_is(s, st->of[0], OP_IDLE);
}

/* Members of a bundle that is under way stay. */
static int admit_free_op(scene *s, int id, const step *st)
{
  scene_op *op = &s->op[st->of[0]];
  (void)id;
  if (!op_is(s, st->of[0], OP_IDLE)) return 0;
  for (int i = 0; i < s->p->nsteps; i++)
    for (int k = 0; s->op[i].state == OP_ACTIVE && k < s->op[i].ncalls; k++)
      if (op->ncalls > 0 && s->op[i].call[k] == op->call[0]) return 0;
  op->state = OP_GONE;
  return 1;
}

/* ---- threads ---- */

static int admit_threads(scene *s, int id, const step *st)
{
  (void)st;
  if (!s->p->threads || s->region != NOTHING || s->now == NOTHING) return 0;
  s->region = id;
  return 1;
}

static int admit_join(scene *s, int id, const step *st)
{
  (void)id;
  (void)st;
  if (s->region == NOTHING) return 0;
  s->region = NOTHING;
  return 1;
}

/* ---- the whole ---- */

int scene_admit(scene *s, int id)
{
  static int (*const admit[STEP_KINDS])(scene *, int, const step *) = {
    [STEP_CONTEXT] = admit_context,
    [STEP_SWITCH] = admit_switch,
    [STEP_SET] = admit_set,
    [STEP_MACHINE] = admit_machine,
    [STEP_FOREST] = admit_forest,
    [STEP_DERIVE] = admit_derive,
    [STEP_QUERY] = admit_query,
    [STEP_EXPLAIN] = admit_query,
    [STEP_CALL] = admit_call,
    [STEP_INIT] = admit_init,
    [STEP_BUNDLE] = admit_bundle,
    [STEP_START] = admit_start,
    [STEP_MARK] = admit_mark,
    [STEP_ASK] = admit_ask,
    [STEP_BEGIN] = admit_begin,
    [STEP_COMPLETE] = admit_complete,
    [STEP_BLOCK] = admit_begin,
    [STEP_ROUNDS] = admit_rounds,
    [STEP_REPORT] = admit_report,
    [STEP_ABANDON] = admit_abandon,
    [STEP_DESERT] = admit_desert,
    [STEP_FREE_OP] = admit_free_op,
    [STEP_FREE_FOREST] = admit_free_forest,
    [STEP_FREE_CONTEXT] = admit_free_context,
    [STEP_DEALLOC] = admit_dealloc,
    [STEP_THREADS] = admit_threads,
    [STEP_JOIN] = admit_join,
  };
  const step *st = &s->p->step[id];
  return admit[st->kind](s, id, st);
}

/* What is left under way is completed by no step: that start goes too. */
scene *scene_build(program *p, const units *types)
{
  for (;;) {
    scene *s = scene_create(p, types);
    int again = 0;
    for (int i = 0; i < p->nsteps; i++)
      if (!p->step[i].gone) p->step[i].gone = !scene_admit(s, i);
    for (int i = 0; i < p->nsteps; i++)
      if (s->op[i].state == OP_ACTIVE) {
        p->step[s->op[i].last_start].gone = 1;
        again = 1;
      }
    if (s->region != NOTHING) p->step[s->region].gone = again = 1;
    if (!again) return s;
    scene_free(s);
  }
}

const int *step_calls(const scene *s, int id, int *n)
{
  const step *st = &s->p->step[id];
  const scene_op *op = NULL;
  switch (st->kind) {
  case STEP_INIT:
  case STEP_BUNDLE:
  case STEP_BEGIN:
  case STEP_BLOCK: op = &s->op[id]; break;
  case STEP_START:
  case STEP_MARK:
  case STEP_ASK:
  case STEP_COMPLETE:
  case STEP_ROUNDS:
  case STEP_REPORT:
  case STEP_ABANDON:
  case STEP_DESERT:
  case STEP_FREE_OP: op = &s->op[st->of[0]]; break;
  default: *n = 0; return NULL;
  }
  *n = op->ncalls;
  return op->call;
}
