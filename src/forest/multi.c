/* The multi-forest: every leaf has a root of its own. The owner of a root knows its leaves, in the
 * order that counts, so it numbers the new roots by itself. One exchange tells the leaves' ranks
 * the numbers of theirs. Everything else stays as it was. Operations that only move data along the
 * multi-forest do without that exchange: the entries of a message have the same order at both ends.
 */
#include "forest/forest.h"

#include <stdlib.h>
#include <string.h>

/* The usual case, with half the memory, since access is random. */
static grove_status number_narrow(int64_t nroots, int64_t n, const int32_t *slot, int32_t *number)
{
  grove_status status = GROVE_OK;
  int32_t *next = NULL;
  GROVE_NEW(next, nroots + 1);
  for (int64_t e = 0; e < n; e++) next[slot[e] + 1]++;
  for (int64_t r = 0; r < nroots; r++) next[r + 1] += next[r];
  for (int64_t e = 0; e < n; e++) number[e] = next[slot[e]]++;
fail:
  free(next);
  return status;
}

/* Entries of roots.slots are sorted by leaf rank, then by position in that rank's list: the order
 * of a root's leaves. */
grove_status grove_multi_slots(const grove_forest *f, grove_index *out)
{
  grove_status status = GROVE_OK;
  const grove_index *slots = &f->roots.slots;
  grove_index list = {0};
  int64_t *next = NULL;
  GROVE_TRY(grove_index_reserve(slots->count, 0, slots->count - 1, &list));
  if (slots->narrow && list.narrow) {
    GROVE_TRY(number_narrow(f->nroots, slots->count, slots->narrow, list.narrow));
  } else {
    GROVE_NEW(next, f->nroots + 1);
    for (int64_t e = 0; e < slots->count; e++) next[grove_index_at(slots, e) + 1]++;
    for (int64_t r = 0; r < f->nroots; r++) next[r + 1] += next[r];
    for (int64_t e = 0; e < slots->count; e++)
      grove_index_put(&list, e, next[grove_index_at(slots, e)]++);
  }
  *out = list;
  list = (grove_index){0};
fail:
  free(next);
  grove_index_free(&list);
  return status;
}

/* ---- copies ---- */

/* Copies all but the slots. No edge of a multi-forest repeats a root. */
static grove_status copy_side(const grove_side *from, grove_side *to)
{
  GROVE_PASS_ROOM(to->ranks, from->count);
  GROVE_PASS_ROOM(to->begin, from->count + 1);
  GROVE_PASS_NEW(to->repeats, from->count);
  memcpy(to->ranks, from->ranks, (size_t)from->count * sizeof *to->ranks);
  for (int g = 0; g < from->count; g++) to->begin[g] = from->begin[g];
  to->begin[from->count] = from->count > 0 ? from->begin[from->count] : 0;
  to->count = from->count;
  return GROVE_OK;
}

/* ---- what the leaves are told ---- */

/* The numbers of group g as bytes: 4 or 8 each, which the reader can tell from the length. */
static grove_packet numbers_of(const grove_forest *multi, int g)
{
  const grove_side *side = &multi->roots;
  int64_t begin = side->begin[g], n = side->begin[g + 1] - begin;
  int width = side->slots.narrow ? 4 : 8;
  char *data =
    side->slots.narrow ? (char *)(side->slots.narrow + begin) : (char *)(side->slots.wide + begin);
  return (grove_packet){.peer = side->ranks[g], .bytes = n * width, .data = data};
}

static grove_status write_numbers(const grove_forest *multi, grove_packet_exchange *exchange,
                                  grove_packet *own)
{
  GROVE_PASS_NEW(exchange->sent, multi->roots.count);
  for (int g = 0; g < multi->roots.count; g++) {
    grove_packet packet = numbers_of(multi, g);
    if (packet.peer == multi->ctx->rank)
      *own = packet;
    else
      exchange->sent[exchange->nsent++] = packet;
  }
  return GROVE_OK;
}

/* The packet of each group of leaves. Packets come by ascending rank, and so do the groups. */
static grove_status sort_numbers(const grove_forest *multi, const grove_packet_exchange *exchange,
                                 const grove_packet *own, grove_packet *out)
{
  for (int g = 0, i = 0; g < multi->leaves.count; g++) {
    int rank = multi->leaves.ranks[g], self = rank == multi->ctx->rank;
    const grove_packet *p = self ? own : i < exchange->ncame ? &exchange->came[i++] : NULL;
    GROVE_PASS_CHECK(p && p->peer == rank, GROVE_ERR_STATE,
                     "rank %d: no numbers of new roots from rank %d", multi->ctx->rank, rank);
    out[g] = *p;
  }
  return GROVE_OK;
}

static int64_t number_at(const grove_packet *p, int64_t n, int64_t k)
{
  return p->bytes == 4 * n ? ((const int32_t *)p->data)[k] : ((const int64_t *)p->data)[k];
}

