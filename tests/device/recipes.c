/* Kernels that work on recipes do what the host does, bit by bit: every type and operation, units
 * with gaps, slots in every form, named several times, sharing units, in windows, at any alignment.
 * Messages that meet in the same slots are merged, and swept together in any number.
 *
 * The device is the one that GROVE_DEVICE names. Without that it is this program: its memory is at
 * other addresses than those that it names, what is enqueued is done by `finish`, and a launch does
 * its items in any order, by two threads.
 *
 * Only what a sum or a product of NaNs is may differ, as long as it is a NaN.
 */
#include "device/emulated.h"
#include "device/merged.h"
#include "device/space.h"

#include "check.h"
#include "random.h"
#include "units.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_SLOTS = 400,
  FEW_SLOTS = 60,
  MOST_ENTRIES = 2 * MOST_SLOTS,
  CANARIES = 32,
  MOST_JOBS = 3
};

/* ---- a device that is this program ---- */

enum { OWN_NUMBER = 7, MOST_OWN = 64 };

static struct {
  int64_t shift; /* of its addresses */
  rng order;     /* of threads */
  struct {
    char *begin; /* as the host sees it */
    int64_t bytes;
  } memory[MOST_OWN];
  struct {
    void *to;
    const void *from;
    int64_t bytes;
  } pending;
} own;

/* Where the host sees an address, of either memory. */
static char *seen(const void *address)
{
  char *there = (char *)address - own.shift;
  for (int k = 0; k < MOST_OWN; k++)
    if (own.memory[k].begin && there >= own.memory[k].begin &&
        there < own.memory[k].begin + own.memory[k].bytes)
      return there;
  return (char *)address;
}

static grove_status own_allocate(int on, int64_t bytes, void **out)
{
  int k = 0;
  CHECK(on == OWN_NUMBER && bytes > 0, "device %d, %lld bytes", on, (long long)bytes);
  while (k < MOST_OWN && own.memory[k].begin) k++;
  CHECK(k < MOST_OWN, "no place for %lld bytes", (long long)bytes);
  own.memory[k].begin = need((size_t)bytes);
  own.memory[k].bytes = bytes;
  *out = own.memory[k].begin + own.shift;
  return GROVE_OK;
}

static void own_free(int on, void *memory)
{
  char *begin = seen(memory);
  int k = 0;
  (void)on;
  while (k < MOST_OWN && own.memory[k].begin != begin) k++;
  CHECK(k < MOST_OWN, "%p was not allocated", memory);
  own.memory[k].begin = NULL;
  free(begin);
}

static grove_status own_copy(int on, grove_stream *stream, void *to, const void *from,
                             int64_t bytes)
{
  CHECK(on == OWN_NUMBER && !stream && own.pending.bytes == 0, "a copy on device %d", on);
  own.pending.to = seen(to);
  own.pending.from = seen(from);
  own.pending.bytes = bytes;
  return GROVE_OK;
}

static grove_status own_finish(int on, grove_stream *stream)
{
  (void)on, (void)stream;
  if (own.pending.bytes > 0) memcpy(own.pending.to, own.pending.from, (size_t)own.pending.bytes);
  own.pending.bytes = 0;
  return GROVE_OK;
}

typedef struct share {
  const grove_launch *launch;
  const int64_t *threads;
  int64_t count, step;
} share;

static void *do_share(void *of)
{
  const share *s = of;
  grove_launch_threads(s->launch, s->threads, s->count, s->step);
  return NULL;
}

/* By threads that have some items each, in any order. */
static grove_status own_launch(int on, grove_stream *stream, const grove_launch *launch,
                               const grove_access *accesses, int naccesses)
{
  int64_t each = 1 + rng_below(&own.order, 40), n = (grove_launch_size(launch) + each - 1) / each;
  int64_t *threads = need((size_t)(n + 1) * sizeof *threads);
  pthread_t other;
  (void)on, (void)stream, (void)accesses, (void)naccesses;
  for (int64_t k = 0; k < n; k++) threads[k] = k;
  rng_shuffle(&own.order, n, threads);
  share shares[2] = {{launch, threads, n / 2, n}, {launch, threads + n / 2, n - n / 2, n}};
  CHECK(pthread_create(&other, NULL, do_share, &shares[1]) == 0, "no second thread");
  do_share(&shares[0]);
  pthread_join(other, NULL);
  free(threads);
  return GROVE_OK;
}

static const grove_driver own_driver = {
  .name = "own",
  .allocate = own_allocate,
  .free = own_free,
  .copy = own_copy,
  .launch = own_launch,
  .finish = own_finish,
};

/* ---- the device ---- */

static const grove_driver *chosen; /* the driver */
static grove_driver driver;        /* the same, counting */
static int device;
static int64_t allocated;

static grove_status count_allocate(int on, int64_t bytes, void **out)
{
  grove_status status = chosen->allocate(on, bytes, out);
  allocated += status == GROVE_OK;
  return status;
}

static void count_free(int on, void *memory)
{
  if (!memory) return;
  allocated--;
  chosen->free(on, memory);
}

/* Fails where there is no such device. */
static grove_status choose_driver(void)
{
  grove_context *ctx = NULL;
  grove_status status = GROVE_OK;
  chosen = &own_driver;
  device = OWN_NUMBER;
  if (getenv("GROVE_DEVICE")) {
    CHECK_OK(grove_context_create(MPI_COMM_SELF, &ctx));
    status = grove_spaces_open(ctx);
    if (status == GROVE_OK) {
      chosen = (*ctx->spaces)->driver;
      device = grove_spaces_device(ctx);
    }
    CHECK_OK(grove_context_free(&ctx));
  }
  driver = *chosen;
  driver.allocate = count_allocate;
  driver.free = count_free;
  return status;
}

