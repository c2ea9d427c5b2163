/* Pack and unpack without messages, beside a copy of as many bytes on the device and, for lists,
 * beside the kernel that one writes by hand. */
#include "hand.h"
#include "kernel.h"
#include "kit/clock.h"
#include "kit/random.h"

#include <stdlib.h>
#include <string.h>

/* Doubles. A row of 128 bytes begins every 256; one of 8 bytes every 128, like a face of a grid. */
enum { ROW = 16, ROW_STRIDE = 32, FACE_STRIDE = 16, IN_SECTOR = 4 };

/* ---- slots ---- */

static void draw_rows(int64_t *slots, int64_t n)
{
  for (int64_t i = 0; i < n; i++) slots[i] = i / ROW * ROW_STRIDE + i % ROW;
}

static void draw_face(int64_t *slots, int64_t n)
{
  for (int64_t i = 0; i < n; i++) slots[i] = i * FACE_STRIDE;
}

/* As close as rows of 8 bytes can be without sharing a sector. */
static void draw_close_face(int64_t *slots, int64_t n)
{
  for (int64_t i = 0; i < n; i++) slots[i] = i * IN_SECTOR;
}

static void draw_sorted(int64_t *slots, int64_t n)
{
  uint64_t state = 3;
  for (int64_t i = 0; i < n; i++) slots[i] = 2 * i + (int64_t)(bench_random(&state) & 1);
}

/* One slot of each sector, so that no cache can help. */
static void draw_random(int64_t *slots, int64_t n)
{
  uint64_t state = 4;
  for (int64_t i = 0; i < n; i++) slots[i] = i;
  bench_shuffle(slots, n, &state);
  for (int64_t i = 0; i < n; i++)
    slots[i] = slots[i] * IN_SECTOR + (int64_t)(bench_random(&state) % IN_SECTOR);
}

static const struct pattern {
  const char *name;
  void (*draw)(int64_t *slots, int64_t n); /* NULL: consecutive */
  int listed;
} patterns[] = {
  {"contiguous", NULL, 0},    {"rows-128", draw_rows, 0},
  {"rows-8", draw_face, 0},   {"rows-8-close", draw_close_face, 0},
  {"sorted", draw_sorted, 1}, {"random", draw_random, 1},
};

/* ---- samples ---- */

enum { COPY, GROVE, HAND, ENTRANTS };

typedef struct motion_case {
  const bench_gpu *g;
  const bench_hand_device *by_hand;
  int64_t n, nslots, *slots;
  double *array, *message, *other; /* on the device; another message */
  bench_kernel kernel;
  void *list; /* by hand */
} motion_case;

static void enqueue_one(const motion_case *c, int entrant)
{
  if (entrant == COPY)
    bench_gpu_enqueue_copy(c->g, c->other, c->message, c->n * (int64_t)sizeof(double));
  else if (entrant == GROVE)
    bench_kernel_enqueue(c->g, &c->kernel, c->g->stream, c->array, c->message);
  else if (c->kernel.motion == GROVE_MOTION_PACK)
    c->by_hand->gather(c->list, c->message, c->array);
  else
    c->by_hand->scatter(c->list, c->array, c->message);
}

static void finish_all(const motion_case *c, int entrant)
{
  if (entrant == HAND)
    c->by_hand->finish();
  else
    bench_gpu_finish(c->g);
}

static double sample_motion(void *about, int entrant, int round)
{
  const motion_case *c = about;
  (void)round;
  double begin = bench_clock();
  for (int i = 0; i < c->g->repeats; i++) enqueue_one(c, entrant);
  finish_all(c, entrant);
  return (bench_clock() - begin) / c->g->repeats;
}

/* ---- values ---- */

static double unit_value(int64_t i)
{
  return (double)i + 0.5;
}

/* Slot s of the array has s, unit i of the message i + 1/2. */
static void set_values(const motion_case *c, double *host)
{
  for (int64_t i = 0; i < c->n; i++) host[i] = unit_value(i);
  bench_gpu_copy(c->g, c->message, host, c->n * (int64_t)sizeof(double));
  for (int64_t s = 0; s < c->nslots; s++) host[s] = (double)s;
  bench_gpu_copy(c->g, c->array, host, c->nslots * (int64_t)sizeof(double));
}

