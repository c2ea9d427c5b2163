/* The checker of order: it finds what is planted, and in random programs exactly what an oracle
 * finds that knows all that came before each step. Programs in order also compute what they would
 * one step after the other. */
#include "random.h"
#include "rig.h"

enum { CELLS = 12, CELL = 64, STREAMS = 4, EVENTS = 3, STEPS = 60 };

/* ---- planted ---- */

static void must_tell(const char *first, const char *second)
{
  char sentence[1024];
  grove_emulated_conflict(sentence, sizeof sentence);
  CHECK(grove_emulated_conflicts() > 0, "not found");
  CHECK(strstr(sentence, first) && strstr(sentence, second), "'%s' lacks '%s' or '%s'", sentence,
        first, second);
  CHECK_STATUS(driver->finish(0, NULL), GROVE_ERR_DEVICE);
  CHECK(strcmp(grove_last_error(), sentence) == 0, "the call says '%s'", grove_last_error());
  grove_emulated_forget_conflicts();
  CHECK_OK(driver->finish(0, NULL));
}

static void must_be_silent(void)
{
  char sentence[1024];
  grove_emulated_conflict(sentence, sizeof sentence);
  CHECK(grove_emulated_conflicts() == 0, "'%s'", sentence);
}

static void planted_between_streams(void)
{
  grove_stream *one = new_stream(), *two = new_stream();
  char *a = new_device(1000), *b = new_device(1000), *c = new_device(1000);
  CHECK_OK(driver->copy(0, one, a, b, 100));
  CHECK_OK(driver->copy(0, two, c, b, 100)); /* both read it */
  CHECK_OK(driver->copy(0, two, a + 100, c, 100));
  must_be_silent();
  CHECK_OK(driver->copy(0, two, c, a + 99, 1));
  must_tell("copy 1 of stream", "reads 1 bytes");
  CHECK_OK(launch_add(one, a, b, 4));
  CHECK_OK(driver->copy(0, two, b + 15, c, 1));
  must_tell("launch", "16 bytes");
  driver->free_stream(0, one);
  driver->free_stream(0, two);
  driver->free(0, a);
  driver->free(0, b);
  driver->free(0, c);
}

/* Until it has waited the host may not touch what is copied. */
static void planted_on_the_host(void)
{
  grove_stream *stream = new_stream();
  char *host = new_pinned(100), *memory = new_device(100);
  uint32_t *word = new_pinned(sizeof *word);
  grove_emulated_set_strict(1);
  for (uint32_t how = 1; how <= 2; how++) {
    CHECK_OK(driver->copy(0, stream, host, memory, 50));
    CHECK_OK(driver->write(0, stream, word, how));
    grove_emulated_host_reads(host + 50, 50);
    must_be_silent();
    grove_emulated_host_saw(word, how - 1);
    grove_emulated_host_reads(host + 10, 20);
    must_tell("the host reads 20 bytes", "copy");
    CHECK_OK(driver->copy(0, stream, memory, host, 50));
    grove_emulated_host_reads(host, 50);
    must_be_silent();
    grove_emulated_host_writes(host, 50);
    must_tell("the host writes", "reads 50 bytes");
    CHECK_OK(driver->copy(0, stream, host, memory, 50));
    CHECK_OK(driver->write(0, stream, word, how));
    if (how == 1) CHECK_OK(driver->finish(0, stream));
    if (how == 2) grove_emulated_host_saw(word, how);
    grove_emulated_host_writes(host, 100);
    must_be_silent();
  }
  grove_emulated_set_strict(0);
  CHECK_OK(driver->finish(0, stream));
  driver->free_stream(0, stream);
  driver->free(0, memory);
  free_pinned(word);
  free_pinned(host);
}