/* A case of its own order; half of them with addresses that are not the host's. */
static void begin_case(rng *r)
{
  int shifted = rng_one_in(r, 2);
  if (chosen != &own_driver) return;
  own.shift = shifted ? (int64_t)1 << 40 : 0;
  own.order = *r;
  grove_device_offset = -own.shift;
}

static void copy_now(void *to, const void *from, int64_t bytes)
{
  CHECK_OK(driver.copy(device, NULL, to, from, bytes));
  CHECK_OK(driver.finish(device, NULL));
}

static void launch_now(const grove_launch *launch)
{
  CHECK_OK(driver.launch(device, NULL, launch, NULL, 0));
  CHECK_OK(driver.finish(device, NULL));
}

static grove_recipe recipe_at(const grove_recipe *there)
{
  grove_recipe here;
  copy_now(&here, there, sizeof here);
  return here;
}

/* ---- lists of slots ---- */

typedef struct list {
  int64_t n, values[MOST_ENTRIES];
  int64_t units, start_values[MOST_ENTRIES + 1];
  int64_t far; /* what is added to all slots */
  grove_index index, starts;
  int wide;
  int64_t begin, count;
} list;

/* Rows so long that a box is better than a list. */
static void draw_long_rows(list *l, rng *r, int64_t nslots)
{
  int64_t side = rng_between(r, 25, 40), stride = side + rng_below(r, 5);
  int64_t rows = 1 + (nslots - side) / stride;
  l->n = 0;
  for (int64_t j = 0; j < rows; j++)
    for (int64_t i = 0; i < side; i++) l->values[l->n++] = j * stride + i;
}

/* first + i stride[0] + j stride[1] + k stride[2]; a stride may be zero, or negative. */
static void draw_box(list *l, rng *r, int64_t nslots)
{
  int64_t side[3], stride[3], left = nslots - 1, first = 0;
  if (nslots > FEW_SLOTS && rng_one_in(r, 2)) {
    draw_long_rows(l, r, nslots);
    return;
  }
  l->n = 1;
  for (int d = 0; d < 3; d++) {
    side[d] = rng_between(r, 1, d == 0 ? 20 : 5);
    if (l->n * side[d] > MOST_ENTRIES || left == 0) side[d] = 1;
    stride[d] = side[d] > 1 ? rng_between(r, rng_one_in(r, 4) ? 0 : 1, 3) : 1;
    if (d > 0 && side[d] > 1 && rng_one_in(r, 2)) stride[d] = l->n;
    if ((side[d] - 1) * stride[d] > left) side[d] = 1;
    left -= (side[d] - 1) * stride[d];
    if (rng_one_in(r, 4)) {
      first += (side[d] - 1) * stride[d];
      stride[d] = -stride[d];
    }
    l->n *= side[d];
  }
  for (int64_t i = 0; i < l->n; i++)
    l->values[i] = first + i % side[0] * stride[0] + i / side[0] % side[1] * stride[1] +
                   i / (side[0] * side[1]) * stride[2];
}

/* Runs that may lie upon each other, or one behind the other. */
static void draw_runs(list *l, rng *r, int64_t nslots, int apart)
{
  int64_t at = 0;
  l->n = 0;
  while (at < nslots && l->n < MOST_ENTRIES / 2) {
    int64_t length = rng_between(r, 10, 30);
    for (int64_t k = 0; k < length && at < nslots; k++) l->values[l->n++] = at++;
    at = apart ? at + rng_between(r, 1, 4) : rng_below(r, nslots + 8);
  }
}

static void draw_slots(list *l, rng *r, int64_t nslots)
{
  int64_t values[MOST_SLOTS];
  l->n = rng_below(r, nslots + 1);
  for (int64_t i = 0; i < nslots; i++) values[i] = i;
  switch (rng_below(r, 6)) {
  case 0: rng_shuffle(r, nslots, values); break;
  case 1: l->n = rng_between(r, 1, 2 * nslots); break;
  case 2: draw_runs(l, r, nslots, 1); return;
  case 3: draw_runs(l, r, nslots, 0); return;
  case 4: draw_box(l, r, nslots); return;
  default: break;
  }
  for (int64_t i = 0; i < l->n; i++)
    l->values[i] = l->n > nslots ? rng_below(r, nslots) : values[i + (nslots - l->n) / 2];
}

static void draw_list(list *l, rng *r, int64_t nslots, int shared, int64_t far)
{
  draw_slots(l, r, nslots);
  l->far = far;
  for (int64_t i = 0; i < l->n; i++) l->values[i] += far;
  l->units = 0;
  for (int64_t i = 0; i < l->n; i++)
    if (i == 0 || !shared || rng_one_in(r, 3)) l->start_values[l->units++] = i;
  l->start_values[l->units] = l->n;
  l->starts = (grove_index){0};
  if (shared) CHECK_OK(grove_index_create(l->units + 1, l->start_values, &l->starts));
  l->wide = rng_one_in(r, 2);
  l->index = (grove_index){.count = l->n, .wide = l->values};
  if (!l->wide) CHECK_OK(grove_index_create(l->n, l->values, &l->index));
  l->begin = rng_one_in(r, 2) ? 0 : rng_below(r, l->units + 1);
  l->count = rng_one_in(r, 2) ? l->units - l->begin : rng_below(r, l->units - l->begin + 1);
}

