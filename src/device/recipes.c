/* How a recipe is made. What is to be done is one of a few bodies. Slots keep their form, unless
 * one is named twice where slots are written. Then all that happens to a slot stands together, or
 * only the last of it where that wins. All lists are written behind the recipe, and go to the
 * device in one copy.
 */
#include "device/recipes.h"

#include "base/distinct.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is done ---- */

enum { NO_BODY = -1, NO_ELEMENT = -1 };

static int is_shared(const grove_shape *shape)
{
  return shape->starts.count > 0;
}

static int choose_body(const grove_mover *m, const grove_shape *shape, grove_motion motion)
{
  grove_combine_way way = m->combine.way;
  if (m->unit.bytes == 0) return NO_BODY;
  if (motion == GROVE_MOTION_PACK)
    return is_shared(shape) && way != GROVE_COMBINE_REPLACE && way != GROVE_COMBINE_NOTHING
             ? GROVE_BODY_COLLECT
             : GROVE_BODY_OUT;
  if (way == GROVE_COMBINE_NOTHING) return motion == GROVE_MOTION_FETCH ? GROVE_BODY_OUT : NO_BODY;
  if (motion == GROVE_MOTION_FETCH) return GROVE_BODY_FETCH;
  return way == GROVE_COMBINE_REPLACE ? GROVE_BODY_IN : GROVE_BODY_COMBINE;
}

static int writes_slots(int body)
{
  return body == GROVE_BODY_IN || body == GROVE_BODY_COMBINE || body == GROVE_BODY_FETCH;
}

static int moves_words(int body)
{
  return body == GROVE_BODY_OUT || body == GROVE_BODY_IN;
}

/* Does an item have a target and all its units? */
static int has_chains(int body)
{
  return body == GROVE_BODY_COMBINE || body == GROVE_BODY_FETCH;
}

/* Do its items work on elements by an operation? */
static int applies_operation(const grove_mover *m, int body)
{
  if (body == GROVE_BODY_COLLECT) return 1;
  return has_chains(body) && m->combine.way != GROVE_COMBINE_REPLACE;
}

/* ---- elements ---- */

static int element_of_bytes(int64_t bytes, int of_one)
{
  switch (bytes) {
  case 1: return of_one;
  case 2: return of_one + 1;
  case 4: return of_one + 2;
  case 8: return of_one + 3;
  default: return NO_ELEMENT;
  }
}

static int pair_element(const grove_mover *m)
{
  static const struct {
    int value_float, index_float;
    int64_t value_bytes, index_bytes;
    int element;
  } rows[] = {
    {0, 0, 2, 4, GROVE_ELEMENT_I16_I32}, {0, 0, 4, 4, GROVE_ELEMENT_I32_I32},
    {0, 0, 8, 4, GROVE_ELEMENT_I64_I32}, {1, 0, 4, 4, GROVE_ELEMENT_F32_I32},
    {1, 0, 8, 4, GROVE_ELEMENT_F64_I32}, {0, 0, 8, 8, GROVE_ELEMENT_I64_I64},
    {1, 1, 4, 4, GROVE_ELEMENT_F32_F32}, {1, 1, 8, 8, GROVE_ELEMENT_F64_F64},
  };
  MPI_Datatype type = m->unit.type;
  int64_t value_bytes = m->combine.message_index, index_bytes = m->unit.bytes - value_bytes;
  int index_float = type == MPI_2REAL || type == MPI_2DOUBLE_PRECISION;
  int value_float = index_float || type == MPI_FLOAT_INT || type == MPI_DOUBLE_INT;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].value_float == value_float && rows[i].index_float == index_float &&
        rows[i].value_bytes == value_bytes && rows[i].index_bytes == index_bytes)
      return rows[i].element;
  return NO_ELEMENT;
}

static int find_element(const grove_mover *m)
{
  int64_t bytes = m->unit.element_bytes;
  switch (m->unit.kind) {
  case GROVE_KIND_SIGNED: return element_of_bytes(bytes, GROVE_ELEMENT_I8);
  case GROVE_KIND_UNSIGNED:
  case GROVE_KIND_LOGICAL:
  case GROVE_KIND_BYTE: return element_of_bytes(bytes, GROVE_ELEMENT_U8);
  case GROVE_KIND_FLOAT:
    return bytes == 4 ? GROVE_ELEMENT_F32 : bytes == 8 ? GROVE_ELEMENT_F64 : NO_ELEMENT;
  case GROVE_KIND_COMPLEX:
    return bytes == 8 ? GROVE_ELEMENT_C32 : bytes == 16 ? GROVE_ELEMENT_C64 : NO_ELEMENT;
  case GROVE_KIND_PAIR: return pair_element(m);
  default: return NO_ELEMENT;
  }
}

