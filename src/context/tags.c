/* Tags. Operations are freed at different times on different ranks, so which tags are free is each
 * rank's own knowledge; an operation is made on all ranks together, so there they can agree. Every
 * rank proposes its lowest free tag; the highest proposal is taken if it was everybody's, else all
 * propose again from there on. Nearly always one round, the same that agrees on the status.
 */
#include "context/context.h"

#include <stdlib.h>
#include <string.h>

/* The lowest free tag that is at least `tag`. */
static grove_status lowest_free(grove_context *ctx, int64_t tag, int64_t *out)
{
  grove_status status = GROVE_OK;
  int64_t i = tag - GROVE_TAG_FIRST;
  while (i < ctx->tags && ctx->tag_used[i]) i++;
  GROVE_CHECK(i + GROVE_TAG_FIRST < ctx->tag_limit, GROVE_ERR_UNSUPPORTED,
              "all %d message tags of this MPI are in use by operations",
              ctx->tag_limit - GROVE_TAG_FIRST);
  *out = i + GROVE_TAG_FIRST;
fail:
  return status;
}

static grove_status mark(grove_context *ctx, int tag)
{
  grove_status status = GROVE_OK;
  int i = tag - GROVE_TAG_FIRST;
  if (i >= ctx->tags) {
    int tags = 2 * i + 16;
    unsigned char *used = realloc(ctx->tag_used, (size_t)tags);
    GROVE_CHECK(used, GROVE_ERR_MEMORY, "no memory for %d tags", tags);
    memset(used + ctx->tags, 0, (size_t)(tags - ctx->tags));
    ctx->tag_used = used;
    ctx->tags = tags;
  }
  ctx->tag_used[i] = 1;
fail:
  return status;
}

grove_status grove_context_take_tag(grove_context *ctx, grove_status mine, int64_t signature,
                                    int *tag)
{
  grove_status status = GROVE_OK;
  int64_t from = GROVE_TAG_FIRST, bounds[4];
  do {
    int64_t free_tag = from;
    if (mine == GROVE_OK) mine = lowest_free(ctx, from, &free_tag);
    bounds[0] = free_tag;
    bounds[1] = -free_tag;
    bounds[2] = signature;
    bounds[3] = -signature;
    GROVE_TRY(grove_context_agree(ctx, mine, bounds, 4));
    GROVE_CHECK(bounds[2] == -bounds[3], GROVE_ERR_STATE,
                "the ranks do not make the same operation: forest, operation or unit differ");
    from = bounds[0];
  } while (bounds[0] != -bounds[1]);
  GROVE_TRY(mark(ctx, (int)from));
  *tag = (int)from;
fail:
  return status;
}

void grove_context_return_tag(grove_context *ctx, int tag)
{
  if (tag >= GROVE_TAG_FIRST) ctx->tag_used[tag - GROVE_TAG_FIRST] = 0;
}