static void free_list(list *l)
{
  if (!l->wide) grove_index_free(&l->index);
  grove_index_free(&l->starts);
}

/* ---- values ---- */

static uint64_t draw_float(rng *r)
{
  static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, 1e38f, -1e38f, 1e-42f, 3.25f};
  static const uint32_t bits[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x3f800001};
  uint32_t x = (uint32_t)rng_next(r);
  if (rng_one_in(r, 3)) memcpy(&x, &special[rng_below(r, 8)], sizeof x);
  if (rng_one_in(r, 4)) x = bits[rng_below(r, 5)];
  if ((x & 0x7fffffff) > 0x7f800000) x |= 0x400000; /* quiet */
  return x;
}

static uint64_t draw_double(rng *r)
{
  static const double special[] = {0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1e-310, 3.25};
  static const uint64_t bits[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
                                  0xfff8000000012345, 0x3ff0000000000001};
  uint64_t x = rng_next(r);
  if (rng_one_in(r, 3)) memcpy(&x, &special[rng_below(r, 8)], sizeof x);
  if (rng_one_in(r, 4)) x = bits[rng_below(r, 5)];
  if ((x & ~(1ull << 63)) > 0x7ff0000000000000) x |= 0x8000000000000; /* quiet */
  return x;
}

/* Often one of few, so that some are equal. */
static uint64_t draw_integer(rng *r)
{
  return rng_one_in(r, 2) ? (uint64_t)rng_between(r, -2, 2) : rng_next(r);
}

static void put_value(unsigned char *to, int64_t bytes, int is_float, rng *r)
{
  uint64_t x = !is_float ? draw_integer(r) : bytes == 4 ? draw_float(r) : draw_double(r);
  uint32_t x32 = (uint32_t)x;
  uint16_t x16 = (uint16_t)x;
  uint8_t x8 = (uint8_t)x;
  if (bytes == 8) memcpy(to, &x, 8);
  if (bytes == 4) memcpy(to, &x32, 4);
  if (bytes == 2) memcpy(to, &x16, 2);
  if (bytes == 1) memcpy(to, &x8, 1);
}

/* How a unit's basic values follow each other in a message; 0 bytes: anything will do. */
typedef struct grain {
  int64_t bytes, index_bytes;
  int is_float, index_float;
} grain;

static grain grain_of(const grove_mover *m)
{
  const grove_unit *u = &m->unit;
  grain g = {0};
  if (m->combine.way != GROVE_COMBINE_KERNEL) return g;
  g.bytes = u->kind == GROVE_KIND_COMPLEX ? u->element_bytes / 2 : u->element_bytes;
  g.is_float = u->kind == GROVE_KIND_FLOAT || u->kind == GROVE_KIND_COMPLEX;
  if (u->kind == GROVE_KIND_PAIR) {
    g.bytes = m->combine.message_index;
    g.index_bytes = u->bytes - g.bytes;
    g.index_float = u->type == MPI_2REAL || u->type == MPI_2DOUBLE_PRECISION;
    g.is_float = g.index_float || u->type == MPI_FLOAT_INT || u->type == MPI_DOUBLE_INT;
  }
  return g;
}

static void draw_unit(const grove_mover *m, unsigned char *packed, rng *r)
{
  grain g = grain_of(m);
  for (int64_t k = 0; k < m->unit.bytes; k++) packed[k] = (unsigned char)rng_next(r);
  for (int64_t k = 0; g.bytes > 0 && g.bytes <= 8 && k < m->unit.bytes;
       k += g.bytes + g.index_bytes) {
    put_value(packed + k, g.bytes, g.is_float, r);
    put_value(packed + k + g.bytes, g.index_bytes, g.index_float, r);
  }
}

/* A NaN that was computed is a NaN. */
static void settle_nans(const grove_mover *m, unsigned char *packed)
{
  grain g = grain_of(m);
  int number = m->combine.number;
  if (!g.is_float || g.bytes > 8 || (number != GROVE_OP_SUM && number != GROVE_OP_PROD)) return;
  for (int64_t k = 0; k < m->unit.bytes; k += g.bytes) {
    float f = 0;
    double d = 0;
    memcpy(g.bytes == 4 ? (void *)&f : (void *)&d, packed + k, (size_t)g.bytes);
    if (f != f || d != d) memset(packed + k, 0xff, (size_t)g.bytes);
  }
}

/* ---- arrays and messages: the host's, the device's, and as they were ---- */

/* DEVICE: what the device's memory was before, and then is again after `fetch_bytes`. */

enum { HOST, DEVICE, BEFORE, COPIES };

typedef struct bytes {
  unsigned char *memory[COPIES];
  char *there; /* in the device's memory; NULL: not yet */
  int64_t n;
  int64_t origin; /* where slot 0 or unit 0 is */
} bytes;

static bytes draw_bytes(int64_t n, int64_t origin, rng *r)
{
  bytes b = {.n = n + 2 * CANARIES, .origin = origin + CANARIES};
  for (int c = 0; c < COPIES; c++) b.memory[c] = need((size_t)b.n);
  for (int64_t k = 0; k < b.n; k++) b.memory[HOST][k] = (unsigned char)rng_next(r);
  return b;
}