/* What a word made known is known on every stream; but only what came before the word. */
static void words_let_the_host_know(void)
{
  grove_stream *one = new_stream(), *two = new_stream();
  char *memory = new_device(100), *other = new_device(100);
  uint32_t *word = new_pinned(sizeof *word);
  CHECK_OK(driver->copy(0, one, memory, other, 100));
  CHECK_OK(driver->write(0, one, word, 1));
  while (look(word) != 1) linger(1e-5);
  CHECK_OK(driver->copy(0, two, memory, other, 100));
  must_be_silent();
  CHECK_OK(driver->copy(0, one, other, memory, 100));
  must_tell("writes 100 bytes", "reads 100 bytes");
  driver->free_stream(0, one);
  driver->free_stream(0, two);
  driver->free(0, memory);
  driver->free(0, other);
  free_pinned(word);
}

/* Memory that goes while something enqueued uses it. */
static void planted_in_free(void)
{
  grove_stream *stream = new_stream();
  uint32_t *word = new_pinned(sizeof *word);
  char *memory = new_device(100), *other = new_device(100);
  CHECK_OK(driver->await(0, stream, word, 1));
  CHECK_OK(driver->copy(0, stream, memory, other, 100));
  CHECK(grove_emulated_conflicts() == 0, "too early");
  __atomic_store_n(word, 0, __ATOMIC_RELEASE);
  driver->unpin(word); /* the await looks at it; the memory itself stays */
  CHECK(grove_emulated_conflicts() == 1, "not found");
  driver->free(0, other);
  CHECK(grove_emulated_conflicts() == 2, "not found");
  grove_emulated_forget_conflicts();
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  CHECK_OK(driver->finish(0, stream));
  driver->free(0, memory);
  driver->free(0, other);
  must_be_silent();
  driver->free_stream(0, stream);
  free(word);
}

/* Memory that was freed, and an address that is given out again, are no conflict. */
static void addresses_again(void)
{
  grove_stream *one = new_stream(), *two = new_stream();
  char *other = new_device(100);
  uint32_t *word = new_pinned(sizeof *word);
  grove_emulated_set_strict(1);
  for (uint32_t i = 1; i < 10; i++) {
    grove_stream *stream = i % 2 ? one : two;
    char *memory = new_device(100);
    CHECK_OK(driver->copy(0, stream, memory, other, 100));
    CHECK_OK(driver->write(0, stream, word, i));
    while (look(word) != i) linger(1e-5);
    driver->free(0, memory);
    must_be_silent();
  }
  grove_emulated_set_strict(0);
  CHECK_OK(driver->finish(0, NULL));
  driver->free_stream(0, one);
  driver->free_stream(0, two);
  driver->free(0, other);
  free_pinned(word);
}

/* ---- random programs ---- */

typedef enum step_kind { COPY, RECORD, AFTER, FINISH } step_kind;

typedef struct step {
  step_kind kind;
  int stream; /* 0: the default one */
  int event;
  int to, from, cells;
} step;

typedef struct program {
  step steps[STEPS];
  int count;
} program;

/* Who came before whom, by sets of the steps themselves. */
typedef struct oracle {
  uint64_t stream[STREAMS], event[EVENTS], host;
  uint64_t before[STEPS];
  int conflict;
} oracle;

static int touch(int a, int acells, int b, int bcells)
{
  return a < b + bcells && b < a + acells;
}

static int in_conflict(const step *a, const step *b)
{
  return a->kind == COPY && b->kind == COPY &&
         (touch(a->to, a->cells, b->to, b->cells) || touch(a->to, a->cells, b->from, b->cells) ||
          touch(a->from, a->cells, b->to, b->cells));
}

/* What is before a step, by its stream and by the host. */
static uint64_t known_to(const oracle *o, const step *s)
{
  uint64_t known = o->stream[s->stream] | o->stream[0] | o->host;
  for (int i = 0; s->stream == 0 && i < STREAMS; i++) known |= o->stream[i];
  if (s->kind == AFTER) known |= o->event[s->event];
  return known;
}

