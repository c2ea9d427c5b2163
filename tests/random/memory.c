#include "rig.h" /* first: units.h has names of arguments */

#include "memory.h"

#include "behind.h"
#include "check.h"
#include "grove_cuda.h"

#include <sched.h>

enum { DEVICES = 2, STREAMS = 4 };

/* An array of this rank that is on a device. */
typedef struct resident {
  int is_there, device;
  unsigned char *staging; /* pinned, as long as the array */
  uint32_t due;           /* the word, when new values are there */
  int is_taken;           /* a stream has copied to the staging what came */
} resident;

struct memories {
  grove_stream *stream[STREAMS]; /* number k is of device k % DEVICES */
  int of_context[MOST_STEPS];    /* numbers of streams, or NOTHING */
  int of_op[MOST_STEPS];         /* likewise, if one was chosen: */
  char is_chosen[MOST_STEPS];
  resident at[ROLES * MOST_STEPS];
  uint32_t word[ROLES * MOST_STEPS]; /* pinned: how often an array was filled by a stream */
};

static int has_device(const run *r)
{
  return r->p->other == OTHER_DEVICE;
}

static uint64_t own_lot(const run *r, uint64_t seed, int which)
{
  return mix2(seed + 11, (uint64_t)(MOST_RANKS * which + r->at.rank));
}

/* ---- before and behind ---- */

void memory_open(run *r)
{
  uint64_t lot = own_lot(r, (uint64_t)r->p->number, 0);
  r->memory = need(sizeof *r->memory);
  memset(r->memory, 0, sizeof *r->memory);
  for (int i = 0; i < MOST_STEPS; i++) r->memory->of_context[i] = r->memory->of_op[i] = NOTHING;
  if (!has_device(r)) return;
  grove_emulated_set_devices(DEVICES);
  grove_emulated_set_temper((grove_temper)(lot % 3), lot);
  for (int k = 0; k < STREAMS; k++)
    CHECK_OK(driver->create_stream(k % DEVICES, &r->memory->stream[k]));
  CHECK_OK(driver->pin(r->memory->word, sizeof r->memory->word));
}

static void check_order(void)
{
  char sentence[512];
  grove_emulated_conflict(sentence, sizeof sentence);
  CHECK(grove_emulated_conflicts() == 0, "%s", sentence);
}

void memory_close(run *r)
{
  memories *m = r->memory;
  CHECK(behind_under_way() == 0, "%lld jobs are left", (long long)behind_under_way());
  if (has_device(r)) {
    for (int d = 0; d < DEVICES; d++) CHECK_OK(driver->finish(d, NULL));
    for (int k = 0; k < STREAMS; k++) driver->free_stream(k % DEVICES, m->stream[k]);
    driver->unpin(m->word);
    check_order();
    grove_emulated_reset();
  }
  free(m);
}

/* ---- streams ---- */

/* One of its own on most ranks, on others none, or the default stream. */
void memory_use(run *r, int context)
{
  memories *m = r->memory;
  uint64_t lot = own_lot(r, r->p->step[context].seed, 1) % (2 * STREAMS);
  if (r->p->other == OTHER_BEHIND) behind_use(r->context[context]);
  if (!has_device(r)) return;
  CHECK_OK(grove_context_set(r->context[context], "device", "emulated"));
  if (r->p->threads && r->p->step[context].seed % 2) {
    CHECK_OK(grove_context_set(r->context[context], "progress", "thread"));
    r->has_helper[context] = 1;
  }
  if (lot >= STREAMS) return;
  m->of_context[context] = (int)lot;
  CHECK_OK(grove_context_set_stream(r->context[context], m->stream[lot]));
}

void memory_choose_stream(run *r, int op, const step *st)
{
  memories *m = r->memory;
  uint64_t lot = own_lot(r, st->seed, 2) % (2 * STREAMS);
  if (!has_device(r) || lot > STREAMS) return;
  m->is_chosen[op] = 1;
  m->of_op[op] = lot < STREAMS ? (int)lot : NOTHING;
  CHECK_OK(grove_op_set_stream(r->op[op], lot < STREAMS ? m->stream[lot] : NULL));
}