static int64_t count_wrong_units(const motion_case *c, double *host)
{
  int64_t wrong = 0;
  bench_gpu_copy(c->g, host, c->message, c->n * (int64_t)sizeof(double));
  if (c->g->sabotage) host[c->n / 2] = -1;
  for (int64_t i = 0; i < c->n; i++) wrong += host[i] != (double)(c->slots ? c->slots[i] : i);
  return wrong;
}

/* Slots that nobody named are as they were. */
static int64_t count_wrong_slots(const motion_case *c, double *host)
{
  int64_t wrong = 0;
  bench_gpu_copy(c->g, host, c->array, c->nslots * (int64_t)sizeof(double));
  if (c->g->sabotage) host[c->nslots / 2] = -1;
  for (int64_t i = 0; i < c->n; i++) {
    int64_t slot = c->slots ? c->slots[i] : i;
    wrong += host[slot] != unit_value(i);
    host[slot] = (double)slot;
  }
  for (int64_t s = 0; s < c->nslots; s++) wrong += host[s] != (double)s;
  return wrong;
}

static void verify_motion(bench_gpu *g, const motion_case *c, const bench_gpu_case *row)
{
  double *host = bench_alloc((size_t)c->nslots, sizeof *host);
  for (int e = GROVE; e < row->nentrants; e++) {
    set_values(c, host);
    enqueue_one(c, e);
    finish_all(c, e);
    int packs = c->kernel.motion == GROVE_MOTION_PACK;
    bench_gpu_judge(g, row->line, row->name, row->bytes, row->entrants[e].name,
                    packs ? count_wrong_units(c, host) : count_wrong_slots(c, host));
  }
  free(host);
}

/* ---- cases ---- */

static void open_motion(bench_gpu *g, const struct pattern *p, grove_motion motion, motion_case *c)
{
  int64_t bytes = g->most;
  *c = (motion_case){.g = g, .by_hand = bench_hand_device_for(g)};
  c->n = c->nslots = bytes / (int64_t)sizeof(double);
  if (p->draw) c->slots = bench_alloc((size_t)c->n, sizeof *c->slots);
  if (p->draw) p->draw(c->slots, c->n);
  for (int64_t i = 0; c->slots && i < c->n; i++)
    if (c->slots[i] >= c->nslots) c->nslots = c->slots[i] + 1;
  bench_kernel_open(g, MPI_DOUBLE, MPI_REPLACE, c->slots, c->n, motion, &c->kernel);
  c->array = bench_gpu_alloc(g, c->nslots * (int64_t)sizeof(double));
  c->message = bench_gpu_alloc(g, bytes);
  c->other = bench_gpu_alloc(g, bytes);
}

static void close_motion(const bench_gpu *g, motion_case *c)
{
  if (c->list) c->by_hand->free_list(c->list);
  bench_kernel_close(g, &c->kernel);
  bench_gpu_free(g, c->array);
  bench_gpu_free(g, c->message);
  bench_gpu_free(g, c->other);
  free(c->slots);
}

static void list_by_hand(motion_case *c)
{
  int32_t *narrow = bench_alloc((size_t)c->n, sizeof *narrow);
  for (int64_t i = 0; i < c->n; i++) narrow[i] = (int32_t)c->slots[i];
  c->list = c->by_hand->list(narrow, c->n, c->kernel.motion == GROVE_MOTION_UNPACK);
  free(narrow);
}

static void measure_motion(bench_gpu *g, const struct pattern *p, grove_motion motion)
{
  motion_case c;
  bench_gpu_entrant entrants[ENTRANTS] = {{.name = "copy"}, {.name = "grove"}, {.name = "hand"}};
  open_motion(g, p, motion, &c);
  if (p->listed) list_by_hand(&c);
  bench_gpu_case row = {motion == GROVE_MOTION_PACK ? "pack" : "unpack", p->name, g->most,
                        p->listed ? ENTRANTS : HAND, entrants};
  entrants[COPY].traffic = 2 * g->most;
  entrants[GROVE].traffic = bench_kernel_traffic(&c.kernel);
  if (p->listed)
    entrants[HAND].traffic =
      entrants[GROVE].traffic - c.kernel.prepared.bytes + c.n * (int64_t)sizeof(int32_t);
  verify_motion(g, &c, &row);
  bench_gpu_run(g, &row, sample_motion, &c);
  close_motion(g, &c);
}

void bench_gpu_kernels(bench_gpu *g)
{
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    measure_motion(g, &patterns[i], GROVE_MOTION_PACK);
    measure_motion(g, &patterns[i], GROVE_MOTION_UNPACK);
  }
}