/* An earlier step that this one is in conflict with; -1: none. */
static int unordered_with(const oracle *o, const program *p, const step *s, int skip)
{
  uint64_t known = known_to(o, s);
  for (int i = 0; i < p->count && &p->steps[i] != s; i++)
    if (i != skip && in_conflict(&p->steps[i], s) && !(known >> i & 1)) return i;
  return -1;
}

static void foresee(oracle *o, const program *p, int i, int skip)
{
  const step *s = &p->steps[i];
  uint64_t known = known_to(o, s);
  if (unordered_with(o, p, s, skip) >= 0) o->conflict = 1;
  if (s->kind == AFTER && o->event[s->event] == 0) return; /* never recorded: it is nothing */
  if (s->kind == FINISH) {
    o->host |= o->stream[s->stream];
    for (int j = 0; s->stream == 0 && j < STREAMS; j++) o->host |= o->stream[j];
    return;
  }
  o->stream[s->stream] = known | (uint64_t)1 << i;
  if (s->kind == RECORD) o->event[s->event] = o->stream[s->stream];
}

static step draw_step(rng *r)
{
  int64_t luck = rng_below(r, 10);
  step s = {.kind = luck < 6 ? COPY : luck < 8 ? RECORD : luck < 9 ? AFTER : FINISH};
  s.stream = rng_one_in(r, 10) ? 0 : (int)rng_between(r, 1, STREAMS - 1);
  s.event = (int)rng_below(r, EVENTS);
  s.cells = (int)rng_between(r, 1, 2);
  do {
    s.to = (int)rng_below(r, CELLS - s.cells + 1);
    s.from = (int)rng_below(r, CELLS - s.cells + 1);
  } while (touch(s.to, s.cells, s.from, s.cells));
  return s;
}

static void add_step(program *p, oracle *o, step s)
{
  p->steps[p->count++] = s;
  foresee(o, p, p->count - 1, -1);
}

/* With order: an event stands between a step and what it would be in conflict with. */
static program draw_program(rng *r, int ordered)
{
  program p = {.count = 0};
  oracle o = {.conflict = 0};
  while (p.count < STEPS) {
    step s = draw_step(r);
    for (int other; ordered && (other = unordered_with(&o, &p, &s, -1)) >= 0;) {
      if (p.count + 3 > STEPS) return p;
      int event = (int)rng_below(r, EVENTS);
      add_step(&p, &o, (step){.kind = RECORD, .stream = p.steps[other].stream, .event = event});
      add_step(&p, &o, (step){.kind = AFTER, .stream = s.stream, .event = event});
    }
    add_step(&p, &o, s);
  }
  return p;
}

typedef struct stage {
  char *memory;
  grove_stream *streams[STREAMS]; /* the first is the default one */
  grove_event *events[EVENTS];
} stage;

static void start_values(char cells[CELLS * CELL])
{
  for (int i = 0; i < CELLS * CELL; i++) cells[i] = (char)(i / CELL + 1);
}

static stage open_stage(void)
{
  char cells[CELLS * CELL];
  stage t = {.memory = new_device(CELLS * CELL)};
  start_values(cells);
  CHECK_OK(driver->copy(0, NULL, t.memory, cells, sizeof cells));
  for (int i = 1; i < STREAMS; i++) t.streams[i] = new_stream();
  for (int i = 0; i < EVENTS; i++) t.events[i] = new_event();
  return t;
}

static void close_stage(stage *t)
{
  CHECK_OK(driver->finish(0, NULL));
  for (int i = 1; i < STREAMS; i++) driver->free_stream(0, t->streams[i]);
  for (int i = 0; i < EVENTS; i++) driver->free_event(t->events[i]);
  driver->free(0, t->memory);
}