/* ---- what is possible ---- */

/* The least and the greatest slot of entries begin .. end-1 of the list. */
static void find_bounds(const grove_index *slots, int64_t begin, int64_t end, int64_t *least,
                        int64_t *most)
{
  *least = *most = grove_index_at(slots, begin);
  if (grove_index_consecutive(slots)) *most += end - begin - 1;
  for (int64_t k = begin; k < end && !grove_index_consecutive(slots); k++) {
    int64_t slot = grove_index_at(slots, k);
    *least = slot < *least ? slot : *least;
    *most = slot > *most ? slot : *most;
  }
}

/* Marks the bytes of a unit; false if some are marked already. */
static int mark_pieces(const grove_unit *unit, unsigned char *marks)
{
  const grove_piece *piece = grove_unit_pieces(unit);
  for (int p = 0; p < unit->npieces; p++)
    for (int32_t k = 0; k < piece[p].bytes; k++)
      if (marks[piece[p].at + k]++ > 0) return 0;
  return 1;
}

/* Slots further apart than a unit spans have no byte in common, so that a few show it. */
int grove_slots_are_apart(const grove_unit *unit, int64_t nslots)
{
  int64_t extent = llabs(unit->extent), few = extent > 0 ? unit->true_extent / extent + 1 : 2;
  if (unit->npieces == 1 && (extent >= unit->true_extent || nslots == 1)) return 1;
  if (nslots < few) few = nslots;
  unsigned char *marks = calloc(1, (size_t)((few - 1) * extent + unit->true_extent));
  int apart = marks != NULL;
  for (int64_t k = 0; k < few && apart; k++) apart = mark_pieces(unit, marks + k * extent);
  free(marks);
  return apart;
}

static int slots_are_writable(const grove_unit *unit, const grove_shape *shape)
{
  int64_t least = 0, most = 0;
  if (shape->slots.count == 0) return 1;
  if (shape->slots.count > GROVE_LIST_MOST && shape->form != GROVE_SHAPE_CONSECUTIVE) return 0;
  find_bounds(&shape->slots, 0, shape->slots.count, &least, &most);
  return grove_slots_are_apart(unit, most - least + 1);
}

/* Of a unit without an element for kernels. */
static int has_long_doubles(const grove_unit *unit)
{
  return unit->kind == GROVE_KIND_FLOAT || unit->kind == GROVE_KIND_COMPLEX ||
         unit->kind == GROVE_KIND_PAIR;
}

grove_obstacle grove_recipe_obstacle(const grove_mover *mover, const grove_shape *shape,
                                     grove_motion motion)
{
  const grove_unit *unit = &mover->unit;
  int body = choose_body(mover, shape, motion);
  if (body == NO_BODY) return GROVE_OBSTACLE_NONE;
  if (unit->npieces == 0) return GROVE_OBSTACLE_TYPE;
  if (body != GROVE_BODY_OUT && mover->combine.way == GROVE_COMBINE_MPI)
    return mover->combine.number < 0 ? GROVE_OBSTACLE_OPERATION : GROVE_OBSTACLE_TYPE;
  if (applies_operation(mover, body) && find_element(mover) == NO_ELEMENT)
    return has_long_doubles(unit) ? GROVE_OBSTACLE_LONG_DOUBLE : GROVE_OBSTACLE_TYPE;
  if (motion == GROVE_MOTION_FETCH && is_shared(shape)) return GROVE_OBSTACLE_SLOTS;
  if (writes_slots(body) && !slots_are_writable(unit, shape)) return GROVE_OBSTACLE_SLOTS;
  return GROVE_OBSTACLE_NONE;
}

int grove_recipe_writes_slots(const grove_mover *mover, const grove_shape *shape,
                              grove_motion motion)
{
  return writes_slots(choose_body(mover, shape, motion));
}

/* ---- a recipe and its lists, before they are written ---- */

