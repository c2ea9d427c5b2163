#include "pack/batch.h"

#include <string.h>

/* ---- where units lie ---- */

void grove_batch_slots(const grove_mover *m, const grove_shape *shape, int64_t begin, int64_t n,
                       int64_t *at)
{
  const grove_index *x = &shape->slots;
  int64_t extent = m->unit.extent;
  if (x->narrow)
    for (int64_t k = 0; k < n; k++) at[k] = x->narrow[begin + k] * extent;
  else if (x->wide)
    for (int64_t k = 0; k < n; k++) at[k] = x->wide[begin + k] * extent;
  else
    for (int64_t k = 0; k < n; k++) at[k] = (x->first + begin + k) * extent;
}

/* ---- units whose pieces are known ---- */

typedef enum action { COPY, COMBINE, FETCH } action;

/* Blocks of equal length, anywhere: one piece of each of several units, or the pieces of one. */
static void move_blocks(const grove_mover *m, action what, const grove_any_copy *blocks,
                        int64_t bytes)
{
  if (what == COPY) {
    grove_copy_for(bytes)->any(blocks, bytes);
    return;
  }
  grove_any_combine any = {.target = blocks->to,
                           .value = (char *)blocks->from,
                           .target_at = blocks->to_at,
                           .value_at = blocks->from_at,
                           .n = blocks->n};
  if (what == FETCH) {
    grove_fetch_kernels_of(m, bytes, &any.elements)->any(&any);
  } else {
    any.elements = bytes / m->unit.element_bytes;
    m->combine.kernels->any(&any);
  }
}

static int64_t place_of_piece(const grove_mover *m, const grove_places *side,
                              const grove_piece *piece)
{
  return side->in_memory ? m->unit.true_lb + piece->at : piece->message_at;
}

static void move_piece_by_piece(const grove_mover *m, action what, int64_t n,
                                const grove_places *to, const grove_places *from)
{
  const grove_piece *piece = grove_unit_pieces(&m->unit);
  for (int p = 0; p < m->unit.npieces; p++)
    move_blocks(m, what,
                &(grove_any_copy){to->base + place_of_piece(m, to, &piece[p]),
                                  from->base + place_of_piece(m, from, &piece[p]), to->at, from->at,
                                  n},
                piece[p].bytes);
}

/* Pieces of equal length that follow each other go together. */
static void move_unit(const grove_mover *m, action what, int64_t k, const grove_places *to,
                      const grove_places *from)
{
  const grove_piece *piece = grove_unit_pieces(&m->unit);
  int64_t to_at[GROVE_BATCH], from_at[GROVE_BATCH];
  int n = 0;
  for (int p = 0; p < m->unit.npieces; p++) {
    to_at[n] = place_of_piece(m, to, &piece[p]);
    from_at[n++] = place_of_piece(m, from, &piece[p]);
    if (p + 1 < m->unit.npieces && piece[p + 1].bytes == piece[p].bytes && n < GROVE_BATCH)
      continue;
    move_blocks(
      m, what, &(grove_any_copy){to->base + to->at[k], from->base + from->at[k], to_at, from_at, n},
      piece[p].bytes);
    n = 0;
  }
}

static void move_pairs(const grove_mover *m, action what, int64_t n, const grove_places *to,
                       const grove_places *from)
{
  const grove_combine *c = &m->combine;
  (what == FETCH ? c->kernels->fetch.any : c->kernels->any)(
    &(grove_any_combine){.target = to->base,
                         .value = from->base,
                         .target_at = to->at,
                         .value_at = from->at,
                         .n = n,
                         .elements = 1,
                         .target_index = to->in_memory ? c->memory_index : c->message_index,
                         .value_index = from->in_memory ? c->memory_index : c->message_index});
}

/* Elements do not depend on each other, so the order of pieces and units is free. For each element
 * the order of its values stays. */