static void spread_bytes(bytes *b)
{
  for (int c = 1; c < COPIES; c++) memcpy(b->memory[c], b->memory[HOST], (size_t)b->n);
  void *there = b->there;
  if (!there) CHECK_OK(driver.allocate(device, b->n, &there));
  b->there = there;
  copy_now(b->there, b->memory[DEVICE], b->n);
}

static void fetch_bytes(const bytes *b)
{
  copy_now(b->memory[DEVICE], b->there, b->n);
}

/* Where the device has what is at this place of its copy. */
static char *place_there(const bytes *b, const char *at)
{
  return (char *)((intptr_t)b->there + ((intptr_t)at - (intptr_t)b->memory[DEVICE]));
}

static void free_bytes(bytes *b)
{
  for (int c = 0; c < COPIES; c++) free(b->memory[c]);
  driver.free(device, b->there);
}

/* A unit between a slot and its form in a message. */
static void move_unit(const grove_unit *u, unsigned char *slot, unsigned char *packed, int in)
{
  const grove_piece *known = grove_unit_pieces(u);
  for (int p = 0; p < u->npieces; p++) {
    unsigned char *memory = slot + u->true_lb + known[p].at, *at = packed + known[p].message_at;
    memcpy(in ? memory : at, in ? at : memory, (size_t)known[p].bytes);
  }
}

/* ---- a job ---- */

typedef struct scene {
  list l;
  grove_shape shape;
  int64_t nslots;
  bytes array, message;
  grove_prepared prepared;
} scene;

static unsigned char *slot_of(const scene *s, const grove_unit *u, int copy, int64_t slot)
{
  return s->array.memory[copy] + s->array.origin + slot * u->extent;
}

static void draw_scene(scene *s, const grove_mover *m, rng *r, int64_t nslots, int shared)
{
  const grove_unit *u = &m->unit;
  int64_t ends = (nslots - 1) * u->extent, span = llabs(ends) + u->true_extent;
  int64_t far = rng_one_in(r, 8) && llabs(u->extent) <= 64 ? (int64_t)1 << 32 : 0;
  unsigned char *packed = need((size_t)u->bytes + 1);
  s->nslots = nslots;
  draw_list(&s->l, r, nslots, shared, far);
  CHECK_OK(grove_shape_create(&s->l.index, &s->l.starts, u->bytes, &s->shape));
  s->array = draw_bytes(span + 16, rng_below(r, 16) * rng_below(r, 2), r);
  s->array.origin += (ends < 0 ? -ends : 0) - u->true_lb;
  s->message = draw_bytes(s->l.count * u->bytes + 16, rng_below(r, 16) * rng_below(r, 2), r);
  for (int64_t k = 0; k < nslots && u->npieces > 0; k++) {
    draw_unit(m, packed, r);
    move_unit(u, slot_of(s, u, HOST, k), packed, 1);
  }
  for (int64_t k = 0; k < s->l.count; k++)
    draw_unit(m, s->message.memory[HOST] + s->message.origin + k * u->bytes, r);
  spread_bytes(&s->array);
  spread_bytes(&s->message);
  free(packed);
}

static void free_scene(scene *s)
{
  grove_recipe_free(&driver, device, &s->prepared);
  grove_shape_free(&s->shape);
  free_list(&s->l);
  free_bytes(&s->array);
  free_bytes(&s->message);
}

static char *array_of(const scene *s, const grove_unit *u, int copy)
{
  return (char *)slot_of(s, u, copy, -s->l.far);
}

static char *message_of(const scene *s, int copy)
{
  return (char *)s->message.memory[copy] + s->message.origin;
}

static char *array_there(const scene *s, const grove_unit *u)
{
  return place_there(&s->array, array_of(s, u, DEVICE));
}

static char *message_there(const scene *s)
{
  return place_there(&s->message, message_of(s, DEVICE));
}

static void do_on_host(const scene *s, const grove_mover *m, grove_motion motion)
{
  char *array = array_of(s, &m->unit, HOST), *message = message_of(s, HOST);
  const list *l = &s->l;
  if (motion == GROVE_MOTION_PACK)
    CHECK_OK(grove_pack(m, &s->shape, array, l->begin, l->count, message));
  else if (motion == GROVE_MOTION_UNPACK)
    CHECK_OK(grove_unpack(m, &s->shape, message, array, l->begin, l->count));
  else
    CHECK_OK(grove_pack_fetch(m, &s->shape, array, l->begin, l->count, message));
}

static void copy_on_device(const scene *s, const grove_unit *u, grove_motion motion)
{
  char *memory = array_there(s, u) + s->prepared.low, *message = message_there(s);
  int in = motion == GROVE_MOTION_UNPACK;
  copy_now(in ? memory : message, in ? message : memory, s->prepared.message_bytes);
}

/* ---- what was tried ---- */

enum { BODIES = GROVE_BODY_FETCH + 1, FORMS = GROVE_SLOTS_LISTED + 1 };

static struct {
  int64_t body[BODIES][FORMS], chains[BODIES], units[BODIES], wide[BODIES], words[BODIES];
  int64_t element[GROVE_ELEMENTS], copies, nothing, refused, overlapping;
} tried;

static void note_tried(const grove_prepared *p)
{
  tried.copies += p->is_copy;
  tried.nothing += !p->is_copy && p->items == 0;
  if (!p->recipe) return;
  const grove_recipe h = recipe_at(p->recipe);
  tried.body[h.body][h.form]++;
  tried.chains[h.body] += h.starts.at > 0;
  tried.units[h.body] += h.units.at > 0;
  tried.wide[h.body] += (int)h.slots.wide;
  tried.words[h.body] += h.words_at > 0;
  if (h.element >= 0) tried.element[h.element]++;
}