typedef struct draft {
  grove_recipe head;
  int64_t bytes; /* so far */
  int64_t targets;
  int64_t *slots, *units, *starts; /* NULL: none */
  int64_t nslots, nunits;
  grove_touched *rows;
  int32_t *words;
} draft;

static void drop_draft(draft *d)
{
  free(d->slots);
  free(d->units);
  free(d->starts);
  free(d->rows);
  free(d->words);
}

/* ---- words of a unit ---- */

/* The largest power of two, up to `most`, that divides everything joined by | here. */
static int64_t largest_word(const grove_unit *unit, int64_t most)
{
  const grove_piece *piece = grove_unit_pieces(unit);
  int64_t all = most | unit->extent | unit->bytes;
  for (int p = 0; p < unit->npieces; p++)
    all |= (piece[p].at - piece[0].at) | piece[p].message_at | piece[p].bytes;
  return all & -all;
}

static grove_status place_words(const grove_unit *unit, draft *d)
{
  const grove_piece *piece = grove_unit_pieces(unit);
  int64_t n = unit->bytes / d->head.word, k = 0;
  d->head.origin = unit->true_lb + piece[0].at;
  d->head.words = grove_divisor_make(n);
  if (unit->npieces == 1) return GROVE_OK;
  GROVE_PASS_ROOM(d->words, n);
  for (int p = 0; p < unit->npieces; p++)
    for (int64_t at = 0; at < piece[p].bytes; at += d->head.word)
      d->words[k++] = (int32_t)(piece[p].at - piece[0].at + at);
  return GROVE_OK;
}

/* What an item is: a word, an element, or a pair. */
static grove_status divide_unit(const grove_mover *m, draft *d)
{
  grove_recipe *h = &d->head;
  const grove_unit *unit = &m->unit;
  int elements = applies_operation(m, h->body);
  h->op = m->combine.number;
  h->extent = unit->extent;
  h->unit_bytes = unit->bytes;
  h->element = elements ? find_element(m) : NO_ELEMENT;
  h->word = elements ? unit->element_bytes : largest_word(unit, has_chains(h->body) ? 8 : 16);
  if (elements && unit->kind == GROVE_KIND_PAIR) {
    h->word = unit->bytes;
    h->words = grove_divisor_make(1);
    h->memory_index = m->combine.memory_index;
    h->message_index = m->combine.message_index;
    return GROVE_OK;
  }
  if (!elements && has_chains(h->body)) /* words are replaced like integers */
    h->element = element_of_bytes(h->word, GROVE_ELEMENT_U8);
  return place_words(unit, d);
}

/* ---- slots in the form that the shape has ---- */

static grove_status draft_runs(const grove_shape *shape, int64_t begin, int64_t count, draft *d)
{
  const grove_run *run = grove_shape_run(shape, begin);
  grove_recipe *h = &d->head;
  while (run[h->nrows].begin < begin + count) h->nrows++;
  GROVE_PASS_ROOM(d->rows, h->nrows);
  for (int64_t k = 0; k < h->nrows; k++)
    d->rows[k] = (grove_touched){run[k].begin - begin, run[k].first * h->extent};
  h->form = GROVE_SLOTS_RUNS;
  return GROVE_OK;
}

static void draft_box(const grove_shape *shape, int64_t begin, grove_recipe *h)
{
  h->form = GROVE_SLOTS_BOX;
  h->begin = begin;
  h->first = shape->first * h->extent;
  for (int i = 0; i < GROVE_DIMENSIONS; i++) h->stride[i] = shape->stride[i] * h->extent;
  for (int i = 0; i < 2; i++) h->side[i] = grove_divisor_make(shape->n[i]);
}

/* Entries of the list as they are. */
static grove_status read_slots(const grove_index *slots, int64_t begin, int64_t count, draft *d)
{
  GROVE_PASS_ROOM(d->slots, count);
  for (int64_t k = 0; k < count; k++) d->slots[k] = grove_index_at(slots, begin + k);
  d->nslots = count;
  return GROVE_OK;
}

