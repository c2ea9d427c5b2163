#include "exec/op.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a, 64 bit. */
static uint64_t checksum(const void *message, int64_t bytes)
{
  const unsigned char *at = message;
  uint64_t sum = 14695981039346656037u;
  for (int64_t i = 0; i < bytes; i++) sum = (sum ^ at[i]) * 1099511628211u;
  return sum;
}

void grove_check_seal(void *message, int64_t bytes, int64_t sequence)
{
  grove_trailer trailer = {checksum(message, bytes), (uint64_t)sequence};
  memcpy((char *)message + bytes, &trailer, sizeof trailer);
}

grove_status grove_check_open(const grove_op *op, int peer, const void *message, int64_t bytes)
{
  grove_status status = GROVE_OK;
  grove_trailer trailer;
  memcpy(&trailer, (const char *)message + bytes, sizeof trailer);
  GROVE_CHECK(trailer.sequence == (uint64_t)op->sequence, GROVE_ERR_CORRUPT,
              "rank %d: %s on forest '%.100s': the message from rank %d belongs to start %llu, not "
              "%lld",
              op->ctx->rank, grove_operation_name(op->channel->key.operation),
              op->forest ? grove_forest_label(op->forest) : "", peer,
              (unsigned long long)trailer.sequence, (long long)op->sequence);
  GROVE_CHECK(trailer.checksum == checksum(message, bytes), GROVE_ERR_CORRUPT,
              "rank %d: %s on forest '%.100s': the message of %lld bytes from rank %d is not what "
              "was sent",
              op->ctx->rank, grove_operation_name(op->channel->key.operation),
              op->forest ? grove_forest_label(op->forest) : "", (long long)bytes, peer);
fail:
  return status;
}

/* ---- overlapping arrays ---- */

typedef struct span {
  uintptr_t begin, end;
  int64_t slot;
} span;

static int by_begin(const void *a, const void *b)
{
  const span *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

typedef struct spans {
  int64_t n;
  span *list;
} spans;

/* Units that are longer than their extent lie in each other's gaps without harm; of those only the
 * first byte counts. */
static void add(const grove_unit *unit, const void *array, const grove_index *slots, spans *out)
{
  for (int64_t i = 0; i < slots->count; i++) {
    int64_t slot = grove_index_at(slots, i);
    uintptr_t begin = (uintptr_t)grove_unit_at(unit, array, slot) + (uintptr_t)unit->true_lb;
    uintptr_t bytes = unit->true_extent <= unit->extent ? (uintptr_t)unit->true_extent : 1;
    out->list[out->n++] = (span){begin, begin + bytes, slot};
  }
}

static grove_status collect(const grove_channel *channel, const grove_unit *unit, const void *array,
                            int written, spans *out)
{
  grove_status status = GROVE_OK;
  const grove_stage *stages = channel->plan->stages;
  int64_t n = 0;
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) GROVE_NEW(out->list, n);
    for (int s = 0; s < channel->plan->nstages; s++) {
      int count = written ? stages[s].nreceives : stages[s].nsends;
      const grove_message *m = written ? stages[s].receives : stages[s].sends;
      for (int i = 0; i < count; i++) {
        n += m[i].slots.index.count;
        if (pass == 1) add(unit, array, &m[i].slots.index, out);
      }
      const grove_slots *kept = written ? &stages[s].keep_to : &stages[s].keep_from;
      n += kept->index.count;
      if (pass == 1) add(unit, array, &kept->index, out);
    }
  }
  qsort(out->list, (size_t)out->n, sizeof *out->list, by_begin);
fail:
  return status;
}

grove_status grove_check_overlap(const grove_channel *channel, const grove_unit *unit,
                                 const void *from, const void *to)
{
  grove_status status = GROVE_OK;
  spans read = {0}, written = {0};
  if (unit->bytes == 0) return GROVE_OK;
  GROVE_TRY(collect(channel, unit, from, 0, &read));
  GROVE_TRY(collect(channel, unit, to, 1, &written));
  for (int64_t r = 0, w = 0; r < read.n && w < written.n;) {
    const span *a = &read.list[r], *b = &written.list[w];
    int is_bcast = channel->key.operation == GROVE_BCAST;
    GROVE_CHECK(a->end <= b->begin || b->end <= a->begin, GROVE_ERR_ARG,
                "rank %d: the arrays overlap: %s %lld, which is read, and %s %lld, which is "
                "written, are the same memory",
                channel->rank, is_bcast ? "root" : "leaf", (long long)a->slot,
                is_bcast ? "leaf" : "root", (long long)b->slot);
    if (a->begin < b->begin)
      r++;
    else
      w++;
  }
fail:
  free(read.list);
  free(written.list);
  return status;
}
