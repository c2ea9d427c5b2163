/* Copies between a device and the host, as operations make them: begun on a stream of the
 * library's, and over when the host sees the word that the stream writes behind them. 1, 2, 4, 8
 * and 16 ranks of a host do so at once, as many as there are; all of them use the same device
 * (node-aware-strategies, Table 3, Fig. 3.1). What comes with a kernel that packs takes longer by
 * the launch, and by its bytes.
 */
#include "base/pause.h"
#include "measure/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE = 0, MOST_PROCESSES = 16, STEPS = 5, WAYS = 3, UNITS = GROVE_PROBE_BYTES / 8 };

/* What is measured, and what its points are called. */
typedef enum copy_way { COPY_OUT, COPY_IN, PACK_OUT } copy_way;
static const char *const series[WAYS][STEPS] = {
  {"copy d2h by 1", "copy d2h by 2", "copy d2h by 4", "copy d2h by 8", "copy d2h by 16"},
  {"copy h2d by 1", "copy h2d by 2", "copy h2d by 4", "copy h2d by 8", "copy h2d by 16"},
  {"kernel by 1", "kernel by 2", "kernel by 4", "kernel by 8", "kernel by 16"}};

/* What a rank needs to copy. */
struct grove_bench {
  const grove_space_kind *kind;
  grove_lift *lift;
  void *array;   /* on the device */
  void *message; /* pinned, if it can be */
  grove_mover mover;
  grove_index list;         /* all slots, each once */
  grove_shape whole, mixed; /* consecutive, and in the order of the list */
  copy_way way;
};

/* ---- who copies ---- */

/* The ranks of the host that has most of them, as far as they are measured. */
static int list_copiers(const grove_probe *p, int *ranks)
{
  const grove_topo *topo = &p->ctx->topo;
  int best = 0, most = 0, n = 0;
  for (int r = 0; r < topo->nranks; r++) {
    int alike = 0;
    for (int q = 0; q < topo->nranks; q++) alike += topo->place[q].domain == topo->place[r].domain;
    if (alike > most) best = r;
    if (alike > most) most = alike;
  }
  for (int r = 0; r < topo->nranks && n < MOST_PROCESSES; r++)
    if (topo->place[r].domain == topo->place[best].domain) ranks[n++] = r;
  return n;
}

/* Is this rank one of the first k? */
static int is_copier(const grove_probe *p, const int *ranks, int k)
{
  for (int i = 0; i < k; i++)
    if (ranks[i] == p->ctx->rank) return 1;
  return 0;
}

/* How many devices this rank finds. */
static int devices_found(grove_probe *p)
{
  grove_sentence before;
  int n = 0;
  grove_error_keep(&before);
  if (p->how->devices)
    (void)grove_spaces_open(p->ctx);
  else
    grove_spaces_look(p->ctx);
  const grove_driver *driver = p->ctx->spaces ? (*p->ctx->spaces)->driver : NULL;
  if (driver && driver->open(&n) != GROVE_OK) n = 0;
  grove_error_restore(&before);
  return n;
}

/* ---- what they copy ---- */

/* Every slot once, in an order without runs: as a linear congruential generator of that period has
 * it. */
static grove_status mix_slots(grove_index *out)
{
  grove_status status = GROVE_OK;
  int64_t *slots = NULL;
  GROVE_ROOM(slots, UNITS);
  for (int64_t i = 0, at = 0; i < UNITS; i++, at = (1664525 * at + 1013904223) % UNITS)
    slots[i] = at;
  GROVE_TRY(grove_index_create(UNITS, slots, out));
fail:
  free(slots);
  return status;
}

static grove_status make_bench_mover(const grove_probe *p, grove_mover *out)
{
  grove_unit unit;
  grove_combine combine;
  GROVE_PASS(grove_unit_create(MPI_DOUBLE, p->ctx->comm, &unit));
  GROVE_PASS(grove_combine_create(MPI_REPLACE, &unit, &combine));
  return grove_mover_create(&unit, &combine, out);
}

