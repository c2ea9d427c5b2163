/* The end of MPI, which contexts may outlive. Their helpers must have ended by then, and calls that
 * need MPI must notice. The hook: MPI_Finalize first deletes the attributes of MPI_COMM_SELF.
 */
#include "context/context.h"

#include <pthread.h>

/* When MPI_Finalize is called no other thread is in the library. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static grove_context *list;
static int watched;

/* From now on calls ask MPI whether it is still there. It is for now: other attributes may be
 * deleted after this one, and their delete functions may call the library. */
static int at_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
  (void)comm;
  (void)key;
  (void)value;
  (void)extra;
  for (grove_context *ctx = list; ctx; ctx = ctx->next_listed) {
    if (ctx->helper) grove_helper_end(ctx->helper);
    if (ctx->alarm) grove_alarm_end(ctx->alarm);
    ctx->closing = ctx->careful = 1;
  }
  return MPI_SUCCESS;
}

static grove_status watch_finalize(void)
{
  int keyval = MPI_KEYVAL_INVALID;
  if (watched) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keyval, NULL));
  GROVE_PASS_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
  GROVE_PASS_MPI(MPI_Comm_free_keyval(&keyval)); /* lives as long as the attribute */
  watched = 1;
  return GROVE_OK;
}

grove_status grove_context_enlist(grove_context *ctx)
{
  pthread_mutex_lock(&mutex);
  grove_status status = watch_finalize();
  if (status == GROVE_OK) {
    ctx->next_listed = list;
    list = ctx;
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

void grove_context_strike_off(grove_context *ctx)
{
  pthread_mutex_lock(&mutex);
  grove_context **at = &list;
  while (*at && *at != ctx) at = &(*at)->next_listed;
  if (*at) *at = ctx->next_listed;
  pthread_mutex_unlock(&mutex);
}
