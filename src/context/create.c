/* Creating a context. Like every collective call it waits for the others by polling only, so that
 * the option `timeout` holds from the beginning. Until rank 0 has sent its options, the timeout is
 * that of this rank's own environment.
 *
 * Memory for a step is allocated before it, and failures are reported in the next agreement, so
 * that all ranks return the same. A rank without enough memory for a context uses one on its stack
 * to report that.
 */
#include "context/context.h"

#include "context/trace.h"

#include <stdlib.h>
#include <string.h>

/* MPI makes the communicator while we wait for others. The handle must not be touched before. For a
 * rank that is alone, polling would take longer than making it. */
static grove_status make_duplicate(MPI_Comm comm, grove_context *ctx)
{
  MPI_Request request;
  if (ctx->size == 1) {
    GROVE_PASS_MPI(MPI_Comm_dup(comm, &ctx->comm));
    return GROVE_OK;
  }
  GROVE_PASS_MPI(MPI_Comm_idup(comm, &ctx->comm, &request));
  return grove_context_wait(ctx, &request);
}

static grove_status duplicate_comm(MPI_Comm comm, grove_context *ctx)
{
  int *tag_limit = NULL, found = 0;
  GROVE_PASS_MPI(MPI_Comm_rank(comm, &ctx->rank));
  GROVE_PASS_MPI(MPI_Comm_size(comm, &ctx->size));
  GROVE_PASS(make_duplicate(comm, ctx));
  GROVE_PASS_MPI(MPI_Comm_set_errhandler(ctx->comm, MPI_ERRORS_RETURN));
  GROVE_PASS_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_limit, &found));
  ctx->tag_limit = (found ? *tag_limit : 32767) / GROVE_STAGE_TAGS;
  return GROVE_OK;
}

/* Memory for the next steps, and on rank 0 the options, as text for the others. */
static grove_status prepare_context(grove_context *ctx, grove_fact **facts, char **text,
                                    int64_t *bytes)
{
  GROVE_PASS_NEW(*facts, ctx->size);
  if (ctx->rank > 0) return GROVE_OK;
  GROVE_PASS(grove_options_check_environment());
  GROVE_PASS(grove_options_read_environment(&ctx->options));
  if (ctx->size == 1) return GROVE_OK;
  GROVE_PASS(grove_options_write(&ctx->options, text));
  *bytes = (int64_t)strlen(*text) + 1;
  return GROVE_OK;
}

/* Rank 0's options become everybody's. A failure after `text` was sent is this rank's. */
static grove_status hear_options(grove_context *ctx, char **text, int64_t bytes, grove_status *mine)
{
  if (ctx->size == 1) return GROVE_OK;
  if (!*text) *text = grove_room((size_t)bytes, 1);
  GROVE_PASS(grove_context_tell(ctx, *text, (int)bytes, 0));
  if (!*text)
    *mine = grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for the options");
  else if (ctx->rank > 0)
    *mine = grove_options_read(&ctx->options, *text);
  return GROVE_OK;
}

static grove_status check_comm(MPI_Comm comm)
{
  int initialized = 0, inter = 0;
  MPI_Initialized(&initialized);
  GROVE_PASS_CHECK(initialized && !grove_mpi_is_gone(), GROVE_ERR_STATE,
                   "grove_context_create needs MPI between MPI_Init and MPI_Finalize");
  GROVE_PASS_CHECK(comm != MPI_COMM_NULL, GROVE_ERR_ARG, "the communicator is MPI_COMM_NULL");
  GROVE_PASS_MPI(MPI_Comm_test_inter(comm, &inter));
  GROVE_PASS_CHECK(!inter, GROVE_ERR_ARG, "the communicator is an intercommunicator");
  return GROVE_OK;
}

/* ---- a context that nobody knows of yet ---- */

/* A lock, where MPI allows several threads. */
static grove_status make_lock(grove_context *ctx)
{
  int level = MPI_THREAD_SINGLE;
  GROVE_PASS_MPI(MPI_Query_thread(&level));
  if (level == MPI_THREAD_MULTIPLE) GROVE_PASS(grove_lock_create(&ctx->lock));
  ctx->careful = ctx->lock != NULL;
  return GROVE_OK;
}

static void clear_context(grove_context *ctx)
{
  *ctx = (grove_context){.references = 1, .comm = MPI_COMM_NULL, .call = "grove_context_create"};
  ctx->active.next = ctx->active.previous = &ctx->active;
}

static void discard_context(grove_context *ctx)
{
  if (!ctx) return;
  ctx->told = 1; /* there is nothing to tell */
  grove_context_release(ctx);
}

/* This rank's failure. */
static grove_status open_context(grove_context **out)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = NULL;
  GROVE_NEW(ctx, 1);
  clear_context(ctx);
  GROVE_TRY(make_lock(ctx));
  GROVE_TRY(grove_context_enlist(ctx));
  GROVE_TRY(grove_options_create(&ctx->options));
  grove_options_read_timeout(&ctx->options);
  *out = ctx;
  return GROVE_OK;
fail:
  discard_context(ctx);
  return status;
}

/* ---- together ---- */

static grove_status build_context(grove_context *ctx, MPI_Comm comm)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  grove_fact *facts = NULL;
  char *text = NULL;
  int64_t bytes = 0, nnodes = 0;
  GROVE_TRY(duplicate_comm(comm, ctx));
  mine = prepare_context(ctx, &facts, &text, &bytes);
  GROVE_TRY(grove_context_agree(ctx, mine, &bytes, 1));
  GROVE_TRY(hear_options(ctx, &text, bytes, &mine));
  GROVE_TRY(grove_context_find_places(ctx, mine, facts, &nnodes, &mine));
  if (mine == GROVE_OK) mine = grove_context_take_effect(ctx, nnodes);
  GROVE_TRY(grove_context_find_machine(ctx, mine));
  GROVE_TRY(grove_trace_follow_option(ctx));
fail:
  free(text);
  if (!ctx->broken) free(facts);
  return status;
}

/* A rank that cannot have a context tells the others. The temporary context is gone on return. So
 * it must not time out: MPI would go on using it. The communicator retires with those of the
 * others. */
static grove_status fail_with_all(MPI_Comm comm, grove_status mine)
{
  grove_status status = GROVE_OK;
  grove_context bare;
  grove_sentence sentence;
  grove_error_keep(&sentence);
  clear_context(&bare);
  GROVE_TRY(duplicate_comm(comm, &bare));
  grove_error_restore(&sentence);
  GROVE_TRY(grove_context_agree(&bare, mine, NULL, 0));
fail:
  grove_error_keep(&sentence);
  grove_context_watch_finalize();
  grove_error_restore(&sentence);
  bare.references = 0;
  grove_context_retire(&bare);
  return status;
}

grove_status grove_context_create(MPI_Comm comm, grove_context **out)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  grove_context *ctx = NULL;
  GROVE_TRY(check_comm(comm));
  mine = out ? open_context(&ctx)
             : grove_error(GROVE_ERR_ARG, __FILE__, __LINE__, "grove_context_create: out is NULL");
  if (mine != GROVE_OK) return grove_verdict(NULL, fail_with_all(comm, mine));
  grove_context_end_retired();
  GROVE_TRY(grove_context_enter_call(ctx, "grove_context_create"));
  status = build_context(ctx, comm);
  grove_context_leave_call(ctx); /* a helper may want in */
  GROVE_TRY(status);
  *out = ctx;
  return GROVE_OK;
fail:
  discard_context(ctx);
  return grove_verdict(NULL, status);
}
