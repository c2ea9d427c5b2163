/* The list in words. */
#include "program.h"

/* "in another memory: roots of 0 2, leaves of 1" */
static void print_behind(FILE *file, const scene *s, int id)
{
  static const char *const name[ROLES] = {"roots", "leaves", "updates"};
  const char *before = s->p->other == OTHER_DEVICE ? ", on devices: " : ", in another memory: ";
  for (role k = 0; k < ROLES; k++) {
    unsigned behind = s->array[ROLES * id + (int)k].behind;
    if (behind == 0) continue;
    fprintf(file, "%s%s of", before, name[k]);
    for (int i = 0; i < s->p->nranks; i++)
      if (behind >> i & 1) fprintf(file, " %d", i);
    before = ", ";
  }
}

static void print_call(FILE *file, const scene *s, int id, const step *st)
{
  const scene_call *c = &s->call[id];
  fprintf(file, "arguments: %s of %s", kind_name(c->kind), c->u->name);
  if (!kind_is_multi(c->kind)) fprintf(file, " with %s", c->r->name);
  fprintf(file, " on forest %d", c->forest);
  if (st->flags & FLAG_ONE_ARRAY) fprintf(file, ", roots and leaves in one array");
  if (c->kind == KIND_FETCH && (st->flags & FLAG_IN_LEAF)) fprintf(file, ", updates in the leaves");
  for (role k = 0; k < ROLES; k++)
    if (c->array[k] != NOTHING && c->array[k] / ROLES != id)
      fprintf(file, ", reads the array of %d", c->array[k] / ROLES);
  if (st->flags & FLAG_ALLOC) fprintf(file, ", from grove_alloc");
  if (st->flags & FLAG_BEHIND) print_behind(file, s, id);
  if (c->rough) fprintf(file, ", sums depend on their order");
}

static void print_ranks(FILE *file, const program *p, const step *st)
{
  for (int i = 0; i < p->nranks; i++)
    if (step_chooses(st, i)) fprintf(file, " %d", i);
}

static void print_by_parts(FILE *file, const program *p, const step *st)
{
  if (!(st->flags & FLAG_PARTS)) return;
  fprintf(file, ", by parts on ranks");
  for (int i = 0; i < p->nranks; i++)
    if (step_starts_by_parts(st, i)) fprintf(file, " %d", i);
}

static void print_list(FILE *file, const step *st)
{
  for (int i = 0; i < st->nof; i++) fprintf(file, "%s%d", i > 0 ? ", " : "", st->of[i]);
}

static const char *new_values(const step *st)
{
  return st->flags & FLAG_FRESH ? ", with new values" : ", with the values that are there";
}

static void print_forest(FILE *file, const scene *s, int id, const step *st)
{
  static const char *const way[SOURCES] = {"by a list", "by numbers", "by pattern"};
  fprintf(file, "forest: %s, %s", source_name(st), way[st->way]);
  if (st->nof > 0) fprintf(file, ", with as many roots as %d", st->of[0]);
  if (st->flags & FLAG_BAD_FIRST) fprintf(file, ", after a wrong graph");
  fprintf(file, "; %lld edges", (long long)s->forest[id].edges);
}

void step_print(FILE *file, const scene *s, int id)
{
  const step *st = &s->p->step[id];
  char text[OPTION_TEXT];
  int of = st->of[0];
  switch (st->kind) {
  case STEP_CONTEXT: fprintf(file, "context"); break;
  case STEP_SWITCH: fprintf(file, "turn to context %d", of); break;
  case STEP_SET:
    fprintf(file, "option %s=%s", option_name(st->way), option_value(s->p, st, text));
    break;
  case STEP_MACHINE:
    fprintf(file, "machine %s", machine_name(st) != NULL ? machine_name(st) : "of the option");
    break;
  case STEP_FOREST: print_forest(file, s, id, st); break;
  case STEP_DERIVE:
    fprintf(file, "forest: %s of ", derivation_name(st));
    print_list(file, st);
    fprintf(file, "; %lld edges", (long long)s->forest[id].edges);
    break;
  case STEP_QUERY: fprintf(file, "queries of forest %d", of); break;
  case STEP_EXPLAIN: fprintf(file, "explain forest %d", of); break;
  case STEP_CALL: print_call(file, s, id, st); break;
  case STEP_INIT: fprintf(file, "operation: init %d", of); break;
  case STEP_BUNDLE:
    fprintf(file, "operation: bundle of ");
    print_list(file, st);
    break;
  case STEP_START:
    fprintf(file, "start %d%s", of, new_values(st));
    print_by_parts(file, s->p, st);
    break;
  case STEP_MARK: fprintf(file, "mark %s of %d", st->detail ? "some" : "all", of); break;
  case STEP_ASK: fprintf(file, "ask what has come of %d", of); break;
  case STEP_BEGIN: fprintf(file, "operation: begin %d%s", of, new_values(st)); break;
  case STEP_COMPLETE: fprintf(file, "complete %d", of); break;
  case STEP_BLOCK: fprintf(file, "blocking call of %d%s", of, new_values(st)); break;
  case STEP_ROUNDS:
    fprintf(file, "%d rounds of %d", st->way, of);
    print_by_parts(file, s->p, st);
    break;
  case STEP_REPORT: fprintf(file, "report of %d", of); break;
  case STEP_ABANDON:
    fprintf(file, "%d is freed while active by ranks", of);
    print_ranks(file, s->p, st);
    fprintf(file, ", completed by others");
    break;
  case STEP_DESERT:
    fprintf(file, "%d is started and freed by ranks", of);
    print_ranks(file, s->p, st);
    fprintf(file, ", only freed by others");
    print_by_parts(file, s->p, st);
    break;
  case STEP_FREE_OP: fprintf(file, "free operation %d", of); break;
  case STEP_FREE_FOREST: fprintf(file, "free forest %d", of); break;
  case STEP_FREE_CONTEXT: fprintf(file, "free the context"); break;
  case STEP_DEALLOC: fprintf(file, "give back the arrays of %d", of); break;
  case STEP_THREADS: fprintf(file, "%d threads", st->way); break;
  default: fprintf(file, "threads join"); break;
  }
}

void program_print(FILE *file, const scene *s)
{
  const program *p = s->p;
  fprintf(file, "program %lld: %d rank%s", (long long)p->number, p->nranks,
          p->nranks == 1 ? "" : "s");
  if (p->nranks < p->drawn_for) fprintf(file, " of %d", p->drawn_for);
  fprintf(file, "%s%s\n", p->reversed ? ", in reverse order" : "",
          p->threads ? ", MPI_THREAD_MULTIPLE" : "");
  for (int id = 0; id < p->nsteps; id++) {
    if (p->step[id].gone) continue;
    fprintf(file, "%5d  ", id);
    if (step_thread(s, id) > 0) fprintf(file, "[thread %d] ", step_thread(s, id));
    step_print(file, s, id);
    fputc('\n', file);
  }
  for (int rank = 0; rank < p->nranks && p->mixing > 0; rank++) {
    int order[MOST_STEPS], n = schedule(s, rank, order);
    fprintf(file, "rank %d:", rank);
    for (int k = 0; k < n; k++) fprintf(file, " %d", order[k]);
    fputc('\n', file);
  }
}
