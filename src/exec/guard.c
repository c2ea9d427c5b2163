/* The option `check`, while an operation is under way: from its start until it is waited for,
 * nobody may write what it reads, or touch what it writes.
 *
 * A start compares its footprint with those of all operations of the process that are under way, in
 * any context with this option. It also takes a digest of all that is read, and the wait takes it
 * again. What is marked part by part has its digest from then on.
 *
 * Legal programs are never told off, so in doubt nothing is said. By parts, memory changes hands in
 * between: what is not marked is still the user's, and what has been told is the user's again. So
 * of such an operation only its own start looks at what it writes. Arrays on devices, and those
 * beside them, are final when their stream says so: these have no digests.
 */
#include "exec/guard.h"

#include "base/digest.h"

#include <pthread.h>
#include <string.h>

/* Those that are open, in all contexts: threads that use different ones meet here. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static grove_guard *opened;

/* ---- digests ---- */

/* By words, which is faster than a checksum. A word that changes alone is always seen. */
uint64_t grove_guard_digest(uint64_t sum, const char *data, int64_t bytes)
{
  for (int64_t at = 0; at < bytes; at += 8) {
    uint64_t word = 0;
    memcpy(&word, data + at, (size_t)(bytes - at < 8 ? bytes - at : 8));
    sum = grove_digest_word(sum, word);
  }
  return sum;
}

uint64_t grove_guard_digest_unit(const grove_unit *unit, const char *begin)
{
  const grove_piece *pieces = grove_unit_pieces(unit);
  uint64_t sum = 0;
  for (int k = 0; k < unit->npieces; k++)
    sum = grove_guard_digest(sum, begin + pieces[k].at, pieces[k].bytes);
  return sum == 0 ? 1 : sum;
}

/* ---- other operations ---- */

/* A pair of treads that share memory. */
typedef struct clash {
  const grove_tread *mine, *other;
  uintptr_t at; /* the first byte of it */
} clash;

static int find_clash(const grove_treads *mine, const grove_treads *others, clash *out)
{
  for (int64_t i = 0, k = 0; i < mine->n && k < others->n;) {
    const grove_tread *a = &mine->list[i], *b = &others->list[k];
    uintptr_t meeting = grove_tread_meeting(a, b);
    if (meeting != UINTPTR_MAX) {
      *out = (clash){a, b, meeting};
      return 1;
    }
    if (a->end <= b->end)
      i++;
    else
      k++;
  }
  return 0;
}

static grove_status refuse_clash(const grove_guard *g, const char *does, const grove_guard *other,
                                 const char *does_other, const clash *c)
{
  char mine[224], others[224];
  const grove_context *ctx = g->op->ctx;
  g->kind->name(g, c->mine, c->at, mine, sizeof mine);
  other->kind->name(other, c->other, c->at, others, sizeof others);
  return grove_error(
    GROVE_ERR_STATE, __FILE__, __LINE__,
    "rank %d: this start %s %s, which is the same memory as %s%s, which is under way "
    "and %s it; wait for that one first, or give one of them memory of its own",
    ctx->rank, does, mine, others, ctx == other->op->ctx ? "" : " of another context", does_other);
}

static grove_status compare_footprints(const grove_guard *g, const grove_guard *other)
{
  const grove_footprint *mine = &g->footprint, *others = &other->footprint;
  clash c;
  if (!other->kind->tells_arrivals(other)) {
    if (find_clash(&mine->written, &others->written, &c))
      return refuse_clash(g, "writes", other, "writes", &c);
    if (!g->by_parts && find_clash(&mine->read, &others->written, &c))
      return refuse_clash(g, "reads", other, "writes", &c);
  }
  if (!other->by_parts && find_clash(&mine->written, &others->read, &c))
    return refuse_clash(g, "writes", other, "reads", &c);
  return GROVE_OK;
}

/* ---- a start and its end ---- */

grove_status grove_guard_join(grove_guard *g)
{
  grove_status status = GROVE_OK;
  pthread_mutex_lock(&gate);
  for (const grove_guard *k = opened; k && status == GROVE_OK; k = k->next)
    status = compare_footprints(g, k);
  if (status == GROVE_OK) {
    g->next = opened;
    opened = g;
    g->is_open = 1;
  }
  pthread_mutex_unlock(&gate);
  return status;
}

void grove_guard_close(grove_guard *g)
{
  grove_guard **at = &opened;
  if (!g->is_open) return;
  pthread_mutex_lock(&gate);
  while (*at != g) at = &(*at)->next;
  *at = g->next;
  g->is_open = 0;
  pthread_mutex_unlock(&gate);
}

void grove_op_look_back(grove_op *op)
{
  grove_guard *g = op->guard;
  grove_context_enter(op->ctx);
  int was_open = g->is_open;
  grove_guard_close(g);
  grove_context_leave(op->ctx);
  if (was_open && op->failure == GROVE_OK) grove_op_note(op, g->kind->compare(g));
}

void grove_guard_free(grove_guard **pointer)
{
  grove_guard *g = *pointer;
  if (!g) return;
  grove_footprint_free(&g->footprint);
  g->kind->free(g);
  *pointer = NULL;
}
