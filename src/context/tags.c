/* Tags. Operations are freed at different times on different ranks, so each rank has its own view
 * of which tags are free. An operation is made on all ranks together, so they can agree then. Every
 * rank proposes its lowest free tag. The highest proposal is taken if all proposed it; else all
 * propose again from there on. This nearly always takes one round, the same that agrees on the
 * status.
 *
 * If the last operation of a tag was not started equally often everywhere (a rank gave up after a
 * timeout), a message that nobody will receive may be under way. Such a tag is never used again.
 */
#include "context/context.h"

#include <string.h>

/* The lowest free tag that is at least `tag`. */
static grove_status lowest_free(grove_context *ctx, int64_t tag, int64_t *out)
{
  int64_t i = tag - GROVE_TAG_FIRST;
  while (i < ctx->tags && ctx->tag[i].used) i++;
  GROVE_PASS_CHECK(i + GROVE_TAG_FIRST < ctx->tag_limit, GROVE_ERR_UNSUPPORTED,
                   "all %d message tags of this MPI are in use by operations",
                   ctx->tag_limit - GROVE_TAG_FIRST);
  *out = i + GROVE_TAG_FIRST;
  return GROVE_OK;
}

/* Room for the record of this tag, before it is agreed upon. */
static grove_status make_tag(grove_context *ctx, int64_t tag)
{
  int more = (int)tag - GROVE_TAG_FIRST + 1 - ctx->tags;
  if (more <= 0) return GROVE_OK;
  GROVE_PASS_GROW(ctx->tag, ctx->tags, more);
  memset(ctx->tag + ctx->tags, 0, (size_t)more * sizeof *ctx->tag);
  ctx->tags += more;
  return GROVE_OK;
}

static int64_t starts_of(const grove_context *ctx, int64_t tag)
{
  int64_t i = tag - GROVE_TAG_FIRST;
  return i < ctx->tags ? ctx->tag[i].starts : 0;
}

grove_status grove_context_take_tag(grove_context *ctx, grove_status mine,
                                    const grove_purpose *purpose, int64_t most[2], int *tag)
{
  for (int64_t from = GROVE_TAG_FIRST;;) {
    int64_t proposal = from;
    if (mine == GROVE_OK) mine = lowest_free(ctx, from, &proposal);
    if (mine == GROVE_OK) mine = make_tag(ctx, proposal);
    int64_t starts = starts_of(ctx, proposal), signature = purpose->signature;
    int64_t all[8] = {proposal,  -proposal,  starts,  -starts,
                      signature, -signature, most[0], most[1]};
    GROVE_PASS(grove_context_agree(ctx, mine, all, 8));
    GROVE_PASS(grove_context_compare(ctx, purpose, all + 4));
    from = all[0];
    most[0] = all[6];
    most[1] = all[7];
    if (all[0] != -all[1]) continue;
    ctx->tag[from - GROVE_TAG_FIRST].used = 1;
    if (all[2] != -all[3]) continue;
    *tag = (int)from;
    return GROVE_OK;
  }
  return GROVE_OK;
}

void grove_context_return_tag(grove_context *ctx, int tag, int64_t starts)
{
  ctx->tag[tag - GROVE_TAG_FIRST] = (grove_tag){.starts = starts};
}
