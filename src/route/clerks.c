#include "route/clerks.h"

#include <string.h>

/* Up to so many ranks, letters go to clerks themselves: there are few, and another exchange is a
 * step more that all ranks wait for. A round number, not a measured one. */
enum { FEW_RANKS = 64 };

static int node_of(const grove_context *ctx, int rank)
{
  return ctx->topo.place[rank].node;
}

static int own_clerk(const grove_context *ctx)
{
  return grove_clerk(&ctx->topo, node_of(ctx, ctx->rank));
}

static int deputy_of(const grove_context *ctx, int clerk)
{
  int node = node_of(ctx, clerk), ranks = grove_topo_node_size(&ctx->topo, node);
  return grove_topo_node_rank(&ctx->topo, node, ctx->topo.place[ctx->rank].local % ranks);
}

/* ---- there ---- */

/* A letter within a letter to the own clerk: whose it is, how long, and what it says. */
static grove_status enclose(const grove_context *ctx, int from, int64_t n, const int64_t *words,
                            grove_post *home)
{
  grove_status status = GROVE_OK;
  int64_t *to = NULL;
  GROVE_TRY(grove_post_write(home, own_clerk(ctx), 2 + n, &to));
  to[0] = from;
  to[1] = n;
  memcpy(to + 2, words, (size_t)n * sizeof *words);
fail:
  return status;
}

/* Letters for other nodes go away, to the deputies; those for the own one wait for what comes. */
static grove_status sort_out(const grove_context *ctx, const grove_post *post, grove_post *away,
                             grove_post *home)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < post->nletters; i++) {
    const grove_missive *letter = &post->letters[i];
    int clerk = post->ranks.keys[i];
    int64_t *to = NULL;
    if (clerk == own_clerk(ctx)) {
      GROVE_TRY(enclose(ctx, ctx->rank, letter->count, letter->words, home));
      continue;
    }
    GROVE_TRY(grove_post_write(away, deputy_of(ctx, clerk), letter->count, &to));
    memcpy(to, letter->words, (size_t)letter->count * sizeof *to);
  }
fail:
  return status;
}

static grove_status forward(const grove_context *ctx, const grove_post *away, grove_post *home)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < grove_post_count(away); i++) {
    grove_reader r = grove_post_read(away, i);
    GROVE_TRY(enclose(ctx, r.from, r.end - r.at, r.at, home));
  }
fail:
  return status;
}

/* ---- and at the clerk ---- */

/* Opens one of the letters from this node: what it encloses goes to `out`, which may be NULL; `n`
 * counts. */
static grove_status open_letter(const grove_context *ctx, grove_reader r, grove_parcel *out, int *n)
{
  grove_status status = GROVE_OK;
  while (r.at < r.end) {
    int64_t from = grove_reader_next(&r), count = grove_reader_next(&r);
    const int64_t *words = grove_reader_take(&r, count);
    GROVE_CHECK(words && from >= 0 && from < ctx->size, GROVE_ERR_STATE,
                "rank %d does not understand what rank %d tells it", ctx->rank, r.from);
    if (out) {
      int64_t *copy = NULL, bytes = count * (int64_t)sizeof *copy;
      GROVE_ROOM(copy, count);
      memcpy(copy, words, (size_t)bytes);
      out[*n] = (grove_parcel){.peer = (int)from, .bytes = bytes, .data = copy};
    }
    ++*n;
  }
fail:
  return status;
}

/* What the letters of this node enclose, as if it had come by itself. */
static grove_status open_all(const grove_context *ctx, const grove_post *home, grove_post *out)
{
  grove_status status = GROVE_OK;
  int n = 0;
  for (int i = 0; i < grove_post_count(home); i++)
    GROVE_TRY(open_letter(ctx, grove_post_read(home, i), NULL, &n));
  GROVE_NEW(out->came, n);
  for (int i = 0; i < grove_post_count(home); i++)
    GROVE_TRY(open_letter(ctx, grove_post_read(home, i), out->came, &out->ncame));
  grove_parcels_sort(n, out->came);
  out->lower = n; /* the own one is among them */
fail:
  return status;
}

grove_status grove_deputies_exchange(grove_context *ctx, grove_status *mine, grove_post *post)
{
  grove_status status = GROVE_OK;
  grove_post away = {0}, home = {0};
  if (*mine == GROVE_OK) *mine = sort_out(ctx, post, &away, &home);
  grove_post_free(post);
  GROVE_TRY(grove_post_exchange(ctx, *mine, &away));
  *mine = forward(ctx, &away, &home);
  GROVE_TRY(grove_post_exchange(ctx, *mine, &home));
  *mine = open_all(ctx, &home, post);
fail:
  grove_post_free(&away);
  grove_post_free(&home);
  return status;
}

grove_status grove_clerks_exchange(grove_context *ctx, grove_status *mine, grove_post *post)
{
  if (ctx->size > FEW_RANKS) return grove_deputies_exchange(ctx, mine, post);
  grove_status status = grove_post_exchange(ctx, *mine, post);
  *mine = GROVE_OK;
  return status;
}