static int64_t greatest_number(const grove_forest *multi, const grove_packet *of_group)
{
  int64_t most = 0;
  for (int g = 0; g < multi->leaves.count; g++) {
    int64_t n = multi->leaves.begin[g + 1] - multi->leaves.begin[g];
    for (int64_t k = 0; k < n; k++) {
      int64_t number = number_at(&of_group[g], n, k);
      if (number > most) most = number;
    }
  }
  return most;
}

/* The edges in the order of the user's list, with the new roots. */
static grove_status number_edges(const grove_forest *f, const grove_packet *of_group,
                                 grove_forest *multi)
{
  grove_status status = GROVE_OK;
  int64_t *next = NULL;
  int bits = grove_bits(f->leaves.count);
  int64_t most = greatest_number(multi, of_group);
  GROVE_CHECK(most >> grove_root_bits(f->ctx->size) == 0, GROVE_ERR_GRAPH,
              "rank %d: a root of the multi-forest has number %lld", f->ctx->rank, (long long)most);
  GROVE_NEW(next, f->leaves.count);
  GROVE_TRY(grove_index_reserve(f->nleaves, 0, grove_edge_code(most, bits, f->leaves.count - 1),
                                &multi->edges));
  for (int64_t i = 0; i < f->nleaves; i++) {
    int64_t g = grove_edge_group(grove_index_at(&f->edges, i), bits);
    int64_t n = f->leaves.begin[g + 1] - f->leaves.begin[g];
    int64_t number = number_at(&of_group[g], n, next[g]++);
    grove_index_put(&multi->edges, i, grove_edge_code(number, bits, g));
  }
  grove_index_settle(&multi->edges);
fail:
  free(next);
  return status;
}

/* ---- the whole ---- */

/* The local part of the work. */
static grove_status make_multi(const grove_forest *f, grove_forest *multi)
{
  multi->nroots = f->roots.slots.count;
  multi->nleaves = f->nleaves;
  multi->listed = f->listed;
  multi->has_duplicates = f->has_duplicates;
  multi->some_duplicates = f->some_duplicates;
  multi->leaf_first = f->leaf_first;
  multi->leaf_end = f->leaf_end;
  GROVE_PASS(copy_side(&f->leaves, &multi->leaves));
  GROVE_PASS(grove_index_copy(&f->leaves.slots, &multi->leaves.slots));
  GROVE_PASS(copy_side(&f->roots, &multi->roots));
  return grove_multi_slots(f, &multi->roots.slots);
}

/* Reads the packets that came. This rank's failure. */
static grove_status read_numbers(const grove_forest *f, const grove_packet_exchange *exchange,
                                 const grove_packet *own, grove_forest *multi)
{
  grove_status status = GROVE_OK;
  grove_packet *of_group = NULL;
  GROVE_NEW(of_group, f->leaves.count);
  GROVE_TRY(sort_numbers(multi, exchange, own, of_group));
  GROVE_TRY(number_edges(f, of_group, multi));
  grove_index_settle(&multi->roots.slots);
fail:
  free(of_group);
  return status;
}

/* Agreed by all. */
static grove_status exchange_numbers(const grove_forest *f, grove_status mine, grove_forest *multi)
{
  grove_status status = GROVE_OK;
  grove_packet_exchange exchange = {0};
  grove_packet own = {0};
  if (mine == GROVE_OK) mine = write_numbers(multi, &exchange, &own);
  status = grove_context_exchange(f->ctx, mine, NULL, 0, &exchange);
  if (exchange.nsent > 0 && !exchange.sent)
    multi->roots.slots = (grove_index){0}; /* MPI may still read it */
  if (status != GROVE_OK) goto fail;
  mine = read_numbers(f, &exchange, &own, multi);
  GROVE_TRY(grove_context_agree(f->ctx, mine, NULL, 0));
fail:
  free(exchange.sent);
  grove_packet_list_free(exchange.ncame, exchange.came);
  return status;
}

static grove_status name_after(const grove_forest *f, grove_forest *multi)
{
  char name[128];
  snprintf(name, sizeof name, "%.100s (multi)", f->name);
  return grove_forest_set_name(multi, name);
}

static grove_status make_with_ranks(grove_forest *f, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_forest *multi = NULL;
  grove_status mine = grove_forest_create(f->ctx, &multi);
  if (mine == GROVE_OK) mine = make_multi(f, multi);
  if (mine == GROVE_OK && f->name) mine = name_after(f, multi);
  GROVE_TRY(exchange_numbers(f, mine, multi));
  multi->serial = f->ctx->forests++;
  multi->ready = 1;
  *out = multi;
  return GROVE_OK;
fail:
  if (multi) grove_forest_release(multi);
  return status;
}

grove_status grove_forest_multi(grove_forest *f, grove_forest **out)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(f, GROVE_ERR_ARG, "grove_forest_multi: the forest is NULL");
  GROVE_CHECK(out, GROVE_ERR_ARG, "grove_forest_multi: out is NULL");
  GROVE_TRY(grove_context_enter_call(f->ctx, "grove_forest_multi"));
  status = f->ready ? make_with_ranks(f, out) : grove_forest_all_not_ready(f, "grove_forest_multi");
  grove_context_leave_call(f->ctx);
fail:
  return GROVE_VERDICT(f, status);
}