/* The number of the stream that an operation has now, or NOTHING. */
static int stream_of(const run *r, int op)
{
  const memories *m = r->memory;
  return m->is_chosen[op] ? m->of_op[op] : m->of_context[r->s->op[op].context];
}

/* ---- arrays ---- */

static int is_apart(const run *r, int number)
{
  return r->s->array[number].behind >> r->at.rank & 1;
}

/* The memory that is to hold an array instead of its own. */
static void put_into(array *a, void *instead)
{
  ptrdiff_t first = a->slot0 - a->memory;
  free(a->memory);
  a->memory = instead;
  a->slot0 = a->memory + first;
}

/* On some device; from grove_alloc_device on that of the rank. */
static void put_on_device(run *r, int number, uint64_t seed, array *a)
{
  resident *x = &r->memory->at[number];
  grove_range range = {0};
  void *given = NULL;
  if (r->s->array[number].allocated)
    CHECK_OK(grove_alloc_device(r->context[r->now], a->bytes, &given));
  else
    CHECK_OK(
      driver->allocate((int)(own_lot(r, seed, number) % DEVICES), (int64_t)a->bytes, &given));
  CHECK(driver->find(given, &range), "a device does not know its memory");
  x->is_there = 1;
  x->device = range.device;
  x->staging = need(a->bytes);
  CHECK_OK(driver->pin(x->staging, (int64_t)a->bytes));
  put_into(a, grove_emulated_alias(given));
}

void memory_create(run *r, int number, uint64_t seed)
{
  const scene_array *about = &r->s->array[number];
  array a = scene_array_create(about, r->at.rank);
  void *shared = NULL;
  if (is_apart(r, number) && has_device(r)) {
    put_on_device(r, number, seed, &a);
  } else if (about->allocated) {
    CHECK_OK(grove_alloc(r->context[r->now], a.bytes, &shared));
    put_into(&a, shared);
  } else if (is_apart(r, number)) {
    put_into(&a, behind_create(a.bytes));
  }
  r->real[number] = a;
}

void *memory_given(const array *a, const void *seen)
{
  grove_range range;
  const char *given = (const char *)seen - grove_device_offset;
  if (a->memory == NULL) return NULL;
  if (grove_device_offset != 0 && driver->find((char *)a->memory - grove_device_offset, &range))
    return (void *)(uintptr_t)given;
  return behind_given((void *)(uintptr_t)seen);
}

/* Memory of grove_alloc, or of grove_alloc_device, goes by grove_dealloc, or with its context. */
void memory_free(run *r, int number)
{
  resident *x = &r->memory->at[number];
  array *a = &r->real[number];
  if (a->memory == NULL) return;
  if (x->is_there) {
    memory_settle(r, number);
    if (!r->s->array[number].allocated) driver->free(x->device, memory_given(a, a->memory));
    driver->unpin(x->staging);
    free(x->staging);
    *x = (resident){0};
  } else if (is_apart(r, number)) {
    behind_free(a->memory);
  } else if (!r->s->array[number].allocated) {
    array_free(a);
  }
  *a = (array){0};
}

/* ---- values go there ---- */

void memory_settle(run *r, int number)
{
  const uint32_t *word = &r->memory->word[number];
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != r->memory->at[number].due) sched_yield();
}

static void enqueue_fill(run *r, int number, int stream, array *a)
{
  resident *x = &r->memory->at[number];
  grove_stream *s = stream == NOTHING ? NULL : r->memory->stream[stream];
  int device = stream == NOTHING ? x->device : stream % DEVICES;
  memcpy(x->staging, a->memory, a->bytes);
  CHECK_OK(driver->copy(device, s, memory_given(&r->real[number], r->real[number].memory),
                        x->staging, (int64_t)a->bytes));
  CHECK_OK(driver->write(device, s, &r->memory->word[number], ++x->due));
}

/* The emulated default stream waits for all others, and Grove's for it: nothing is put there while
 * a stream waits for an operation. */
static int may_enqueue(const run *r, int number, int op)
{
  return r->memory->at[number].is_there && op != NOTHING &&
         (stream_of(r, op) != NOTHING || !r->late.on);
}