static void move_known(const grove_mover *m, action what, int64_t n, const grove_places *to,
                       const grove_places *from)
{
  if (what != COPY && m->unit.kind == GROVE_KIND_PAIR && m->combine.way == GROVE_COMBINE_KERNEL) {
    move_pairs(m, what, n, to, from);
  } else if (m->unit.npieces > 4 * n) {
    for (int64_t k = 0; k < n; k++) move_unit(m, what, k, to, from);
  } else {
    move_piece_by_piece(m, what, n, to, from);
  }
}

grove_status grove_batch_copy(const grove_mover *m, int64_t n, const grove_places *to,
                              const grove_places *from)
{
  if (m->unit.npieces == 0) return grove_opaque_copy(m, n, to, from);
  move_known(m, COPY, n, to, from);
  return GROVE_OK;
}

void grove_batch_fetch(const grove_mover *m, int64_t n, const grove_places *target,
                       const grove_places *value)
{
  move_known(m, FETCH, n, target, value);
}

/* ---- rounds: the entries of a batch reordered, so that no target occurs twice in a round ---- */

typedef struct rounds {
  int64_t n;
  int64_t end[GROVE_BATCH]; /* of each round */
  int64_t target_at[GROVE_BATCH], value_at[GROVE_BATCH];
} rounds;

/* How many entries, from the first on, certainly have different targets. Each target sets a bit. A
 * bit that is already set may mean the same target or another one. */
static int64_t count_distinct_slots(int64_t n, const int64_t *at)
{
  enum { WORDS = 128 };
  uint64_t seen[WORDS] = {0};
  for (int64_t k = 0; k < n; k++) {
    uint64_t hash = (uint64_t)at[k] * 0x9e3779b97f4a7c15u >> 51;
    uint64_t *word = &seen[hash / 64], bit = (uint64_t)1 << hash % 64;
    if (*word & bit) return k;
    *word |= bit;
  }
  return n;
}

/* For each entry, how often its target occurred before. */
static void count_before(int64_t n, const int64_t *at, int16_t before[GROVE_BATCH])
{
  enum { BUCKETS = 1024 };
  int16_t last[BUCKETS]; /* the last entry with this target, plus one */
  memset(last, 0, sizeof last);
  for (int64_t k = 0; k < n; k++) {
    uint64_t bucket = (uint64_t)at[k] * 0x9e3779b97f4a7c15u >> 54;
    while (last[bucket] != 0 && at[last[bucket] - 1] != at[k]) bucket = (bucket + 1) % BUCKETS;
    before[k] = last[bucket] == 0 ? 0 : (int16_t)(before[last[bucket] - 1] + 1);
    last[bucket] = (int16_t)(k + 1);
  }
}

/* Entry k goes to round before[k]: a counting sort. */
static void make_rounds(int64_t n, const int64_t *target_at, const int64_t *value_at, rounds *r)
{
  int16_t before[GROVE_BATCH];
  int64_t next[GROVE_BATCH] = {0};
  count_before(n, target_at, before);
  r->n = 0;
  for (int64_t k = 0; k < n; k++) {
    next[before[k]]++;
    if (before[k] >= r->n) r->n = before[k] + 1;
  }
  for (int64_t i = 0, sum = 0; i < r->n; i++) {
    r->end[i] = sum + next[i];
    next[i] = sum;
    sum = r->end[i];
  }
  for (int64_t k = 0; k < n; k++) {
    int64_t to = next[before[k]]++;
    r->target_at[to] = target_at[k];
    r->value_at[to] = value_at[k];
  }
}

/* At most `most` at a time. */
static grove_status in_steps(const grove_mover *m, int64_t n, const grove_places *target,
                             const grove_places *value, grove_batch_step *take, int64_t most)
{
  for (int64_t k = 0; k < n; k += most) {
    grove_places t = {target->base, target->at + k, target->in_memory};
    grove_places v = {value->base, value->at + k, value->in_memory};
    GROVE_PASS(take(m, n - k < most ? n - k : most, &t, &v));
  }
  return GROVE_OK;
}