static grove_status open_bench(grove_probe *p, grove_bench *b)
{
  const grove_index all = {.count = UNITS}, none = {0};
  b->kind = *p->ctx->spaces;
  GROVE_PASS(make_bench_mover(p, &b->mover));
  GROVE_PASS(mix_slots(&b->list));
  GROVE_PASS(grove_shape_create(&all, &none, 8, &b->whole));
  GROVE_PASS(grove_shape_create(&b->list, &none, 8, &b->mixed));
  GROVE_PASS(b->kind->driver->allocate(DEVICE, GROVE_PROBE_BYTES, &b->array));
  b->message = aligned_alloc(GROVE_PAGE, GROVE_PROBE_BYTES);
  GROVE_PASS_CHECK(b->message, GROVE_ERR_MEMORY, "no memory for messages");
  memset(b->message, 1, GROVE_PROBE_BYTES);
  GROVE_PASS(b->kind->open(b->kind, p->ctx, DEVICE, &b->lift));
  GROVE_PASS(b->kind->cover(b->lift, b->message, GROVE_PROBE_BYTES));
  return b->kind->begin(b->lift, NULL);
}

static void close_bench(grove_bench *b)
{
  if (b->lift) b->kind->close(b->lift);
  if (b->array) b->kind->driver->free(DEVICE, b->array);
  free(b->message);
  grove_shape_free(&b->mixed);
  grove_shape_free(&b->whole);
  grove_index_free(&b->list);
  grove_mover_free(&b->mover);
}

/* ---- one copy ---- */

static grove_status begin_copy(const grove_bench *b, int64_t units)
{
  if (b->way == COPY_IN)
    return b->kind->unpack(b->lift, &b->mover, &b->whole, b->message, b->array, 0, units);
  return b->kind->pack(b->lift, &b->mover, b->way == PACK_OUT ? &b->mixed : &b->whole, b->array, 0,
                       units, b->message);
}

static grove_status finish_copy(const grove_bench *b, int spins)
{
  grove_heading heading = b->way == COPY_IN ? GROVE_IN : GROVE_OUT;
  int64_t mark = b->kind->begun(b->lift, heading);
  grove_pause pause;
  GROVE_PASS(b->kind->flush(b->lift));
  grove_pause_begin(&pause, spins);
  while (b->kind->passed(b->lift, heading) < mark) grove_pause_step(&pause);
  return GROVE_OK;
}

/* Failures are kept for the end, so that no rank leaves the others waiting. */
static grove_status copy_repeatedly(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                    double *seconds)
{
  const grove_bench *b = p->bench;
  double begin = grove_clock();
  (void)part;
  for (int i = 0; i < n && p->status == GROVE_OK; i++) {
    p->status = begin_copy(b, bytes / 8);
    if (p->status == GROVE_OK) p->status = finish_copy(b, p->ctx->spins);
  }
  *seconds = grove_clock() - begin;
  return GROVE_OK;
}

/* ---- over sizes ---- */

/* Every fourth power of two, or every second one, and the largest. */
static int list_sizes(const grove_probe *p, int64_t *out)
{
  int n = 0, factor = p->how->effort == GROVE_MEASURE_QUICK ? 8 : 4;
  for (int64_t bytes = 64; bytes < GROVE_PROBE_BYTES; bytes *= factor) out[n++] = bytes;
  out[n++] = GROVE_PROBE_BYTES;
  return n;
}

typedef struct copy_line {
  grove_sample sample[16];
  int n, samples; /* points, and batches in all of them */
} copy_line;

static grove_status time_sizes(grove_probe *p, int works, copy_way way, double seconds,
                               copy_line *out)
{
  const grove_pairing part = {.partner = works ? p->ctx->rank : -1};
  int64_t sizes[16];
  int n = list_sizes(p, sizes);
  *out = (copy_line){.n = n};
  p->bench->way = way;
  for (int i = 0; i < n; i++) {
    grove_timing t;
    GROVE_PASS(grove_probe_time(p, &part, copy_repeatedly, sizes[i], seconds / n, &t, NULL));
    out->sample[i] = (grove_sample){(double)sizes[i], t.seconds};
    out->samples += t.samples;
  }
  return GROVE_OK;
}

static void keep_line(grove_probe *p, const char *name, const copy_line *line)
{
  for (int i = 0; i < line->n; i++) grove_probe_keep(p, name, line->sample[i].x, line->sample[i].y);
}

