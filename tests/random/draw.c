/* Draws a program: kinds of steps by weight, each on what there is; what the scene does not admit
 * is drawn again. */
#include "program.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST = 15, MOST = 100, RESERVE = 30 }; /* steps; the rest is for completing what is left */

int64_t program_number(uint64_t seed, int threads, int nranks)
{
  return (int64_t)(seed % 1000000000) * 1000 + (threads ? 100 : 0) + nranks;
}

/* ---- units ---- */

/* All that tell one way of packing from another; every MPI has them. */
static const char *const unit_name[] = {
  "600 shorts",
  "MPI_INT64_T",
  "MPI_DOUBLE",
  "MPI_INT",
  "MPI_FLOAT",
  "MPI_UNSIGNED_CHAR",
  "MPI_SHORT",
  "MPI_UINT32_T",
  "MPI_C_DOUBLE_COMPLEX",
  "MPI_LONG_DOUBLE",
  "MPI_DOUBLE_INT",
  "MPI_SHORT_INT",
  "MPI_C_BOOL",
  "3 doubles",
  "nothing",
  "nothing in 8 bytes",
  "vector of ints with gaps",
  "int in 20 bytes",
  "floats out of order",
  "vector backwards",
  "double before its slot",
  "column of a matrix",
  "struct of char and double",
  "struct in 40 bytes",
  "2 structs",
  "affine map",
  "2x2 matrix",
  "affine map",
};
enum { UNITS = sizeof unit_name / sizeof *unit_name, LARGE_UNIT = 0 };

int program_units(void)
{
  return UNITS;
}

const unit *program_unit(const program *p, const units *types, int number)
{
  return units_find(types, p->plain ? "MPI_INT64_T" : unit_name[number]);
}

/* ---- choosing from what there is ---- */

typedef struct drawing {
  program *p;
  scene *s;
  rng r;
  int steps;     /* there are to be */
  int allocates; /* arrays by grove_alloc too */
  int unit[3];   /* that this program uses: one-shots of one kind are to meet */
} drawing;

/* A step of the program for which `fits` holds, or NOTHING. */
static int pick(drawing *d, int fits(const scene *s, int id))
{
  int found = NOTHING, n = 0;
  for (int i = 0; i < d->p->nsteps; i++)
    if (fits(d->s, i) && rng_one_in(&d->r, ++n)) found = i;
  return found;
}

/* The later, the likelier: what was made last has not been used much. */
static int pick_late(drawing *d, int fits(const scene *s, int id))
{
  int a = pick(d, fits), b = pick(d, fits);
  return a > b ? a : b;
}

static int is_context(const scene *s, int id)
{
  return s->context[id].made && id != s->now;
}
static int is_forest(const scene *s, int id)
{
  return s->forest[id].made && s->forest[id].handle && s->forest[id].context == s->now;
}
static int is_call(const scene *s, int id)
{
  return s->call[id].made && s->call[id].context == s->now;
}
static int is_idle(const scene *s, int id)
{
  return s->op[id].state == OP_IDLE && s->op[id].context == s->now;
}
static int is_single(const scene *s, int id)
{
  return s->op[id].ncalls == 1 && scene_op_is_ready(s, id);
}
static int is_ready_bundle(const scene *s, int id)
{
  return s->op[id].ncalls > 1 && scene_op_is_ready(s, id);
}
static int is_active_bundle(const scene *s, int id)
{
  return s->op[id].ncalls > 1 && s->op[id].state == OP_ACTIVE;
}
static int is_allocated(const scene *s, int id)
{
  return is_call(s, id) && (s->p->step[id].flags & FLAG_ALLOC);
}

/* Its plan, and perhaps an operation, is there. */
static int was_begun(const scene *s, int id)
{
  if (!scene_call_is_ready(s, id)) return 0;
  for (int i = 0; i < s->p->nsteps; i++)
    if (s->op[i].begun && s->op[i].call[0] == id) return 1;
  return 0;
}

/* A call that no persistent operation was made of. */
static int is_unused(const scene *s, int id)
{
  if (!scene_call_is_ready(s, id)) return 0;
  for (int i = 0; i < s->p->nsteps; i++)
    if (s->op[i].state == OP_IDLE && s->op[i].ncalls == 1 && s->op[i].call[0] == id) return 0;
  return 1;
}
static int is_active(const scene *s, int id)
{
  return s->op[id].state == OP_ACTIVE;
}
static int is_unmarked(const scene *s, int id)
{
  return is_active(s, id) && s->op[id].unmarked;
}
static int is_by_parts(const scene *s, int id)
{
  return is_active(s, id) && s->op[id].by_parts;
}
static int can_be_asked(const scene *s, int id)
{
  return is_active(s, id) && scene_op_has_parts(s, id);
}

