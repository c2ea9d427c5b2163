/* Ranks that do not make the same operation. Their signatures have told them so; now each compares
 * what it makes with what rank 0 does, and the lowest rank that finds a difference says which.
 */
#include "exec/transfer.h"

#include <stdlib.h>
#include <string.h>

/* What a rank makes, one for each member of a bundle. */
typedef struct claim {
  int n; /* members */
  grove_operation operation;
  int64_t forest, unit_bytes;
  grove_kind unit_kind;
  int op_number;
  char forest_name[64], type[GROVE_UNIT_NAME_BYTES], op[32];
} claim;

static void write_claims(const grove_draft *m, claim *out)
{
  for (int k = 0; k < m->n; k++) {
    const grove_request *r = &m->requests[k];
    const grove_wiring_key *key = &m->keys[k];
    out[k] = (claim){.operation = key->operation,
                     .forest = r->forest->serial,
                     .unit_bytes = key->unit_bytes,
                     .unit_kind = key->unit_kind,
                     .op_number = key->op_number};
    grove_copy_text(out[k].forest_name, sizeof out[k].forest_name, grove_forest_label(r->forest));
    grove_copy_text(out[k].op, sizeof out[k].op, grove_combine_name(r->op));
    grove_unit_name(r->unit, out[k].type);
  }
  out[0].n = m->n;
}

/* ---- the sentence ---- */

enum { CLAIM_TEXT = 384, RANKS_TEXT = 192 };

/* "a reduce of MPI_INT with MPI_SUM on forest 'halo' (number 2)". */
static void describe_claim(const claim *c, char out[CLAIM_TEXT])
{
  int has_op = c->operation != GROVE_COLLECT && c->operation != GROVE_DISTRIBUTE;
  snprintf(out, CLAIM_TEXT, "a %s of %s%s%s on forest '%s' (number %lld)",
           grove_operation_name(c->operation), c->type, has_op ? " with " : "", has_op ? c->op : "",
           c->forest_name, (long long)c->forest);
}

/* "the operation", "the datatype and the forest"; "" where both are the same. */
static void name_difference(const claim *a, const claim *b, char out[CLAIM_TEXT])
{
  const char *const names[] = {"operation", "datatype", "MPI operation", "forest"};
  const int differs[] = {a->operation != b->operation,
                         a->unit_bytes != b->unit_bytes || a->unit_kind != b->unit_kind,
                         a->op_number != b->op_number, a->forest != b->forest};
  size_t used = 0;
  *out = '\0';
  for (int i = 0; i < 4; i++)
    if (differs[i])
      used +=
        (size_t)snprintf(out + used, CLAIM_TEXT - used, "%sthe %s", used ? " and " : "", names[i]);
}

/* "; ranks 3, 5 and 2 more differ from rank 0 too". */
static void name_others(const grove_context *ctx, const int64_t *signatures, char out[RANKS_TEXT])
{
  enum { MOST_NAMED = 8 };
  char names[104] = "", more[32] = "";
  size_t used = 0;
  int n = 0;
  for (int r = 0; r < ctx->size; r++)
    if (r != ctx->rank && signatures[r] != signatures[0] && n++ < MOST_NAMED)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%d", n > 1 ? ", " : "", r);
  *out = '\0';
  if (n == 0) return;
  if (n > MOST_NAMED) snprintf(more, sizeof more, " and %d more", n - MOST_NAMED);
  snprintf(out, RANKS_TEXT, "; rank%s %s%s differ%s from rank 0 too", n > 1 ? "s" : "", names, more,
           n > 1 ? "" : "s");
}

static grove_status tell_counts(const grove_context *ctx, int first, int own, const char *others)
{
  return grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                     "rank %d: %s: the ranks do not make the same operation: rank 0 makes one of "
                     "%d members, rank %d one of %d%s",
                     ctx->rank, ctx->call, first, ctx->rank, own, others);
}

static grove_status tell_difference(const grove_context *ctx, const claim *first, const claim *own,
                                    int member, const char *others)
{
  char theirs[CLAIM_TEXT], mine[CLAIM_TEXT], what[CLAIM_TEXT], where[48] = "";
  describe_claim(first, theirs);
  describe_claim(own, mine);
  name_difference(first, own, what);
  if (member >= 0) snprintf(where, sizeof where, "in member %d ", member);
  return grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                     "rank %d: %s: the ranks do not make the same operation: %s%.100s differ%s; "
                     "rank 0 makes %.250s, rank %d makes %.250s%s",
                     ctx->rank, ctx->call, where, what, strstr(what, " and ") ? "" : "s", theirs,
                     ctx->rank, mine, others);
}

/* This rank's failure, if it does not make what rank 0 does. */
static grove_status compare_claims(const grove_context *ctx, const claim *first, const claim *own,
                                   const int64_t *signatures)
{
  char others[RANKS_TEXT], what[CLAIM_TEXT];
  if (signatures[ctx->rank] == signatures[0]) return GROVE_OK;
  name_others(ctx, signatures, others);
  if (first->n != own->n) return tell_counts(ctx, first->n, own->n, others);
  for (int k = 0; k < own->n; k++) {
    name_difference(&first[k], &own[k], what);
    if (*what) return tell_difference(ctx, &first[k], &own[k], own->n > 1 ? k : -1, others);
  }
  return GROVE_OK;
}

/* ---- asking ---- */

/* How many members the largest has. Ranks that are here put up the same number: one in another
 * call does not, and nobody may wait for it. Agreed by all who are here. */
static grove_status meet_others(grove_context *ctx, int n, int64_t *most)
{
  const int64_t here = INT64_C(0x67726f7665);
  int64_t all[3] = {here, -here, n};
  GROVE_PASS(grove_context_agree(ctx, GROVE_OK, all, 3));
  if (all[0] != here || all[1] != -here) return grove_context_refuse_call(ctx);
  *most = all[2];
  return GROVE_OK;
}

grove_status grove_draft_differ(grove_context *ctx, const void *draft)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  const grove_draft *m = draft;
  int64_t most = 0, *signatures = NULL;
  claim *own = NULL, *first = NULL;
  GROVE_TRY(meet_others(ctx, m->n, &most));
  mine = GROVE_MADE_ALL(GROVE_WISH(own, most + 1), GROVE_WISH(first, most + 1));
  signatures = grove_memory((size_t)ctx->size, sizeof *signatures);
  if (mine == GROVE_OK && !signatures) mine = GROVE_NO_MEMORY(signatures, ctx->size);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  write_claims(m, own);
  memcpy(first, own, (size_t)most * sizeof *first);
  GROVE_TRY(grove_context_collect(ctx, m->purpose.signature, 1, &signatures));
  GROVE_TRY(grove_context_tell(ctx, first, (int)(most * (int64_t)sizeof *first), 0));
  mine = compare_claims(ctx, first, own, signatures);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  GROVE_CHECK(0, GROVE_ERR_STATE, "%s: the ranks do not make the same operation", ctx->call);
fail:
  free(signatures);
  free(own); /* and first */
  return status;
}
