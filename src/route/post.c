#include "route/post.h"

#include <stdlib.h>

void grove_post_free(grove_post *post)
{
  for (int i = 0; i < post->nletters; i++) free(post->letters[i].words);
  free(post->letters);
  grove_groups_free(&post->ranks);
  grove_parcels_free(post->ncame, post->came);
  free(post->own.data);
  *post = (grove_post){0};
}

/* The letter to a rank that has none yet. */
static grove_status begin_letter(grove_post *post, int rank)
{
  grove_status status = GROVE_OK;
  size_t n = (size_t)post->nletters + 1;
  if (!post->ranks.slots) GROVE_TRY(grove_groups_create(&post->ranks));
  grove_missive *letters = realloc(post->letters, n * sizeof *letters);
  GROVE_CHECK(letters, GROVE_ERR_MEMORY, "no memory for letters to %zu ranks", n);
  post->letters = letters;
  GROVE_TRY(grove_groups_add(&post->ranks, rank));
  post->letters[post->nletters++] = (grove_missive){0};
fail:
  return status;
}

grove_status grove_post_write(grove_post *post, int rank, int64_t n, int64_t **words)
{
  grove_status status = GROVE_OK;
  int i = post->nletters > 0 ? grove_groups_find(&post->ranks, rank) : -1;
  if (i < 0) {
    i = post->nletters;
    GROVE_TRY(begin_letter(post, rank));
  }
  grove_missive *letter = &post->letters[i];
  if (letter->count + n > letter->room) {
    int64_t room = 2 * letter->room + n;
    int64_t *more = realloc(letter->words, (size_t)room * sizeof *more);
    GROVE_CHECK(more, GROVE_ERR_MEMORY, "no memory for a letter of %lld numbers to rank %d",
                (long long)room, rank);
    letter->words = more;
    letter->room = room;
  }
  *words = letter->words + letter->count;
  letter->count += n;
fail:
  return status;
}

/* A rank's letter to itself needs no journey. */
static grove_status seal(grove_context *ctx, grove_post *post, grove_mail *mail)
{
  grove_status status = GROVE_OK;
  GROVE_ROOM(mail->sent, post->nletters);
  for (int i = 0; i < post->nletters; i++) {
    grove_missive *letter = &post->letters[i];
    grove_parcel parcel = {.peer = post->ranks.keys[i],
                           .bytes = letter->count * (int64_t)sizeof *letter->words,
                           .data = letter->words};
    letter->words = NULL;
    *(parcel.peer == ctx->rank ? &post->own : &mail->sent[mail->nsent++]) = parcel;
  }
fail:
  return status;
}

grove_status grove_post_exchange(grove_context *ctx, grove_status mine, grove_post *post)
{
  grove_mail mail = {0};
  if (mine == GROVE_OK) mine = seal(ctx, post, &mail);
  grove_status status = grove_context_exchange(ctx, mine, NULL, 0, &mail);
  post->ncame = mail.ncame;
  post->came = mail.came;
  while (post->lower < post->ncame && post->came[post->lower].peer < ctx->rank) post->lower++;
  grove_parcels_free(mail.nsent, mail.sent); /* after a timeout there are none: MPI may read them */
  return status;
}

grove_reader grove_post_read(const grove_post *post, int letter)
{
  int own = post->own.data != NULL && letter == post->lower;
  int later = post->own.data != NULL && letter > post->lower;
  const grove_parcel *p = own ? &post->own : &post->came[letter - later];
  const int64_t *words = p->data;
  return (grove_reader){
    .from = p->peer, .at = words, .end = words + p->bytes / (int64_t)sizeof *words};
}