/* Of the one sort if there is one, now and then; of the other as a rule. */
static int pick_either(drawing *d, int rare(const scene *s, int id),
                       int usual(const scene *s, int id))
{
  int found = rng_one_in(&d->r, 3) ? pick(d, rare) : NOTHING;
  return found != NOTHING ? found : pick_late(d, usual);
}

/* Puts it among those that the step works on; false if there is none. */
static int works_on(step *st, int id)
{
  if (id == NOTHING) return 0;
  st->of[st->nof++] = id;
  return 1;
}

/* ---- kinds of steps ---- */

static int draw_nothing(drawing *d, step *st)
{
  (void)d;
  (void)st;
  return 1;
}

static int draw_switch(drawing *d, step *st)
{
  return works_on(st, pick(d, is_context));
}

static int draw_set(drawing *d, step *st)
{
  st->way = (int)rng_below(&d->r, options_count());
  st->detail = (int)rng_below(&d->r, option_values(st->way));
  return 1;
}

static int draw_forest(drawing *d, step *st)
{
  static const source sources[] = {FROM_LIST, FROM_LIST, FROM_LIST, FROM_NUMBERS, FROM_PATTERN};
  st->way = sources[rng_below(&d->r, 5)];
  st->detail = (int)rng_below(&d->r, st->way == FROM_PATTERN ? 3 : GRAPH_KINDS);
  if (rng_one_in(&d->r, 10)) st->flags |= FLAG_BAD_FIRST;
  if (st->way != FROM_PATTERN && rng_one_in(&d->r, 3)) works_on(st, pick(d, is_forest));
  return 1;
}

static int draw_derive(drawing *d, step *st)
{
  st->way = (int)rng_below(&d->r, DERIVATIONS);
  int two =
    st->way == DERIVE_COMPOSE || st->way == DERIVE_COMPOSE_INVERSE || st->way == DERIVE_MERGE;
  int n = st->way == DERIVE_CONCATENATE ? (int)rng_between(&d->r, 1, 3) : two ? 2 : 1;
  st->detail = (int)rng_below(&d->r, 3);
  for (int k = 0; st->way < DERIVE_MATCH && k < n; k++)
    if (!works_on(st, pick(d, is_forest))) return 0;
  return 1;
}

static int draw_on_forest(drawing *d, step *st)
{
  return works_on(st, pick(d, is_forest));
}

static int draw_call(drawing *d, step *st)
{
  if (!works_on(st, pick_late(d, is_forest))) return 0;
  st->way = (int)rng_below(&d->r, OP_KINDS);
  st->unit = d->unit[rng_below(&d->r, 3)];
  const unit *u = program_unit(d->p, d->s->types, st->unit);
  st->reduction = (int)rng_below(&d->r, u->nreductions);
  if (u->reduction[u->nreductions - 1].function != NULL && rng_one_in(&d->r, 2))
    st->reduction = u->nreductions - 1; /* a user's operation */
  if (rng_one_in(&d->r, 5)) st->flags |= FLAG_ONE_ARRAY;
  if (rng_one_in(&d->r, 2)) st->flags |= FLAG_IN_LEAF;
  if (rng_one_in(&d->r, 2)) st->flags |= FLAG_NULLS;
  if (rng_one_in(&d->r, 2)) st->flags |= FLAG_ROUGH;
  if (d->allocates && rng_one_in(&d->r, 3)) st->flags |= FLAG_ALLOC;
  int apart = d->p->other == OTHER_DEVICE || (d->p->other && !(st->flags & FLAG_ALLOC));
  if (apart && mix2(st->seed, 3) % (d->p->other == OTHER_DEVICE ? 4 : 2)) st->flags |= FLAG_BEHIND;
  if (rng_one_in(&d->r, 3)) works_on(st, pick(d, is_call));
  return 1;
}

static int draw_init(drawing *d, step *st)
{
  return works_on(st, pick_late(d, rng_one_in(&d->r, 5) ? is_call : is_unused));
}

static int draw_begin(drawing *d, step *st)
{
  if (!rng_one_in(&d->r, 4)) st->flags |= FLAG_FRESH;
  int again = rng_one_in(&d->r, 2) ? pick(d, was_begun) : NOTHING;
  return works_on(st, again != NOTHING ? again : pick(d, scene_call_is_ready));
}

static int draw_dealloc(drawing *d, step *st)
{
  return works_on(st, pick(d, is_allocated));
}