static grove_status in_rounds(const grove_mover *m, int64_t n, const grove_places *target,
                              const grove_places *value, grove_batch_step *take, int64_t most)
{
  rounds r;
  make_rounds(n, target->at, value->at, &r);
  for (int64_t i = 0, k = 0; i < r.n; k = r.end[i++]) {
    grove_places t = {target->base, r.target_at + k, target->in_memory};
    grove_places v = {value->base, r.value_at + k, value->in_memory};
    GROVE_PASS(in_steps(m, r.end[i] - k, &t, &v, take, most));
  }
  return GROVE_OK;
}

/* While many targets in a row differ, they can stay in order. */
grove_status grove_batch_in_steps(const grove_mover *m, int64_t n, const grove_places *target,
                                  const grove_places *value, grove_batch_step *take, int64_t most)
{
  enum { MANY = 24 };
  for (int64_t k = 0, taken = 0; k < n; k += taken) {
    grove_places t = {target->base, target->at + k, target->in_memory};
    grove_places v = {value->base, value->at + k, value->in_memory};
    taken = count_distinct_slots(n - k, t.at);
    if (taken == n - k || taken >= MANY) {
      GROVE_PASS(in_steps(m, taken, &t, &v, take, most));
    } else {
      taken = n - k;
      GROVE_PASS(in_rounds(m, taken, &t, &v, take, most));
    }
  }
  return GROVE_OK;
}

/* ---- steps without duplicates ---- */

/* MPI_Reduce_local(a, b) sets b = a o b. The targets come first, for operations that do not
 * commute. */
grove_status grove_batch_combine_by_mpi(const grove_mover *m, int64_t n, const grove_places *target,
                                        const grove_places *value)
{
  int64_t at[GROVE_BATCH];
  for (int64_t k = 0; k < n; k++) at[k] = k * m->unit.extent;
  grove_places targets = {m->targets, at, 1}, values = {m->values, at, 1};
  GROVE_PASS(grove_batch_copy(m, n, &targets, target));
  GROVE_PASS(grove_batch_copy(m, n, &values, value));
  GROVE_PASS_MPI(MPI_Reduce_local(m->targets, m->values, (int)n, m->unit.type, m->combine.op));
  return grove_batch_copy(m, n, target, &values);
}

/* Kernels cannot handle such units in place, so they work on them as in a message. One side is the
 * message already. */
static grove_status combine_opaque(const grove_mover *m, int64_t n, const grove_places *target,
                                   const grove_places *value)
{
  int64_t at[GROVE_BATCH];
  for (int64_t k = 0; k < n; k++) at[k] = k * m->unit.bytes;
  grove_places packed = {m->packed, at, 0};
  const grove_places *t = target->in_memory ? &packed : target;
  const grove_places *v = target->in_memory ? value : &packed;
  GROVE_PASS(grove_opaque_copy(m, n, &packed, target->in_memory ? target : value));
  for (int64_t k = 0; k < n; k++)
    m->combine.kernels->flat(t->base + t->at[k], v->base + v->at[k], m->unit.elements);
  if (target->in_memory) GROVE_PASS(grove_opaque_copy(m, n, target, &packed));
  return GROVE_OK;
}

grove_status grove_batch_combine(const grove_mover *m, int64_t n, const grove_places *target,
                                 const grove_places *value)
{
  int opaque = m->unit.npieces == 0;
  switch (m->combine.way) {
  case GROVE_COMBINE_NOTHING: return GROVE_OK;
  case GROVE_COMBINE_REPLACE:
    if (opaque) return grove_batch_in_steps(m, n, target, value, grove_opaque_copy, n);
    return grove_batch_copy(m, n, target, value);
  case GROVE_COMBINE_KERNEL:
    if (opaque) return grove_batch_in_steps(m, n, target, value, combine_opaque, m->scratch_units);
    move_known(m, COMBINE, n, target, value);
    return GROVE_OK;
  default:
    return grove_batch_in_steps(m, n, target, value, grove_batch_combine_by_mpi, m->scratch_units);
  }
}