static grove_status draft_entries(const grove_shape *shape, int64_t begin, int64_t count, draft *d)
{
  grove_recipe *h = &d->head;
  int listed =
    is_shared(shape) ? !grove_index_consecutive(&shape->slots) : shape->form == GROVE_SHAPE_LISTED;
  if (listed) {
    h->form = GROVE_SLOTS_LISTED;
    return d->slots ? GROVE_OK : read_slots(&shape->slots, begin, count, d);
  }
  free(d->slots);
  d->slots = NULL;
  if (shape->form == GROVE_SHAPE_RUNS) return draft_runs(shape, begin, count, d);
  if (shape->form == GROVE_SHAPE_BOX) {
    draft_box(shape, begin, h);
    return GROVE_OK;
  }
  h->form = GROVE_SLOTS_CONSECUTIVE;
  h->first = (shape->first + begin) * h->extent;
  return GROVE_OK;
}

/* ---- out of slots ---- */

/* The slot whose value wins. */
static grove_status draft_winners(const grove_mover *m, const grove_shape *shape, int64_t begin,
                                  int64_t count, draft *d)
{
  int last = m->combine.way == GROVE_COMBINE_REPLACE;
  d->head.form = GROVE_SLOTS_LISTED;
  GROVE_PASS_ROOM(d->slots, count);
  for (int64_t u = 0; u < count; u++)
    d->slots[u] =
      grove_index_at(&shape->slots, grove_index_at(&shape->starts, begin + u + last) - last);
  d->nslots = count;
  return GROVE_OK;
}

static grove_status draft_starts(const grove_shape *shape, int64_t begin, int64_t count, draft *d)
{
  int64_t first = grove_index_at(&shape->starts, begin);
  GROVE_PASS_ROOM(d->starts, count + 1);
  for (int64_t u = 0; u <= count; u++)
    d->starts[u] = grove_index_at(&shape->starts, begin + u) - first;
  return draft_entries(shape, first, d->starts[count], d);
}

/* ---- into slots ---- */

/* The unit of every entry, if the next entry need not have the next unit. */
static grove_status draft_units(const grove_shape *shape, int64_t begin, int64_t first, int64_t n,
                                draft *d)
{
  d->nunits = n;
  GROVE_PASS_ROOM(d->units, n);
  for (int64_t k = 0; k < n; k++)
    d->units[k] = is_shared(shape) ? shape->owner[first + k] - begin : k;
  return GROVE_OK;
}

/* Keeps the last entry of each slot. */
static grove_status keep_last(const int32_t *number, int64_t n, int64_t distinct, draft *d)
{
  grove_status status = GROVE_OK;
  int64_t *last = NULL, kept = 0;
  GROVE_ROOM(last, distinct);
  for (int64_t k = 0; k < n; k++) last[number[k]] = k;
  for (int64_t k = 0; k < n; k++)
    if (last[number[k]] == k) {
      d->slots[kept] = d->slots[k];
      d->units[kept++] = d->units[k];
    }
  d->nslots = d->nunits = kept;
fail:
  free(last);
  return status;
}

/* Puts the units of each slot together, in the order of the list. Slots come as they first
 * appear. */
static grove_status group_units(const int32_t *number, int64_t n, int64_t distinct, draft *d)
{
  grove_status status = GROVE_OK;
  int64_t *units = NULL, *next = NULL;
  GROVE_ROOM(units, n);
  GROVE_ROOM(next, distinct);
  GROVE_NEW(d->starts, distinct + 1);
  for (int64_t k = 0; k < n; k++) d->starts[number[k] + 1]++;
  for (int64_t t = 0; t < distinct; t++) d->starts[t + 1] += next[t] = d->starts[t];
  for (int64_t k = 0; k < n; k++) {
    d->slots[number[k]] = d->slots[k]; /* never ahead of k */
    units[next[number[k]]++] = d->units[k];
  }
  d->nslots = distinct;
  free(d->units);
  d->units = units;
  units = NULL;
fail:
  free(units);
  free(next);
  return status;
}

/* Slots of which some are named several times. */
static grove_status draft_repeated(const grove_shape *shape, int64_t begin, int64_t first,
                                   const int32_t *number, int64_t n, int64_t distinct, draft *d)
{
  d->head.form = GROVE_SLOTS_LISTED;
  GROVE_PASS(draft_units(shape, begin, first, n, d));
  GROVE_PASS(d->head.body == GROVE_BODY_IN ? keep_last(number, n, distinct, d)
                                           : group_units(number, n, distinct, d));
  d->targets = distinct;
  return GROVE_OK;
}

