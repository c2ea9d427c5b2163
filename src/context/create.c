/* The making of a context: the only place of the library that may block inside MPI, since it makes
 * communicators. Who sits where is gathered by one rank a host and written into memory that the
 * host's ranks share, so that a million ranks cost a host megabytes, not every rank.
 */
#include "context/context.h"

#include "context/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What every rank tells about itself. */
typedef struct fact {
  int rank, domain, bound;
} fact;

static grove_status duplicate(MPI_Comm comm, grove_context *ctx)
{
  grove_status status = GROVE_OK;
  int *tag_limit = NULL, found = 0;
  GROVE_TRY_MPI(MPI_Comm_dup(comm, &ctx->comm));
  GROVE_TRY_MPI(MPI_Comm_set_errhandler(ctx->comm, MPI_ERRORS_RETURN));
  GROVE_TRY_MPI(MPI_Comm_rank(ctx->comm, &ctx->rank));
  GROVE_TRY_MPI(MPI_Comm_size(ctx->comm, &ctx->size));
  GROVE_TRY_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_limit, &found));
  ctx->tag_limit = (found ? *tag_limit : 32767) / GROVE_STAGE_TAGS;
fail:
  return status;
}

/* Rank 0's environment decides for all. */
static grove_status read_options(grove_context *ctx)
{
  grove_status status = GROVE_OK;
  char *text = NULL;
  int bytes = 0;
  grove_status mine = GROVE_OK;
  if (ctx->rank == 0) {
    mine = grove_options_read_environment(&ctx->options);
    if (mine == GROVE_OK) mine = grove_options_write(&ctx->options, &text);
    if (mine == GROVE_OK) bytes = (int)strlen(text) + 1;
  }
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  GROVE_TRY(grove_context_tell(ctx, &bytes, sizeof bytes, 0));
  if (!text) GROVE_NEW(text, bytes);
  GROVE_TRY(grove_context_tell(ctx, text, bytes, 0));
  if (ctx->rank != 0) mine = grove_options_read(&ctx->options, text);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
fail:
  free(text);
  return status;
}

/* What earlier programs left behind is removed once a process. */
static pthread_once_t swept = PTHREAD_ONCE_INIT;

/* This rank's end of the arena; the leader makes the segment, the others are told its name. */
static grove_status join_arena(grove_context *ctx, char *name, size_t bytes)
{
  grove_status status = GROVE_OK;
  grove_segment segment = {0};
  if (ctx->rank_in_domain == 0) {
    pthread_once(&swept, grove_segment_sweep);
    GROVE_TRY(grove_segment_create(bytes, name, &segment));
  } else {
    GROVE_TRY(grove_segment_attach(name, bytes, &segment));
  }
  GROVE_TRY(grove_arena_create(&segment, ctx->topo.domain_size, ctx->rank_in_domain, &ctx->arena));
  return GROVE_OK;
fail:
  grove_segment_free(&segment);
  return status;
}

/* The arena with room for the table, if all ranks of the domain can have it; else own memory. */
static grove_status make_table(grove_context *ctx, MPI_Comm domain)
{
  grove_status status = GROVE_OK;
  int64_t head = grove_arena_head_bytes(ctx->topo.domain_size);
  size_t bytes = (size_t)head + (size_t)ctx->size * sizeof *ctx->place;
  char name[GROVE_SEGMENT_NAME] = "";
  int leader = ctx->rank_in_domain == 0, joined = 0, all = 0;
  if (leader) join_arena(ctx, name, bytes);
  GROVE_TRY_MPI(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, domain));
  if (!leader && name[0]) join_arena(ctx, name, bytes);
  joined = ctx->arena != NULL;
  GROVE_TRY_MPI(MPI_Allreduce(&joined, &all, 1, MPI_INT, MPI_MIN, domain));
  if (leader && name[0]) grove_segment_unlink(name);
  if (!all) {
    grove_arena_free(&ctx->arena);
    GROVE_NEW(ctx->place, ctx->size);
  } else {
    ctx->place = (grove_place *)grove_arena_rest(ctx->arena);
  }
fail:
  return status;
}