static void check_tried(void)
{
  for (int b = 0; b < BODIES; b++) {
    int moves = b == GROVE_BODY_OUT || b == GROVE_BODY_IN;
    for (int f = 0; f < FORMS; f++)
      CHECK(tried.body[b][f] > 0 ||
              (b == GROVE_BODY_COLLECT && (f == GROVE_SLOTS_RUNS || f == GROVE_SLOTS_BOX)),
            "body %d was not tried with slots of form %d", b, f);
    CHECK(tried.chains[b] > 0 || moves, "body %d was not tried with several values", b);
    CHECK(tried.units[b] > 0 || b == GROVE_BODY_OUT || b == GROVE_BODY_COLLECT,
          "body %d was not tried with a list of units", b);
    CHECK(tried.wide[b] > 0, "body %d was not tried with a wide list", b);
    CHECK(tried.words[b] > 0, "body %d was not tried with pieces", b);
  }
  for (int e = 0; e < GROVE_ELEMENTS; e++) /* an INTEGER of eight bytes is an option of Fortran's */
    CHECK(tried.element[e] > 0 || e == GROVE_ELEMENT_I64_I64, "element %d was not tried", e);
  CHECK(tried.copies > 0 && tried.nothing > 0 && tried.refused > 0 && tried.overlapping > 0,
        "no copies, empty recipes, or impossible ones");
}

/* ---- the comparison ---- */

static void settle_scene(scene *s, const grove_mover *m)
{
  unsigned char *packed = need((size_t)m->unit.bytes + 1);
  for (int c = HOST; c <= DEVICE; c++) {
    for (int64_t k = 0; k < s->nslots; k++) {
      move_unit(&m->unit, slot_of(s, &m->unit, c, k), packed, 0);
      settle_nans(m, packed);
      move_unit(&m->unit, slot_of(s, &m->unit, c, k), packed, 1);
    }
    for (int64_t k = 0; k < s->l.count; k++)
      settle_nans(m, (unsigned char *)message_of(s, c) + k * m->unit.bytes);
  }
  free(packed);
}

static void compare_bytes(const bytes *b, int c, int64_t begin, int64_t end, const char *what)
{
  for (int64_t k = begin; k < end; k++)
    CHECK(b->memory[c][k] == b->memory[DEVICE][k], "%s: byte %lld of %lld is %02x, not %02x", what,
          (long long)(k - b->origin), (long long)b->n, b->memory[DEVICE][k], b->memory[c][k]);
}

static void check_scene(scene *s, const grove_mover *m, grove_motion motion, const char *name)
{
  static const char *const motions[] = {"pack", "unpack", "fetch"};
  const grove_prepared *p = &s->prepared;
  char what[160];
  fetch_bytes(&s->array);
  fetch_bytes(&s->message);
  int64_t low = p->low - s->l.far * m->unit.extent, high = p->high - s->l.far * m->unit.extent;
  if (!p->writes_array) low = high = 0;
  snprintf(what, sizeof what, "array, %s %s", motions[motion], name);
  compare_bytes(&s->array, BEFORE, 0, s->array.origin + low, what);
  compare_bytes(&s->array, BEFORE, s->array.origin + high, s->array.n, what);
  CHECK(!p->writes_array || (low >= -s->array.origin && s->array.origin + high <= s->array.n),
        "%s: from %lld to %lld", what, (long long)low, (long long)high);
  if (!p->writes_message)
    compare_bytes(&s->message, BEFORE, 0, s->message.n, "message that is read");
  settle_scene(s, m);
  compare_bytes(&s->array, HOST, 0, s->array.n, what);
  snprintf(what, sizeof what, "message, %s %s", motions[motion], name);
  compare_bytes(&s->message, HOST, 0, s->message.n, what);
  CHECK(p->message_bytes == s->l.count * m->unit.bytes || p->items == 0, "%s: %lld bytes", what,
        (long long)p->message_bytes);
}

/* ---- a case ---- */

/* What is refused must be. */
static void check_refusal(const grove_mover *m, const scene *s, grove_motion motion,
                          const char *name)
{
  const grove_unit *u = &m->unit;
  int dense = u->bytes > u->true_extent || llabs(u->extent) < u->true_extent;
  int overlaps = dense && motion != GROVE_MOTION_PACK;
  int shared = s->shape.starts.count > 0;
  int foreign = m->combine.way == GROVE_COMBINE_MPI && (shared || motion != GROVE_MOTION_PACK);
  int large = m->combine.way == GROVE_COMBINE_KERNEL && grain_of(m).bytes > 8;
  CHECK(overlaps || foreign || large || u->npieces == 0, "%s is refused", name);
  tried.refused++;
  tried.overlapping += overlaps;
}

static int64_t draw_nslots(int many, rng *r)
{
  if (many) return rng_between(r, MOST_SLOTS / 2, MOST_SLOTS);
  return rng_between(r, 1, rng_one_in(r, 3) ? 6 : rng_one_in(r, 4) ? MOST_SLOTS : FEW_SLOTS);
}