static grove_status draft_into(const grove_shape *shape, int64_t begin, int64_t count, draft *d)
{
  grove_status status = GROVE_OK;
  int32_t *number = NULL;
  int shared = is_shared(shape);
  int64_t first = shared ? grove_index_at(&shape->starts, begin) : begin;
  int64_t n = shared ? grove_index_at(&shape->starts, begin + count) - first : count;
  int64_t distinct = n;
  d->targets = n;
  if (!grove_index_consecutive(&shape->slots) && shape->form != GROVE_SHAPE_CONSECUTIVE) {
    GROVE_ROOM(number, n);
    GROVE_TRY(read_slots(&shape->slots, first, n, d));
    GROVE_TRY(
      grove_distinct_number(&(grove_index){.count = n, .wide = d->slots}, number, &distinct));
  }
  if (distinct < n) {
    GROVE_TRY(draft_repeated(shape, begin, first, number, n, distinct, d));
  } else {
    GROVE_TRY(draft_entries(shape, first, n, d));
    if (shared) GROVE_TRY(draft_units(shape, begin, first, n, d));
  }
fail:
  free(number);
  return status;
}

static grove_status draft_lists(const grove_mover *m, const grove_shape *shape, int64_t begin,
                                int64_t count, draft *d)
{
  d->targets = count;
  if (d->head.body == GROVE_BODY_COLLECT) return draft_starts(shape, begin, count, d);
  if (d->head.body != GROVE_BODY_OUT) return draft_into(shape, begin, count, d);
  if (is_shared(shape)) return draft_winners(m, shape, begin, count, d);
  return draft_entries(shape, begin, count, d);
}

/* ---- written ---- */

/* Takes room behind all that has room so far. */
static int64_t take_room(draft *d, int64_t bytes)
{
  enum { ALIGNMENT = 16 };
  int64_t at = d->bytes;
  d->bytes = grove_round_up(at + bytes, ALIGNMENT);
  return at;
}

static void place_list(draft *d, grove_list *list, const int64_t *values, int64_t n)
{
  if (!values) return;
  for (int64_t k = 0; k < n; k++) list->wide |= values[k] > INT32_MAX;
  list->at = take_room(d, n * (list->wide ? 8 : 4));
}

static void write_entries(char *memory, const grove_list *list, const int64_t *values, int64_t n)
{
  if (!values) return;
  if (list->wide)
    memcpy(memory + list->at, values, (size_t)n * sizeof *values);
  else
    for (int64_t k = 0; k < n; k++) ((int32_t *)(memory + list->at))[k] = (int32_t)values[k];
}

static void place_lists(draft *d)
{
  grove_recipe *h = &d->head;
  take_room(d, sizeof *h);
  place_list(d, &h->slots, d->slots, d->nslots);
  place_list(d, &h->units, d->units, d->nunits);
  place_list(d, &h->starts, d->starts, d->targets + 1);
  if (d->rows) h->rows_at = take_room(d, h->nrows * (int64_t)sizeof *d->rows);
  if (d->words) h->words_at = take_room(d, (int64_t)h->words.by * (int64_t)sizeof *d->words);
}

static void write_recipe_lists(const draft *d, char *memory)
{
  const grove_recipe *h = &d->head;
  memcpy(memory, h, sizeof *h);
  write_entries(memory, &h->slots, d->slots, d->nslots);
  write_entries(memory, &h->units, d->units, d->nunits);
  write_entries(memory, &h->starts, d->starts, d->targets + 1);
  if (d->rows) memcpy(memory + h->rows_at, d->rows, (size_t)h->nrows * sizeof *d->rows);
  if (d->words) memcpy(memory + h->words_at, d->words, h->words.by * sizeof *d->words);
}

static grove_status send_draft(const grove_driver *driver, int device, draft *d, void **out)
{
  grove_status status = GROVE_OK;
  char *memory = NULL;
  void *there = NULL;
  place_lists(d);
  GROVE_NEW(memory, d->bytes);
  write_recipe_lists(d, memory);
  GROVE_TRY(driver->allocate(device, d->bytes, &there));
  GROVE_TRY(driver->copy(device, NULL, there, memory, d->bytes));
  GROVE_TRY(driver->finish(device, NULL));
  *out = there;
  there = NULL;
fail:
  driver->free(device, there);
  free(memory);
  return status;
}