static void write_copies(grove_probe *p, grove_direction way, const char *range,
                         const copy_line *line)
{
  const char *where = grove_direction_names[way];
  grove_fit fit = grove_fit_line(line->sample, line->n);
  grove_probe_device_row(p, "copy-alpha", where, range, fit.cost.alpha, "s", line->samples,
                         fit.residual);
  grove_probe_device_row(p, "copy-beta", where, range, fit.cost.beta, "s/B", line->samples,
                         fit.residual);
}

/* What the kernel adds to a copy of the same bytes. */
static void write_kernel(grove_probe *p, int k, const char *range, copy_line *packed,
                         const copy_line *copied)
{
  for (int i = 0; i < packed->n; i++)
    packed->sample[i].y = fmax(packed->sample[i].y - copied->sample[i].y, 0);
  grove_fit fit = grove_fit_line(packed->sample, packed->n);
  grove_probe_device_row(p, "launch", "any", range, fit.cost.alpha, "s", packed->samples,
                         fit.residual);
  if (k == 1)
    grove_probe_device_row(p, "pack", "any", "0..", fit.cost.beta, "s/B", packed->samples,
                           fit.residual);
}

static grove_status measure_together(grove_probe *p, const int *ranks, int step, double seconds)
{
  char range[16];
  copy_line line[WAYS];
  int k = 1 << step, works = is_copier(p, ranks, k);
  for (int way = 0; way < WAYS; way++)
    GROVE_PASS(time_sizes(p, works, (copy_way)way, seconds / WAYS, &line[way]));
  snprintf(range, sizeof range, "%d", k);
  write_copies(p, GROVE_D2H, range, &line[COPY_OUT]);
  write_copies(p, GROVE_H2D, range, &line[COPY_IN]);
  write_kernel(p, k, range, &line[PACK_OUT], &line[COPY_OUT]);
  for (int way = 0; way < WAYS; way++) keep_line(p, series[way][step], &line[way]);
  return GROVE_OK;
}

/* ---- the step ---- */

grove_status grove_probe_find_device(grove_probe *p)
{
  int ranks[MOST_PROCESSES], n = list_copiers(p, ranks), mine = is_copier(p, ranks, n);
  double found[2] = {mine ? devices_found(p) : 0, 0};
  found[1] = mine && found[0] == 0; /* somebody has none */
  GROVE_PASS(grove_probe_meet(p, found, 2));
  p->devices = found[1] > 0 ? 0 : (int)found[0];
  return GROVE_OK;
}

int grove_probe_first_copier(const grove_probe *p)
{
  int ranks[MOST_PROCESSES];
  list_copiers(p, ranks);
  return ranks[0];
}

/* What rows say of their origin: a device that has no rates, or memory that is not pinned. */
static grove_status describe_device(grove_probe *p, const grove_bench *b)
{
  grove_burden burden = {0};
  if (b->lift) b->kind->weigh(b->lift, &burden);
  double facts[2] = {b->lift && b->kind->driver->has_no_rates,
                     burden.pinned_bytes < burden.host_bytes};
  GROVE_PASS(grove_probe_meet(p, facts, 2));
  snprintf(p->on_device, sizeof p->on_device, "%s%s",
           facts[0] > 0 ? " on the emulated device, which says nothing about speed" : "",
           facts[1] > 0 ? ", host memory not pinned" : "");
  return GROVE_OK;
}

static void write_devices(grove_probe *p)
{
  char source[160];
  snprintf(source, sizeof source, "%s%s", p->source, p->on_device);
  grove_status status =
    grove_machine_add(p->machine, "gpus", "-", "node", "-", p->devices, "1", source);
  if (status != GROVE_OK) p->status = status;
}

grove_status grove_measure_device(grove_probe *p, double seconds)
{
  grove_status status = GROVE_OK;
  grove_bench b = {0};
  int ranks[MOST_PROCESSES], n = list_copiers(p, ranks), steps = 0;
  if (p->devices == 0) return GROVE_OK;
  grove_probe_announce(p, "copies to and from a device", seconds);
  while (steps < STEPS && 1 << steps <= n) steps++;
  if (is_copier(p, ranks, n) && p->status == GROVE_OK) p->status = open_bench(p, &b);
  p->bench = &b;
  GROVE_TRY(describe_device(p, &b));
  write_devices(p);
  for (int i = 0; i < steps; i++) GROVE_TRY(measure_together(p, ranks, i, seconds / steps));
fail:
  p->bench = NULL;
  close_bench(&b);
  return status;
}