/* By the way that the seed says. */
void memory_fill(run *r, int number, uint64_t seed, int op)
{
  array *real = &r->real[number], *last = &r->last[number];
  uint64_t lot = own_lot(r, seed, number) % 3;
  grove_context *ctx = r->now == NOTHING ? NULL : r->context[r->now];
  memory_settle(r, number);
  if (last->memory == NULL) *last = scene_array_create(&r->s->array[number], r->at.rank);
  scene_array_fill(r->s, number, seed, r->at.rank, last);
  real->product = last->product;
  if (lot == 0 && may_enqueue(r, number, op))
    enqueue_fill(r, number, stream_of(r, op), last);
  else if (r->memory->at[number].is_there && lot == 1 && ctx)
    CHECK_OK(grove_copy(ctx, memory_given(real, real->memory), last->memory, last->bytes));
  else
    array_assign(real, last);
}

/* ---- and back ---- */

array memory_copy(run *r, int number, uint64_t lot)
{
  const array *real = &r->real[number];
  memory_settle(r, number);
  array a = array_copy(real);
  grove_context *ctx = r->now == NOTHING ? NULL : r->context[r->now];
  if (!r->memory->at[number].is_there || !ctx || lot % 2) return a;
  memset(a.memory, 0x77, a.bytes);
  CHECK_OK(grove_copy(ctx, a.memory, memory_given(real, real->memory), a.bytes));
  return a;
}

/* Its stream may wait for it, as far as stream and options go. */
static int has_what_it_takes(const run *r, int op)
{
  return r->has_helper[r->s->op[op].context] && stream_of(r, op) != NOTHING;
}

static int has_residents(const run *r, int op)
{
  for (int i = 0; i < r->s->op[op].ncalls; i++)
    for (role k = 0; k < ROLES; k++) {
      int number = r->s->call[r->s->op[op].call[i]].array[k];
      if (number != NOTHING && r->memory->at[number].is_there) return 1;
    }
  return 0;
}

static void check_refusal(grove_status got, grove_status expected, const char *call)
{
  CHECK(got == expected, "%s: %s (%s)", call, grove_status_name(got), grove_last_error());
}

void memory_try_refused(run *r, int op, uint64_t lot)
{
  if (!has_device(r) || lot % 4 > 0) return;
  if (!has_what_it_takes(r, op))
    check_refusal(grove_wait_on_stream(r->op[op]), GROVE_ERR_UNSUPPORTED, "grove_wait_on_stream");
}

/* Each array once, though roles share it. */
static void take_arrays(run *r, int op, int stream)
{
  for (int i = 0; i < r->s->op[op].ncalls; i++) {
    const scene_call *c = &r->s->call[r->s->op[op].call[i]];
    for (role k = 0; k < ROLES; k++) {
      if (c->array[k] == NOTHING || !r->memory->at[c->array[k]].is_there) continue;
      resident *x = &r->memory->at[c->array[k]];
      const array *a = &r->real[c->array[k]];
      CHECK_OK(driver->copy(stream % DEVICES, r->memory->stream[stream], x->staging,
                            memory_given(a, a->memory), (int64_t)a->bytes));
      x->is_taken = 1;
    }
  }
}

/* Only where no other thread of this rank starts anything: it would wait behind the stream. */
int memory_wait_on_stream(run *r, int op)
{
  if (!has_what_it_takes(r, op) || !has_residents(r, op) || r->in_region) return 0;
  CHECK_OK(grove_wait_on_stream(r->op[op]));
  take_arrays(r, op, stream_of(r, op));
  return 1;
}

void memory_finish_stream(run *r, int op)
{
  int stream = stream_of(r, op);
  CHECK_OK(driver->finish(stream % DEVICES, r->memory->stream[stream]));
}

void memory_check_taken(run *r, int number, const unit *u, const array *expected, const char *what)
{
  resident *x = &r->memory->at[number];
  if (!x->is_taken) return;
  array a = array_copy(expected), b = array_copy(expected);
  memcpy(a.memory, x->staging, a.bytes);
  array_check(u, &a, &b, "taken by a stream", what);
  array_free(&a);
  array_free(&b);
  x->is_taken = 0;
}
