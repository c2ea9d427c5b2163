/* Letters that ranks write each other while they build a plan: numbers, to whom they concern.
 *
 *     grove_post post = {0};
 *     mine = grove_post_write(&post, rank, 2, &words);         as often as need be
 *     GROVE_TRY(grove_post_exchange(ctx, mine, &post));        collective
 *     for (int i = 0; i < grove_post_count(&post); i++)        by ascending rank
 *       ... grove_reader r = grove_post_read(&post, i); ...
 *     grove_post_free(&post);
 *
 * What a rank writes to itself comes like the rest. Letters are read where they lie: free the post
 * when nobody looks at them any more.
 */
#ifndef GROVE_ROUTE_POST_H
#define GROVE_ROUTE_POST_H

#include "base/group.h"
#include "base/status.h"
#include "context/context.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_missive {
  int64_t count, room;
  int64_t *words;
} grove_missive;

typedef struct grove_post {
  grove_groups ranks;     /* to whom letters are written */
  grove_missive *letters; /* one each */
  int nletters;
  int ncame;
  grove_parcel *came; /* from others */
  grove_parcel own;   /* to itself; no data: none */
  int lower;          /* how many came from lower ranks */
} grove_post;

void grove_post_free(grove_post *post);

/* Room for `n` words at the end of the letter to `rank`, until the next call. */
grove_status grove_post_write(grove_post *post, int rank, int64_t n, int64_t **words);

/* Delivers all letters; those written are gone afterwards. Agreed by all. */
grove_status grove_post_exchange(grove_context *ctx, grove_status mine, grove_post *post);

/* How many letters have come. */
static inline int grove_post_count(const grove_post *post)
{
  return post->ncame + (post->own.data != NULL);
}

/* A letter from its beginning. Who reads more words than it has gets zeros, and finds out by
 * `torn`. */
typedef struct grove_reader {
  int from;
  int torn;
  const int64_t *at, *end;
} grove_reader;

grove_reader grove_post_read(const grove_post *post, int letter);

static inline int64_t grove_reader_next(grove_reader *r)
{
  if (r->at < r->end) return *r->at++;
  r->torn = 1;
  return 0;
}

/* The next `n` words, or NULL. */
static inline const int64_t *grove_reader_take(grove_reader *r, int64_t n)
{
  const int64_t *words = r->at;
  if (n < 0 || n > r->end - r->at) {
    r->torn = 1;
    return NULL;
  }
  r->at += n;
  return words;
}

#ifdef __cplusplus
}
#endif

#endif