/* Several jobs at once, each with an array and a message of its own. */
static void check_case(const grove_mover *m, grove_motion motion, const char *name, int many,
                       rng *r)
{
  static scene scenes[MOST_JOBS];
  int n = (int)rng_between(r, 1, MOST_JOBS);
  grove_launch *launch = need(sizeof *launch);
  launch->word = NULL;
  launch->njobs = 0;
  begin_case(r);
  for (int k = 0; k < n; k++) {
    scene *s = &scenes[k];
    *s = (scene){0};
    draw_scene(s, m, r, draw_nslots(many, r), motion != GROVE_MOTION_FETCH && rng_one_in(r, 3));
    if (!grove_recipe_is_possible(m, &s->shape, motion)) {
      check_refusal(m, s, motion, name);
      continue;
    }
    CHECK_OK(grove_recipe_prepare(&driver, device, m, &s->shape, s->l.begin, s->l.count, motion,
                                  &s->prepared));
    note_tried(&s->prepared);
    do_on_host(s, m, motion);
    if (s->prepared.is_copy) copy_on_device(s, &m->unit, motion);
    grove_launch_add(launch, &s->prepared, array_there(s, &m->unit), message_there(s));
  }
  launch_now(launch);
  for (int k = 0; k < n; k++) {
    if (m->unit.npieces > 0) check_scene(&scenes[k], m, motion, name);
    free_scene(&scenes[k]);
  }
  CHECK(allocated == 0, "%lld allocations are left", (long long)allocated);
  free(launch);
}

/* ---- messages that meet ---- */

enum { MOST_WINDOWS = 5 };

typedef struct assembly {
  int n;
  int64_t nslots, entries, at[MOST_WINDOWS];
  list lists[MOST_WINDOWS];
  grove_shape shapes[MOST_WINDOWS];
  grove_window windows[MOST_WINDOWS]; /* of the device */
  scene all;                          /* the array, and the memory of all messages */
} assembly;

static struct {
  int64_t single[BODIES], several[BODIES], sweeps[MOST_WINDOWS + 1], pieces, refused, replaced;
} merged_tried;

/* One behind the other, close together or in lines of their own. */
static void draw_windows(assembly *a, const grove_mover *m, rng *r, int shared)
{
  int64_t end = 0, gap = rng_one_in(r, 2) ? 16 : 1;
  int n = (int)rng_between(r, 2, MOST_WINDOWS);
  for (int k = 0; k < n; k++) {
    list *l = &a->lists[a->n];
    draw_list(l, r, a->nslots, shared && rng_one_in(r, 2), a->all.l.far);
    if (l->count == 0) {
      free_list(l);
      continue;
    }
    CHECK_OK(grove_shape_create(&l->index, &l->starts, m->unit.bytes, &a->shapes[a->n]));
    a->entries += l->starts.count > 0
                    ? l->start_values[l->begin + l->count] - l->start_values[l->begin]
                    : l->count;
    a->at[a->n++] = end;
    end += (l->count * m->unit.bytes + gap - 1) / gap * gap;
  }
  a->all.message = draw_bytes(end + 16, rng_below(r, 16) * rng_below(r, 2), r);
}

static void draw_assembly(assembly *a, const grove_mover *m, rng *r, int shared)
{
  scene *s = &a->all;
  memset(a, 0, sizeof *a);
  a->nslots = s->nslots = rng_between(r, 1, rng_one_in(r, 3) ? 6 : FEW_SLOTS);
  draw_scene(s, m, r, a->nslots, 0);
  free_bytes(&s->message);
  draw_windows(a, m, r, shared);
  for (int k = 0; k < a->n; k++) {
    unsigned char *message = (unsigned char *)message_of(s, HOST) + a->at[k];
    for (int64_t u = 0; u < a->lists[k].count; u++) draw_unit(m, message + u * m->unit.bytes, r);
  }
  spread_bytes(&s->message);
  for (int k = 0; k < a->n; k++) {
    a->windows[k] = (grove_window){&a->shapes[k], a->lists[k].begin, a->lists[k].count,
                                   message_there(s) + a->at[k]};
  }
}

static void free_assembly(assembly *a)
{
  for (int k = 0; k < a->n; k++) {
    grove_shape_free(&a->shapes[k]);
    free_list(&a->lists[k]);
  }
  free_scene(&a->all);
}

static void solve_assembly(const assembly *a, const grove_mover *m, grove_motion motion)
{
  char *array = array_of(&a->all, &m->unit, HOST);
  for (int k = 0; k < a->n; k++) {
    const grove_window *w = &a->windows[k];
    char *message = message_of(&a->all, HOST) + a->at[k];
    if (motion == GROVE_MOTION_UNPACK)
      CHECK_OK(grove_unpack(m, w->shape, message, array, w->begin, w->count));
    else
      CHECK_OK(grove_pack_fetch(m, w->shape, array, w->begin, w->count, message));
  }
}

static void launch_sweep(const assembly *a, const grove_mover *m, const grove_merged *merged,
                         const grove_sweep *sweep)
{
  grove_launch *launch = need(sizeof *launch);
  launch->word = NULL;
  launch->njobs = GROVE_SWEEP_JOBS;
  launch->moves_only = 0;
  grove_merged_apply(merged, sweep, array_there(&a->all, &m->unit), 0, launch->jobs);
  for (int j = 0; j < GROVE_SWEEP_JOBS; j++) {
    const grove_job *job = &launch->jobs[j];
    if (job->end == (j > 0 ? launch->jobs[j - 1].end : 0)) continue;
    const grove_recipe recipe = recipe_at(job->recipe);
    (j == 0 ? merged_tried.single : merged_tried.several)[recipe.body]++;
    merged_tried.replaced += recipe.op == GROVE_OP_REPLACE;
  }
  merged_tried.sweeps[sweep->last - sweep->first + 1]++;
  launch_now(launch);
  free(launch);
}

