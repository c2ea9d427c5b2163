/* Two operations of one rank ask the same device. What one has asked for waits, while something is
 * under way, and the other enqueues it. If that fails, the one who asked is told, once, and the
 * other is not. And it does not wait for streams that the other follows. */
#include "check.h"
#include "device/station.h"
#include "places.h"
#include "rig.h"

enum { N = 64, BYTES = N * sizeof(int64_t) };

typedef struct asker {
  grove_lift *lift;
  int64_t *array;   /* on the device */
  int64_t *message; /* one page, pinned by the lift */
} asker;

typedef struct scene {
  place p;
  grove_mover mover;
  grove_shape whole;
  asker one, other;
  grove_stream *stream;
  uint32_t *gate; /* the stream waits for it */
} scene;

static const grove_space_kind *const kind = &grove_space_emulated;

static asker open_asker(const scene *s)
{
  asker a = {.array = new_device(BYTES), .message = aligned_alloc(GROVE_PAGE, GROVE_PAGE)};
  memset(a.message, 0, GROVE_PAGE);
  CHECK_OK(kind->open(kind, s->p.ctx, 0, &a.lift));
  CHECK_OK(kind->cover(a.lift, a.message, GROVE_PAGE));
  CHECK_OK(kind->prepare(a.lift, &s->mover, &s->whole, 0, N, GROVE_MOTION_UNPACK));
  return a;
}

static void close_asker(asker *a)
{
  kind->close(a->lift);
  driver->free(0, a->array);
  free(a->message);
}

static void open_scene(scene *s)
{
  const grove_index all = {.count = N}, none = {0};
  grove_unit unit;
  grove_combine combine;
  s->p = place_create(split(0));
  s->stream = new_stream();
  s->gate = new_pinned(sizeof *s->gate);
  CHECK_OK(grove_unit_create(MPI_INT64_T, s->p.comm, &unit));
  CHECK_OK(grove_combine_create(MPI_REPLACE, &unit, &combine));
  CHECK_OK(grove_mover_create(&unit, &combine, &s->mover));
  CHECK_OK(grove_shape_create(&all, &none, sizeof(int64_t), &s->whole));
  s->one = open_asker(s);
  s->other = open_asker(s);
}

static void close_scene(scene *s)
{
  CHECK_OK(driver->finish(0, NULL));
  close_asker(&s->one);
  close_asker(&s->other);
  grove_shape_free(&s->whole);
  grove_mover_free(&s->mover);
  free_pinned(s->gate);
  driver->free_stream(0, s->stream);
  place_free(&s->p);
}

static int64_t ask(const scene *s, asker *a, int64_t value)
{
  for (int i = 0; i < N; i++) a->message[i] = value + i;
  CHECK_OK(kind->unpack(a->lift, &s->mover, &s->whole, a->message, a->array, 0, N));
  return kind->begun(a->lift, GROVE_IN);
}

static void await(const asker *a, int64_t mark)
{
  while (kind->passed(a->lift, GROVE_IN) < mark) sched_yield();
}

static void check_array(const asker *a, int64_t value)
{
  int64_t here[N];
  CHECK_OK(driver->copy(0, NULL, here, a->array, BYTES));
  for (int i = 0; i < N; i++)
    CHECK(here[i] == value + i, "number %d is %lld, not %lld", i, (long long)here[i],
          (long long)value + i);
}

/* Something of the first is under way until the gate opens, and something more was asked for. */
static int64_t hold_up(scene *s)
{
  const grove_track *t = NULL;
  grove_station *station = NULL;
  CHECK_OK(driver->await(0, s->stream, s->gate, 1));
  CHECK_OK(kind->begin(s->one.lift, s->stream));
  ask(s, &s->one, 100);
  CHECK_OK(kind->flush(s->one.lift));
  int64_t mark = ask(s, &s->one, 100); /* the same: the first may not have read it yet */
  CHECK_OK(kind->proceed(s->one.lift));
  CHECK_OK(grove_station_find(s->p.ctx, driver, 0, &station));
  t = &station->tracks[GROVE_IN];
  CHECK(t->enqueued == mark - 1, "what was asked for does not wait: %lld of %lld",
        (long long)t->enqueued, (long long)mark);
  return mark;
}

static void open_gate(scene *s)
{
  __atomic_store_n(s->gate, 1, __ATOMIC_RELEASE);
}

/* ---- who is told ---- */

static void tells_who_asked(void)
{
  scene s;
  open_scene(&s);
  int64_t mark = hold_up(&s);
  grove_emulated_fail_at(GROVE_EMULATED_COPY, 0, GROVE_ERR_DEVICE);
  int64_t others = ask(&s, &s.other, 200);
  CHECK(grove_emulated_calls() == 1, "nothing was enqueued for the first");
  grove_emulated_fail_at(GROVE_EMULATED_COPY, -1, GROVE_OK);
  CHECK_OK(kind->flush(s.other.lift));
  open_gate(&s);
  await(&s.other, others);
  check_array(&s.other, 200);
  CHECK(kind->passed(s.one.lift, GROVE_IN) < mark, "what failed has passed");
  CHECK_OK(kind->flush(s.other.lift));
  CHECK_STATUS(kind->proceed(s.one.lift), GROVE_ERR_DEVICE);
  CHECK(strstr(grove_last_error(), "planned"), "'%s'", grove_last_error());
  CHECK_OK(kind->flush(s.one.lift));
  await(&s.one, mark);
  mark = ask(&s, &s.one, 300);
  CHECK_OK(kind->flush(s.one.lift));
  await(&s.one, mark);
  check_array(&s.one, 300);
  close_scene(&s);
}

/* ---- who waits ---- */

static void follows_nobody_else(void)
{
  scene s;
  open_scene(&s);
  grove_stream *late = new_stream();
  uint32_t *second = new_pinned(sizeof *second);
  int64_t mark = hold_up(&s);
  CHECK_OK(driver->await(0, late, second, 1));
  CHECK_OK(kind->begin(s.other.lift, late));
  int64_t others = ask(&s, &s.other, 200);
  CHECK_OK(kind->flush(s.other.lift));
  open_gate(&s);
  await(&s.one, mark);
  CHECK(kind->passed(s.other.lift, GROVE_IN) < others, "it did not wait for its stream");
  __atomic_store_n(second, 1, __ATOMIC_RELEASE);
  await(&s.other, others);
  check_array(&s.one, 100);
  check_array(&s.other, 200);
  close_scene(&s);
  free_pinned(second);
  driver->free_stream(0, late);
}

int main(int argc, char **argv)
{
  int ndevices = 0;
  test_begin(&argc, &argv, "device/askers");
  CHECK_OK(driver->open(&ndevices));
  test_case(0);
  tells_who_asked();
  test_case(1);
  follows_nobody_else();
  return test_end();
}