static void do_step(const stage *t, const step *s)
{
  grove_stream *stream = t->streams[s->stream];
  if (s->kind == COPY)
    CHECK_OK(driver->copy(0, stream, t->memory + s->to * CELL, t->memory + s->from * CELL,
                          s->cells * CELL));
  if (s->kind == RECORD) CHECK_OK(driver->record(0, t->events[s->event], stream));
  if (s->kind == AFTER) CHECK_OK(driver->after(0, stream, t->events[s->event]));
  if (s->kind == FINISH) CHECK_OK(driver->finish(0, stream));
}

static void check_values(const stage *t, const program *p)
{
  char expected[CELLS * CELL], got[CELLS * CELL];
  start_values(expected);
  for (const step *s = p->steps; s < p->steps + p->count; s++)
    if (s->kind == COPY)
      memcpy(expected + s->to * CELL, expected + s->from * CELL, (size_t)s->cells * CELL);
  CHECK_OK(driver->copy(0, NULL, got, t->memory, sizeof got));
  for (int i = 0; i < CELLS * CELL; i++)
    CHECK(got[i] == expected[i], "cell %d is %d, not %d", i / CELL, got[i], expected[i]);
}

/* Step by step, all but one: the checker knows of a conflict as soon as the oracle does. Returns
 * whether there was one. */
static int run_program(const program *p, int skip)
{
  stage t = open_stage();
  oracle o = {.conflict = 0};
  for (int i = 0; i < p->count && !o.conflict; i++) {
    if (i == skip) continue;
    do_step(&t, &p->steps[i]);
    foresee(&o, p, i, skip);
    char sentence[1024];
    grove_emulated_conflict(sentence, sizeof sentence);
    CHECK((grove_emulated_conflicts() > 0) == o.conflict, "step %d: %s '%s'", i,
          o.conflict ? "not found" : "not there:", sentence);
  }
  grove_emulated_forget_conflicts();
  if (!o.conflict && skip < 0) check_values(&t, p);
  close_stage(&t);
  return o.conflict;
}

static void random_programs(rng *r, int *found, int *dropped)
{
  program p = draw_program(r, 1);
  CHECK(!run_program(&p, -1), "a program in order is not");
  for (int i = 0; i < p.count; i++)
    if (p.steps[i].kind == AFTER && rng_one_in(r, 3)) *dropped += run_program(&p, i);
  p = draw_program(r, 0);
  *found += run_program(&p, -1);
}

/* Much more than it can keep: nothing is made up, and it does not take for ever. */
static void much_is_forgotten(void)
{
  enum { MUCH = 4000 };
  grove_stream *one = new_stream(), *two = new_stream();
  char *a = new_device(MUCH), *b = new_device(MUCH);
  grove_event *event = new_event();
  for (int i = 0; i < MUCH; i++) CHECK_OK(driver->copy(0, one, a + i, b + i, 1));
  CHECK_OK(driver->record(0, event, one));
  CHECK_OK(driver->after(0, two, event));
  CHECK_OK(driver->copy(0, two, b, a, MUCH));
  must_be_silent();
  CHECK_OK(driver->copy(0, one, a, b, 1));
  must_tell("4000 bytes", "1 bytes");
  driver->free_stream(0, one);
  driver->free_stream(0, two);
  driver->free_event(event);
  driver->free(0, a);
  driver->free(0, b);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/emulated_order");
  int found = 0, dropped = 0;
  grove_emulated_set_runner(add_one);
  planted_between_streams();
  planted_on_the_host();
  words_let_the_host_know();
  planted_in_free();
  addresses_again();
  much_is_forgotten();
  for (int i = 0; i < (int)test_samples(60); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    grove_emulated_set_temper(i % 4 ? GROVE_TEMPER_RANDOM : GROVE_TEMPER_EAGER, rng_next(&r));
    random_programs(&r, &found, &dropped);
  }
  CHECK(found > 0 && dropped > 0, "the programs are tame: %d, %d", found, dropped);
  grove_emulated_reset();
  return test_end();
}