static int clashes(const scene *s, const step *st, int op)
{
  for (int k = 0; k < st->nof; k++)
    if (scene_calls_clash(s, s->op[st->of[k]].call[0], s->op[op].call[0])) return 1;
  return 0;
}

/* Of several as a rule, of one or none now and then. */
static int draw_bundle(drawing *d, step *st)
{
  int n = rng_one_in(&d->r, 10) ? (int)rng_below(&d->r, 2) : (int)rng_between(&d->r, 2, MOST_OF);
  for (int tries = 0; tries < 3 * MOST_OF && st->nof < n; tries++) {
    int op = pick(d, is_single);
    if (op != NOTHING && !clashes(d->s, st, op)) works_on(st, op);
  }
  return n < 2 || st->nof >= 2;
}

static int draw_start(drawing *d, step *st)
{
  if (!rng_one_in(&d->r, 4)) st->flags |= FLAG_FRESH;
  if (!works_on(st, pick_either(d, is_ready_bundle, scene_op_is_ready))) return 0;
  if (scene_op_has_parts(d->s, st->of[0]) && rng_one_in(&d->r, 2)) st->flags |= FLAG_PARTS;
  return 1;
}

/* Some of what is not marked; or all of it. */
static int draw_mark(drawing *d, step *st)
{
  st->detail = !rng_one_in(&d->r, 3);
  return works_on(st, pick(d, is_unmarked));
}

static int draw_ask(drawing *d, step *st)
{
  return works_on(st, pick_either(d, can_be_asked, is_by_parts));
}

static int draw_on_idle(drawing *d, step *st)
{
  st->detail = 1; /* DESERT: some ranks */
  return works_on(st, pick(d, is_idle));
}

static int draw_desert(drawing *d, step *st)
{
  if (!draw_on_idle(d, st)) return 0;
  if (scene_op_has_parts(d->s, st->of[0]) && rng_one_in(&d->r, 2)) st->flags |= FLAG_PARTS;
  return 1;
}

static int draw_rounds(drawing *d, step *st)
{
  st->flags |= FLAG_FRESH;
  st->way = rng_one_in(&d->r, 3) ? (int)rng_between(&d->r, 85, 90) : (int)rng_between(&d->r, 2, 24);
  if (!works_on(st, pick(d, scene_op_is_ready))) return 0;
  if (scene_op_has_parts(d->s, st->of[0]) && rng_one_in(&d->r, 3)) st->flags |= FLAG_PARTS;
  return 1;
}

/* By some ranks, or by all. */
static int draw_on_active(drawing *d, step *st)
{
  st->detail = !rng_one_in(&d->r, 5);
  return works_on(st, pick_either(d, is_active_bundle, is_active));
}

static int draw_threads(drawing *d, step *st)
{
  st->way = (int)rng_between(&d->r, 2, 3);
  return 1;
}

/* Threads are to have something to do. */
static int draw_join(drawing *d, step *st)
{
  (void)st;
  return d->s->region != NOTHING && d->p->nsteps > d->s->region + 6;
}

/* Little can be made without it. */
static int draw_free_context(drawing *d, step *st)
{
  (void)st;
  return d->p->nsteps > d->steps / 2;
}

static const struct {
  int weight;
  int (*draw)(drawing *d, step *st);
} drawn[STEP_KINDS] = {
  [STEP_CONTEXT] = {2, draw_nothing},
  [STEP_SWITCH] = {4, draw_switch},
  [STEP_SET] = {10, draw_set},
  [STEP_MACHINE] = {1, draw_nothing},
  [STEP_FOREST] = {6, draw_forest},
  [STEP_DERIVE] = {8, draw_derive},
  [STEP_QUERY] = {4, draw_on_forest},
  [STEP_EXPLAIN] = {1, draw_on_forest},
  [STEP_CALL] = {22, draw_call},
  [STEP_INIT] = {36, draw_init},
  [STEP_BUNDLE] = {14, draw_bundle},
  [STEP_START] = {60, draw_start},
  [STEP_MARK] = {40, draw_mark},
  [STEP_ASK] = {12, draw_ask},
  [STEP_BEGIN] = {24, draw_begin},
  [STEP_COMPLETE] = {50, draw_on_active},
  [STEP_BLOCK] = {8, draw_begin},
  [STEP_ROUNDS] = {8, draw_rounds},
  [STEP_REPORT] = {4, draw_on_idle},
  [STEP_ABANDON] = {16, draw_on_active},
  [STEP_DESERT] = {2, draw_desert},
  [STEP_FREE_OP] = {6, draw_on_idle},
  [STEP_FREE_FOREST] = {3, draw_on_forest},
  [STEP_FREE_CONTEXT] = {20, draw_free_context},
  [STEP_DEALLOC] = {8, draw_dealloc},
  [STEP_THREADS] = {8, draw_threads},
  [STEP_JOIN] = {16, draw_join},
};