/* Units of a window, from one of them on. */
static grove_sweep sweep_of(const grove_merged *merged, const grove_window *w, int64_t unit_bytes,
                            int64_t from, int64_t count)
{
  grove_sweep sweep;
  CHECK(grove_merged_find(merged, w->message + from * unit_bytes, count, &sweep),
        "%lld units from %lld on are not found", (long long)count, (long long)from);
  return sweep;
}

/* All windows, any number at once; the last of them perhaps in two pieces. */
static void sweep_assembly(const assembly *a, const grove_mover *m, const grove_merged *merged,
                           rng *r)
{
  int64_t size = m->unit.bytes;
  for (int k = 0, next = 0; k < a->n; k = next) {
    const grove_window *last = &a->windows[k];
    next = (int)rng_between(r, k + 1, a->n);
    int64_t part = rng_one_in(r, 3) ? rng_below(r, a->windows[next - 1].count) : 0;
    grove_sweep sweep =
      sweep_of(merged, last, size, 0, part > 0 && next == k + 1 ? part : last->count);
    for (int w = k + 1; w < next; w++) {
      last = &a->windows[w];
      grove_sweep more =
        sweep_of(merged, last, size, 0, part > 0 && w + 1 == next ? part : last->count);
      grove_sweep both = more; /* either may be first */
      CHECK(grove_sweep_join(&both, &sweep) && grove_sweep_join(&sweep, &more) &&
              memcmp(&both, &sweep, sizeof both) == 0,
            "windows %d and %d do not follow each other", w - 1, w);
    }
    launch_sweep(a, m, merged, &sweep);
    if (part == 0) continue;
    merged_tried.pieces++;
    sweep = sweep_of(merged, &a->windows[next - 1], size, part, a->windows[next - 1].count - part);
    launch_sweep(a, m, merged, &sweep);
  }
}

/* One between them has not come. */
static void check_gaps(const assembly *a, const grove_mover *m, const grove_merged *merged)
{
  for (int k = 2; k < a->n; k++) {
    grove_sweep low =
      sweep_of(merged, &a->windows[k - 2], m->unit.bytes, 0, a->windows[k - 2].count);
    grove_sweep high = sweep_of(merged, &a->windows[k], m->unit.bytes, 0, a->windows[k].count);
    CHECK(!grove_sweep_join(&low, &high) && !grove_sweep_join(&high, &low),
          "windows %d and %d are swept without the one between them", k - 2, k);
  }
}

static void check_assembly(assembly *a, const grove_mover *m, const char *name)
{
  scene *s = &a->all;
  char what[160];
  fetch_bytes(&s->array);
  fetch_bytes(&s->message);
  for (int c = HOST; c <= DEVICE; c++)
    for (int k = 0; k < a->n; k++)
      for (int64_t u = 0; u < a->windows[k].count; u++)
        settle_nans(m, (unsigned char *)message_of(s, c) + a->at[k] + u * m->unit.bytes);
  s->l.count = 0;
  settle_scene(s, m);
  snprintf(what, sizeof what, "array, merged %s", name);
  compare_bytes(&s->array, HOST, 0, s->array.n, what);
  snprintf(what, sizeof what, "messages, merged %s", name);
  compare_bytes(&s->message, HOST, 0, s->message.n, what);
}

/* Beside the recipes themselves: 8 bytes per edge, and where the words of a unit lie. */
static void check_weight(const assembly *a, const grove_mover *m, const grove_merged *merged)
{
  int64_t heads = 2 * ((int64_t)sizeof(grove_recipe) + 64), words = 2 * 4 * m->unit.bytes;
  int64_t lists = a->all.l.far > 0 ? 12 * a->entries : 8 * a->entries;
  CHECK(grove_merged_bytes(merged) <= heads + words + lists + 8, "%lld bytes for %lld edges",
        (long long)grove_merged_bytes(merged), (long long)a->entries);
}

static void check_merged(const grove_mover *m, grove_motion motion, const char *name, rng *r)
{
  static assembly a;
  grove_merged *merged = NULL;
  begin_case(r);
  draw_assembly(&a, m, r, motion == GROVE_MOTION_UNPACK);
  int able = a.n > 1 && m->unit.bytes > 0 && m->combine.way != GROVE_COMBINE_NOTHING;
  for (int k = 0; k < a.n; k++) able &= grove_recipe_is_possible(m, &a.shapes[k], motion);
  if (m->unit.bytes > 0 && a.n > 0)
    CHECK_OK(grove_merged_create(&driver, device, m, motion, a.n, a.windows, &merged));
  int dense = m->unit.npieces != 1 || llabs(m->unit.extent) < m->unit.true_extent;
  CHECK(merged || !able || dense, "%s is not merged", name); /* dense: slots may be in each other */
  CHECK(!merged || able, "%s is merged", name);
  merged_tried.refused += !merged;
  if (merged) {
    check_weight(&a, m, merged);
    check_gaps(&a, m, merged);
    solve_assembly(&a, m, motion);
    sweep_assembly(&a, m, merged, r);
    check_assembly(&a, m, name);
  }
  grove_merged_free(&driver, device, merged);
  free_assembly(&a);
  CHECK(allocated == 0, "%lld allocations are left", (long long)allocated);
}

