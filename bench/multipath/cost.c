/* What a call costs the host: the decision, and all that the copier does besides the driver's
 * calls. For that there is a driver that does nothing. */
#include "multipath.h"

#include "grove_cuda.h"
#include "kit/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 21, CALLS = 2000 };

/* ---- a driver that does nothing ---- */

static int64_t ncalls;

static grove_status none_open(int *n)
{
  *n = 4;
  return GROVE_OK;
}

static int none_device_of(grove_stream *stream, int otherwise)
{
  (void)stream;
  return otherwise;
}

static int none_is_capturing(int device, grove_stream *stream)
{
  (void)device, (void)stream;
  return 0;
}

static grove_status none_allocate(int device, int64_t bytes, void **out)
{
  (void)device, (void)bytes;
  *out = malloc(1);
  return GROVE_OK;
}

static void none_free(int device, void *memory)
{
  (void)device;
  free(memory);
}

static grove_status none_pin(void *begin, int64_t bytes)
{
  (void)begin, (void)bytes;
  return GROVE_OK;
}

static void none_unpin(void *begin)
{
  (void)begin;
}

static grove_status none_create_stream(int device, grove_stream **out)
{
  (void)device;
  *out = malloc(1);
  return GROVE_OK;
}

static void none_free_stream(int device, grove_stream *stream)
{
  (void)device;
  free(stream);
}

static grove_status none_create_event(int device, grove_event **out)
{
  (void)device;
  *out = malloc(1);
  return GROVE_OK;
}

static void none_free_event(grove_event *event)
{
  free(event);
}

static grove_status none_copy(int device, grove_stream *stream, void *to, const void *from,
                              int64_t bytes)
{
  (void)device, (void)stream, (void)to, (void)from, (void)bytes;
  ncalls++;
  return GROVE_OK;
}

static grove_status none_event(int device, grove_event *event, grove_stream *stream)
{
  (void)device, (void)stream, (void)event;
  ncalls++;
  return GROVE_OK;
}

static grove_status none_after(int device, grove_stream *stream, grove_event *event)
{
  return none_event(device, event, stream);
}

/* At once: the next copy finds an idle crew. */
static grove_status none_write(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  (void)device, (void)stream;
  ncalls++;
  *word = value;
  return GROVE_OK;
}

static grove_status none_finish(int device, grove_stream *stream)
{
  (void)device, (void)stream;
  return GROVE_OK;
}

static const grove_driver nothing = {
  .name = "nothing",
  .has_no_rates = 1,
  .open = none_open,
  .allocate = none_allocate,
  .free = none_free,
  .pin = none_pin,
  .unpin = none_unpin,
  .create_stream = none_create_stream,
  .free_stream = none_free_stream,
  .copy = none_copy,
  .write = none_write,
  .finish = none_finish,
  .is_capturing = none_is_capturing,
  .device_of = none_device_of,
  .create_event = none_create_event,
  .free_event = none_free_event,
  .record = none_event,
  .after = none_after,
};

/* ---- times ---- */

static bench_interval time_decision(grove_copier *c, int64_t bytes)
{
  double all[ROUNDS];
  grove_copy_pair *pair = NULL;
  int64_t paths = 0;
  bench_need_grove(grove_copy_pair_find(c, 0, 1, &pair));
  for (int i = 0; i < ROUNDS; i++) {
    double begin = bench_clock();
    for (int k = 0; k < CALLS; k++) {
      const grove_copy_decision *d = grove_copy_route_decide(pair->route, bytes + 256 * (k & 7));
      paths += d ? d->npaths : 0;
    }
    all[i] = (bench_clock() - begin) / CALLS;
  }
  bench_need(paths > 0, "nothing was split");
  return bench_centre_by_order(all, ROUNDS);
}

/* The addresses are only compared. */
static bench_interval time_call(grove_copier *c, int64_t bytes, grove_stream *stream)
{
  double all[ROUNDS];
  char *src = (char *)(uintptr_t)(1LL << 40), *dst = (char *)(uintptr_t)(1LL << 41);
  bench_need_grove(grove_copier_copy(c, dst, 1, src, 0, (size_t)bytes, stream));
  for (int i = 0; i < ROUNDS; i++) {
    double begin = bench_clock();
    for (int k = 0; k < CALLS; k++)
      bench_need_grove(grove_copier_copy(c, dst, 1, src, 0, (size_t)bytes, stream));
    all[i] = (bench_clock() - begin) / CALLS;
  }
  return bench_centre_by_order(all, ROUNDS);
}

/* The calls that it makes, and the same calls without the copier. */
static bench_interval time_calls(int64_t n)
{
  double all[ROUNDS];
  const grove_driver *volatile driver = &nothing;
  for (int i = 0; i < ROUNDS; i++) {
    double begin = bench_clock();
    for (int64_t k = 0; k < CALLS * n; k++) bench_need_grove(driver->copy(0, NULL, NULL, NULL, k));
    all[i] = (bench_clock() - begin) / CALLS;
  }
  return bench_centre_by_order(all, ROUNDS);
}

static void cost_of(const bench_place *p, grove_copier *c, grove_stream *stream, int64_t bytes)
{
  grove_copy_pair *pair = NULL;
  double seconds = 0, single = 0;
  bench_need_grove(grove_copy_pair_find(c, 0, 1, &pair));
  bench_need_grove(grove_copy_pair_predict(c, pair, bytes, &seconds, &single));
  bench_row(p, "cost", "4-paths", bytes, "decision", time_decision(c, bytes));
  ncalls = 0;
  bench_row(p, "cost", "4-paths", bytes, "call", time_call(c, bytes, stream));
  int64_t calls = ncalls / (1 + ROUNDS * CALLS);
  bench_row(p, "cost", "4-paths", bytes, "driver", time_calls(calls));
  bench_row_value(p, "cost", "4-paths", bytes, "calls", (double)calls);
  bench_row(p, "cost", "4-paths", bytes, "transfer", bench_exactly(seconds));
}

/* The links of Beluga decide how many chunks there are. */
void bench_cost(bench_settings *s)
{
  bench_place p = {.s = s, .driver = &nothing, .ndevices = 4};
  grove_stream *stream = NULL;
  snprintf(p.rung, sizeof p.rung, "host");
  snprintf(p.node, sizeof p.node, "beluga");
  snprintf(p.links, sizeof p.links, "none");
  bench_need_grove(grove_machine_open("beluga", &p.machine));
  grove_copier *c = bench_copier(&p, p.machine, NULL);
  bench_need_grove(nothing.create_stream(0, &stream));
  for (int64_t bytes = 2 * MIB; bytes <= 512 * (int64_t)MIB; bytes *= 4)
    cost_of(&p, c, stream, bytes);
  bench_need_grove(grove_copier_free(&c));
  nothing.free_stream(0, stream);
  grove_machine_free(&p.machine);
}