/* One more step of this kind, if one is drawn that is legal. */
static int add(drawing *d, step_kind kind)
{
  step *st = &d->p->step[d->p->nsteps];
  *st = (step){.kind = kind, .seed = rng_next(&d->r)};
  if (!drawn[kind].draw(d, st)) return 0;
  d->p->nsteps++; /* the scene looks at it by its number */
  if (scene_admit(d->s, d->p->nsteps - 1)) return 1;
  d->p->nsteps--;
  return 0;
}

static step_kind draw_kind(rng *r)
{
  int64_t total = 0;
  for (int k = 0; k < STEP_KINDS; k++) total += drawn[k].weight;
  int64_t at = rng_below(r, total);
  int k = 0;
  while (at >= drawn[k].weight) at -= drawn[k++].weight;
  return (step_kind)k;
}

/* This one, which is legal. */
static void put(drawing *d, step st)
{
  st.seed = rng_next(&d->r);
  d->p->step[d->p->nsteps++] = st;
  CHECK(scene_admit(d->s, d->p->nsteps - 1), "step %d should be legal", d->p->nsteps - 1);
}

/* What is under way is completed. */
static void put_ends(drawing *d)
{
  if (d->s->region != NOTHING) put(d, (step){.kind = STEP_JOIN});
  for (int i = 0; i < d->p->nsteps; i++)
    if (is_unmarked(d->s, i)) put(d, (step){.kind = STEP_MARK, .nof = 1, .of = {i}});
  for (int i = 0; i < d->p->nsteps; i++)
    if (is_active(d->s, i)) put(d, (step){.kind = STEP_COMPLETE, .nof = 1, .of = {i}});
}

static int count_active(const scene *s)
{
  int n = 0;
  for (int i = 0; i < s->p->nsteps; i++) n += is_active(s, i);
  return n;
}

/* Any value of this option. */
static void put_option(drawing *d, const char *name)
{
  step st = {.kind = STEP_SET};
  while (strcmp(option_name(st.way), name) != 0) st.way++;
  st.detail = (int)rng_below(&d->r, option_values(st.way));
  put(d, st);
}

/* A context, some options, a forest; then anything. */
static void add_steps(drawing *d)
{
  d->steps = (int)rng_between(&d->r, FEWEST, MOST);
  put(d, (step){.kind = STEP_CONTEXT});
  if (!rng_one_in(&d->r, 3)) put_option(d, "node_map");
  if (!rng_one_in(&d->r, 3)) put_option(d, "route");
  for (int64_t k = rng_below(&d->r, 4); k > 0; k--) add(d, STEP_SET);
  add(d, STEP_FOREST);
  add(d, STEP_CALL);
  for (int tries = 0; tries < 20 * MOST && d->p->nsteps < d->steps; tries++) {
    if (count_active(d->s) > RESERVE - 5) break;
    add(d, draw_kind(&d->r));
  }
  put_ends(d);
}

program *program_draw(int64_t number, const units *types)
{
  static const int mixings[] = {0, 4, 20, 60};
  static const other_memory others[] = {OTHER_DEVICE, OTHER_BEHIND, OTHER_DEVICE, OTHER_BEHIND,
                                        OTHER_DEVICE, OTHER_BEHIND, OTHER_NONE,   OTHER_BEHIND};
  program *p = calloc(1, sizeof *p);
  CHECK(p != NULL, "no memory for a program");
  p->number = number;
  p->nranks = p->drawn_for = (int)(number % 100);
  p->threads = number / 100 % 10 != 0;
  p->most_leaves = INT64_MAX;
  CHECK(p->nranks > 0 && p->nranks <= MOST_RANKS, "a program for %d ranks", p->nranks);
  p->other = others[mix2((uint64_t)number, 1) % 8];
  drawing d = {.p = p, .r = rng_from((uint64_t)number, 0)};
  p->reversed = rng_one_in(&d.r, 6);
  p->own_first = mix2((uint64_t)number, 2) % 4 == 0;
  p->mixing = mixings[rng_below(&d.r, 4)];
  for (int k = 0; k < 3; k++) d.unit[k] = (int)rng_below(&d.r, UNITS);
  if (rng_one_in(&d.r, 4)) d.unit[0] = LARGE_UNIT;
  d.allocates = rng_one_in(&d.r, 2);
  d.s = scene_create(p, types);
  add_steps(&d);
  scene_free(d.s);
  return p;
}