static void check_merged_tried(void)
{
  for (int b = GROVE_BODY_COMBINE; b <= GROVE_BODY_FETCH; b++)
    CHECK(merged_tried.single[b] > 0 && merged_tried.several[b] > 0, "body %d was not merged", b);
  for (int n = 1; n <= MOST_WINDOWS; n++)
    CHECK(merged_tried.sweeps[n] > 0, "no sweep of %d messages", n);
  CHECK(merged_tried.pieces > 0 && merged_tried.refused > 0 && merged_tried.replaced > 0,
        "no pieces, nothing refused, or nothing replaced");
}

static int64_t cases;

static void check_type(MPI_Datatype type, const unit *of, const char *name, int64_t samples)
{
  for (int o = 0; o < of->nreductions; o++) {
    grove_unit u;
    grove_combine c;
    grove_mover m;
    char what[96];
    snprintf(what, sizeof what, "%s of %s", of->reduction[o].name, name);
    CHECK_OK(grove_unit_create(type, MPI_COMM_SELF, &u));
    if (grove_combine_create(of->reduction[o].op, &u, &c) != GROVE_OK) { /* pairs, derived */
      grove_unit_free(&u);
      continue;
    }
    CHECK_OK(grove_mover_create(&u, &c, &m));
    for (int64_t k = 0; k < 3 * samples; k++) {
      test_case(cases);
      rng r = rng_from(test_seed(), (uint64_t)cases++);
      check_case(&m, (grove_motion)(k % 3), what, 0, &r);
      if (k % 3 > 0) check_merged(&m, (grove_motion)(k % 3), what, &r);
    }
    grove_mover_free(&m);
  }
}

/* ---- types ---- */

/* `blocks` blocks of `length`, `stride` bytes apart; units are `extent` apart. */
static void check_blocks(const unit *of, int blocks, int length, MPI_Aint stride, MPI_Aint extent,
                         int64_t samples)
{
  MPI_Datatype inner, type;
  char name[96];
  snprintf(name, sizeof name, "%d x %d %.30s, %lld apart, in %lld", blocks, length, of->name,
           (long long)stride, (long long)extent);
  MPI_Type_create_hvector(blocks, length, stride, of->type, &inner);
  MPI_Type_create_resized(inner, 0, extent, &type);
  MPI_Type_commit(&type);
  check_type(type, of, name, samples);
  MPI_Type_free(&type);
  MPI_Type_free(&inner);
}

/* Words that are only moved have loops of their own, for several at once. */
static void check_moves(const unit *of, int length, int64_t samples)
{
  MPI_Datatype type;
  grove_unit u;
  grove_combine c;
  grove_mover m;
  char name[96];
  snprintf(name, sizeof name, "moving %d x %.30s", length, of->name);
  MPI_Type_contiguous(length, of->type, &type);
  MPI_Type_commit(&type);
  CHECK_OK(grove_unit_create(type, MPI_COMM_SELF, &u));
  CHECK_OK(grove_combine_create(MPI_REPLACE, &u, &c));
  CHECK_OK(grove_mover_create(&u, &c, &m));
  for (int64_t k = 0; k < samples; k++) {
    test_case(cases);
    rng r = rng_from(test_seed(), (uint64_t)cases++);
    check_case(&m, k % 2 ? GROVE_MOTION_PACK : GROVE_MOTION_UNPACK, name, 1, &r);
  }
  grove_mover_free(&m);
  MPI_Type_free(&type);
}

static void check_layouts(const unit *of, int64_t samples)
{
  MPI_Aint e = of->extent;
  check_blocks(of, 1, 3, 0, 3 * e, samples);             /* dense */
  check_blocks(of, 2, 1, 2 * e, 3 * e, samples);         /* gaps */
  check_blocks(of, 3, 2, 3 * e, 8 * e, samples);         /* and one behind it */
  check_blocks(of, 2, 3, 3 * e + 1, 7 * e + 3, samples); /* at odd places */
  check_blocks(of, 1, 2, 0, -2 * e, samples);            /* backwards */
  check_blocks(of, 2, 1, 2 * e, -5 * e, samples);        /* with gaps */
  check_blocks(of, 3, 1, 50 * e, e, samples);            /* in each other's gaps */
  check_blocks(of, 3, 1, 50 * e, -e, samples);
  check_blocks(of, 1, 2, 0, e, samples);     /* upon each other */
  check_blocks(of, 2, 1, 0, 2 * e, samples); /* upon itself */
  check_blocks(of, 1, 1, 0, 0, samples);     /* all in one place */
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/recipes");
  int64_t offset = grove_device_offset;
  if (choose_driver() != GROVE_OK) return test_skip(grove_last_error());
  int64_t samples = test_samples(1);
  units *types = units_create();
  for (int i = 0; i < types->n; i++) {
    const unit *u = &types->unit[i];
    check_type(u->type, u, u->name, 2 * samples);
    if (!u->derived && u->npieces == 1) check_layouts(u, samples);
  }
  const unit *integer = units_find(types, "MPI_INT32_T");
  for (int length = 1; length <= 4; length++) check_moves(integer, length, 100 * samples);
  check_blocks(integer, 300, 1, 12, 3604, samples);
  check_blocks(integer, 2, 1, (1 << 20) + 32, 4, samples); /* only MPI knows its pieces */
  check_tried();
  check_merged_tried();
  units_free(types);
  if (chosen == &own_driver)
    grove_device_offset = offset;
  else
    grove_emulated_reset(); /* its temper */
  return test_end();
}