/* ---- all of it ---- */

/* Notes what it touches. */
static void note_bounds(const grove_unit *unit, const grove_shape *shape, int64_t begin,
                        int64_t count, grove_prepared *p)
{
  int shared = is_shared(shape);
  int64_t first = shared ? grove_index_at(&shape->starts, begin) : begin;
  int64_t end = shared ? grove_index_at(&shape->starts, begin + count) : begin + count;
  int64_t least = 0, most = 0;
  find_bounds(&shape->slots, first, end, &least, &most);
  least *= unit->extent;
  most *= unit->extent;
  p->low = (least < most ? least : most) + unit->true_lb;
  p->high = (least < most ? most : least) + unit->true_lb + unit->true_extent;
}

/* An access of more ranges than this is not checked. */
enum { MOST_TOUCHED = 64 };

static int compare_touched(const void *a, const void *b)
{
  const grove_touched *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sorts them, and joins those that touch. */
static int join_touched(grove_touched *all, int64_t n)
{
  int64_t left = 0;
  qsort(all, (size_t)n, sizeof *all, compare_touched);
  for (int64_t i = 1; i < n; i++) {
    if (all[i].begin > all[left].end)
      all[++left] = all[i];
    else if (all[i].end > all[left].end)
      all[left].end = all[i].end;
  }
  return left < MOST_TOUCHED ? (int)left + 1 : 0;
}

/* Piece by piece: units may lie inside each other, and what goes out of one while another is
 * written is no conflict. */
grove_status grove_recipe_note_touched(const grove_unit *unit, const grove_shape *shape,
                                       int64_t begin, int64_t count, grove_prepared *p)
{
  int shared = is_shared(shape);
  int64_t first = shared ? grove_index_at(&shape->starts, begin) : begin;
  int64_t end = shared ? grove_index_at(&shape->starts, begin + count) : begin + count;
  const grove_piece *piece = grove_unit_pieces(unit);
  int64_t n = 0;
  grove_touched *all = NULL;
  GROVE_PASS_ROOM(all, (end - first) * unit->npieces);
  for (int64_t i = first; i < end; i++)
    for (int k = 0; k < unit->npieces; k++) {
      int64_t at = grove_index_at(&shape->slots, i) * unit->extent + unit->true_lb + piece[k].at;
      all[n++] = (grove_touched){at, at + piece[k].bytes};
    }
  p->ntouched = join_touched(all, n);
  p->touched = all;
  return GROVE_OK;
}

/* ---- larger words ---- */

/* Do rows of so many bytes, and what is before and in them, consist of words of this size? */
static int rows_have_words(const draft *d, int64_t word)
{
  const grove_recipe *h = &d->head;
  int64_t unit = h->unit_bytes;
  if (h->form == GROVE_SLOTS_BOX)
    return ((int64_t)h->side[0].by * unit | h->begin * unit) % word == 0;
  for (int64_t k = 0; k < h->nrows; k++)
    if (d->rows[k].begin * unit % word != 0) return 0;
  return 1;
}

/* Rows of units without gaps are rows of words, of whatever size divides them. So few items have
 * much to move. */
static void widen_words(const grove_unit *unit, draft *d)
{
  grove_recipe *h = &d->head;
  int64_t word = 16, bytes = d->targets * h->unit_bytes;
  int in_rows =
    h->form == GROVE_SLOTS_RUNS || (h->form == GROVE_SLOTS_BOX && h->stride[0] == h->extent);
  if (!moves_words(h->body) || !in_rows || d->units || unit->npieces != 1) return;
  if (h->extent != h->unit_bytes) return;
  while (word > h->word && (bytes % word != 0 || !rows_have_words(d, word))) word /= 2;
  for (int64_t k = 0; k < h->nrows; k++) d->rows[k].begin = d->rows[k].begin * h->unit_bytes / word;
  h->begin = h->begin * h->unit_bytes / word;
  if (h->form == GROVE_SLOTS_BOX) {
    h->side[0] = grove_divisor_make((int64_t)h->side[0].by * h->unit_bytes / word);
    h->stride[0] = word;
  }
  h->word = h->unit_bytes = h->extent = word;
  h->words = grove_divisor_make(1);
  d->targets = bytes / word;
}

static grove_status make_recipe(const grove_driver *driver, int device, const grove_mover *m,
                                const grove_shape *shape, int64_t begin, int64_t count,
                                grove_prepared *p, draft *d)
{
  void *there = NULL;
  GROVE_PASS(divide_unit(m, d));
  GROVE_PASS(draft_lists(m, shape, begin, count, d));
  widen_words(&m->unit, d);
  GROVE_PASS(send_draft(driver, device, d, &there));
  p->recipe = there;
  p->bytes = d->bytes;
  p->items = d->targets * (int64_t)d->head.words.by;
  return GROVE_OK;
}

static grove_status prepare_motion(const grove_driver *driver, int device, const grove_mover *mover,
                                   const grove_shape *shape, int64_t begin, int64_t count,
                                   grove_motion motion, int both, grove_prepared *out)
{
  grove_status status = GROVE_OK;
  const grove_unit *unit = &mover->unit;
  grove_prepared p = {0};
  draft d = {0};
  int body = choose_body(mover, shape, motion);
  d.head.body = body;
  if (body != NO_BODY && count > 0) {
    p.message_bytes = count * unit->bytes;
    p.writes_array = writes_slots(body);
    p.writes_message = motion != GROVE_MOTION_UNPACK;
    p.moves_only = moves_words(body);
    p.is_copy = p.moves_only && grove_pack_is_trivial(unit, shape);
    int needs_recipe = both || !p.is_copy;
    note_bounds(unit, shape, begin, count, &p);
    if (needs_recipe) GROVE_TRY(make_recipe(driver, device, mover, shape, begin, count, &p, &d));
    if (needs_recipe && driver->checks_order)
      GROVE_TRY(grove_recipe_note_touched(unit, shape, begin, count, &p));
  }
  drop_draft(&d);
  *out = p;
  return GROVE_OK;
fail:
  drop_draft(&d);
  grove_recipe_free(driver, device, &p);
  return status;
}

grove_status grove_recipe_prepare(const grove_driver *driver, int device, const grove_mover *mover,
                                  const grove_shape *shape, int64_t begin, int64_t count,
                                  grove_motion motion, grove_prepared *out)
{
  return prepare_motion(driver, device, mover, shape, begin, count, motion, 0, out);
}

grove_status grove_recipe_prepare_both(const grove_driver *driver, int device,
                                       const grove_mover *mover, const grove_shape *shape,
                                       int64_t begin, int64_t count, grove_motion motion,
                                       grove_prepared *out)
{
  return prepare_motion(driver, device, mover, shape, begin, count, motion, 1, out);
}

grove_status grove_recipe_prepare_lists(const grove_driver *driver, int device,
                                        const grove_mover *mover, grove_motion motion,
                                        const grove_chains *chains, grove_prepared *out)
{
  grove_status status = GROVE_OK;
  void *there = NULL;
  draft d = {.head.body = motion == GROVE_MOTION_FETCH ? GROVE_BODY_FETCH : GROVE_BODY_COMBINE,
             .head.form = GROVE_SLOTS_LISTED,
             .targets = chains->targets,
             .nslots = chains->targets,
             .slots = chains->slots,
             .nunits = chains->nunits,
             .units = chains->units,
             .starts = chains->starts};
  GROVE_TRY(divide_unit(mover, &d));
  d.head.unit_bytes = chains->grain;
  GROVE_TRY(send_draft(driver, device, &d, &there));
  *out = (grove_prepared){.recipe = there,
                          .bytes = d.bytes,
                          .items = chains->targets * (int64_t)d.head.words.by,
                          .writes_array = 1,
                          .writes_message = motion == GROVE_MOTION_FETCH};
fail:
  free(d.words); /* the lists are the caller's */
  return status;
}

void grove_recipe_free(const grove_driver *driver, int device, grove_prepared *p)
{
  driver->free(device, p->recipe);
  free(p->touched);
  *p = (grove_prepared){0};
}

void grove_launch_add(grove_launch *launch, const grove_prepared *p, void *array, void *message)
{
  int64_t end = grove_launch_size(launch) + p->items;
  launch->moves_only = p->moves_only && (launch->njobs == 0 || launch->moves_only);
  launch->jobs[launch->njobs++] = (grove_job){p->recipe, array, message, end, 0, 0, 0};
}