/* All facts, on the leaders of the domains only; NULL elsewhere. */
static grove_status gather_facts(grove_context *ctx, MPI_Comm domain, int bound, fact **out)
{
  grove_status status = GROVE_OK;
  MPI_Comm leaders = MPI_COMM_NULL;
  fact mine = {ctx->rank, 0, bound}, *own = NULL, *all = NULL;
  int *counts = NULL, *starts = NULL, ndomains = 0;
  int ints = (int)(sizeof(fact) / sizeof(int)), n = ctx->topo.domain_size * ints;
  GROVE_TRY_MPI(
    MPI_Comm_split(ctx->comm, ctx->rank_in_domain == 0 ? 0 : MPI_UNDEFINED, ctx->rank, &leaders));
  if (leaders != MPI_COMM_NULL) GROVE_TRY_MPI(MPI_Comm_rank(leaders, &mine.domain));
  GROVE_TRY_MPI(MPI_Bcast(&mine.domain, 1, MPI_INT, 0, domain));
  GROVE_NEW(own, ctx->topo.domain_size);
  GROVE_TRY_MPI(MPI_Gather(&mine, ints, MPI_INT, own, ints, MPI_INT, 0, domain));
  if (leaders != MPI_COMM_NULL) {
    GROVE_TRY_MPI(MPI_Comm_size(leaders, &ndomains));
    GROVE_NEW(counts, ndomains);
    GROVE_NEW(starts, ndomains);
    GROVE_NEW(all, ctx->size);
    GROVE_TRY_MPI(MPI_Allgather(&n, 1, MPI_INT, counts, 1, MPI_INT, leaders));
    for (int d = 1; d < ndomains; d++) starts[d] = starts[d - 1] + counts[d - 1];
    GROVE_TRY_MPI(MPI_Allgatherv(own, n, MPI_INT, all, counts, starts, MPI_INT, leaders));
  }
  *out = all;
  all = NULL;
fail:
  if (leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
  free(own);
  free(all);
  free(counts);
  free(starts);
  return status;
}

/* Where this rank is bound, and how many cores the ranks of the domain have together. A machine
 * that hwloc cannot read counts as one socket with too few cores: waiting then yields. */
static grove_status look_around(grove_context *ctx, MPI_Comm domain, int *bound)
{
  grove_status status = GROVE_OK;
  grove_cores mine = {{0}}, all = {{0}};
  if (grove_topo_look(bound, &mine) != GROVE_OK) *bound = 0;
  GROVE_TRY_MPI(
    MPI_Allreduce(mine.word, all.word, GROVE_CORE_WORDS, MPI_UINT64_T, MPI_BOR, domain));
  ctx->topo.cores = grove_topo_count(&all);
fail:
  return status;
}

static grove_status fill_table(grove_context *ctx, MPI_Comm domain, int bound)
{
  grove_status status = GROVE_OK;
  fact *facts = NULL;
  GROVE_TRY(make_table(ctx, domain));
  GROVE_TRY(gather_facts(ctx, domain, bound, &facts));
  for (int i = 0, seat = 0; facts && i < ctx->size; i++) { /* domain by domain */
    seat = i > 0 && facts[i].domain == facts[i - 1].domain ? seat + 1 : 0;
    ctx->place[facts[i].rank] =
      (grove_place){.domain = facts[i].domain, .bound = facts[i].bound, .seat = seat};
  }
  if (!ctx->arena)
    GROVE_TRY_MPI(MPI_Bcast(ctx->place, ctx->size * (int)sizeof *ctx->place, MPI_BYTE, 0, domain));
fail:
  free(facts);
  return status;
}

static grove_status find_places(grove_context *ctx)
{
  grove_status status = GROVE_OK;
  MPI_Comm domain = MPI_COMM_NULL;
  int bound = 0;
  GROVE_TRY_MPI(
    MPI_Comm_split_type(ctx->comm, MPI_COMM_TYPE_SHARED, ctx->rank, MPI_INFO_NULL, &domain));
  GROVE_TRY_MPI(MPI_Comm_set_errhandler(domain, MPI_ERRORS_RETURN));
  GROVE_TRY_MPI(MPI_Comm_rank(domain, &ctx->rank_in_domain));
  GROVE_TRY_MPI(MPI_Comm_size(domain, &ctx->topo.domain_size));
  GROVE_TRY(look_around(ctx, domain, &bound));
  GROVE_TRY(fill_table(ctx, domain, bound));
  ctx->topo.nranks = ctx->size;
  ctx->topo.rank = ctx->rank;
  ctx->topo.place = ctx->place;
fail:
  if (domain != MPI_COMM_NULL) MPI_Comm_free(&domain);
  return status;
}

static grove_status check_comm(MPI_Comm comm)
{
  grove_status status = GROVE_OK;
  int initialized = 0, finalized = 0, inter = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  GROVE_CHECK(initialized && !finalized, GROVE_ERR_STATE,
              "grove_context_create needs MPI between MPI_Init and MPI_Finalize");
  GROVE_CHECK(comm != MPI_COMM_NULL, GROVE_ERR_ARG, "the communicator is MPI_COMM_NULL");
  GROVE_TRY_MPI(MPI_Comm_test_inter(comm, &inter));
  GROVE_CHECK(!inter, GROVE_ERR_ARG, "the communicator is an intercommunicator");
fail:
  return status;
}

/* A lock, where MPI allows several threads. */
static grove_status make_lock(grove_context *ctx)
{
  grove_status status = GROVE_OK;
  int level = MPI_THREAD_SINGLE;
  GROVE_TRY_MPI(MPI_Query_thread(&level));
  if (level == MPI_THREAD_MULTIPLE) GROVE_TRY(grove_lock_create(&ctx->lock));
fail:
  return status;
}

static grove_status build(grove_context *ctx, MPI_Comm comm)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(duplicate(comm, ctx));
  GROVE_TRY(read_options(ctx));
  GROVE_TRY(find_places(ctx));
  GROVE_TRY(grove_context_apply_options(ctx));
  GROVE_TRY(grove_context_find_machine(ctx));
fail:
  return status;
}

grove_status grove_context_create(MPI_Comm comm, grove_context **out)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = NULL;
  GROVE_CHECK(out, GROVE_ERR_ARG, "grove_context_create: out is NULL");
  GROVE_TRY(check_comm(comm));
  GROVE_NEW(ctx, 1);
  ctx->references = 1;
  ctx->comm = MPI_COMM_NULL;
  ctx->active.next = ctx->active.previous = &ctx->active;
  GROVE_TRY(make_lock(ctx));
  GROVE_TRY(grove_options_create(&ctx->options));
  GROVE_TRY(grove_context_enter_call(ctx, "grove_context_create"));
  status = build(ctx, comm);
  grove_context_leave_call(ctx); /* a helper may want in */
  GROVE_TRY(status);
  *out = ctx;
  return GROVE_OK;
fail:
  if (ctx) {
    grove_trace_free(&ctx->trace); /* there is nothing to tell */
    grove_context_release(ctx);
  }
  return status;
}
