/* Where ranks sit. Every rank tells all others its host and its socket, in 8 bytes that are kept
 * only during this step. From that each rank knows who shares its host. The lowest rank there, the
 * leader, makes their shared memory and writes a table into it with a row for every rank. So a
 * million ranks cost megabytes per host, not per rank.
 *
 * MPI's own call for this, MPI_Comm_split_type with MPI_COMM_TYPE_SHARED, has no non-blocking form.
 * It goes by host names, as this does. Whether the ranks of a host can really share memory (a
 * container may have its own) shows when they try.
 */
#include "context/context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What the leader tells the other ranks of its host. */
typedef struct word {
  char name[GROVE_SEGMENT_NAME]; /* of the segment; "": there is none */
  int cores;                     /* that they have together */
} word;

/* ---- facts ---- */

/* A machine that hwloc cannot read counts as one socket with too few cores: then waiting yields. A
 * rank that is alone waits for nobody, so it need not know where it is bound now. */
static grove_fact look_around(const grove_context *ctx, grove_cores *cores)
{
  grove_sentence before;
  int socket = 0;
  grove_error_keep(&before);
  grove_status status =
    ctx->size == 1 ? grove_topo_recall(&socket, cores) : grove_topo_look(&socket, cores);
  if (status != GROVE_OK) {
    *cores = (grove_cores){{0}};
    socket = 0;
    grove_error_restore(&before);
  }
  return grove_fact_of(grove_topo_host(), socket);
}

/* The next rank of this host behind `rank`, or -1. */
static int next_guest(const grove_context *ctx, const grove_fact *facts, int rank)
{
  for (int r = rank + 1; r < ctx->size; r++)
    if (grove_fact_same_host(facts[r], facts[ctx->rank])) return r;
  return -1;
}

static void find_seat(grove_context *ctx, const grove_fact *facts)
{
  ctx->topo = (grove_topo){.nranks = ctx->size, .rank = ctx->rank};
  for (int r = next_guest(ctx, facts, -1); r >= 0; r = next_guest(ctx, facts, r)) {
    if (r == ctx->rank) ctx->rank_in_domain = ctx->topo.domain_size;
    ctx->topo.domain_size++;
  }
}

/* ---- shared memory ---- */

/* Leftovers of earlier programs are removed once per process. */
static pthread_once_t swept = PTHREAD_ONCE_INIT;

/* The arena's own head comes first, then the table, then the board. */
static int64_t board_offset(const grove_context *ctx)
{
  return grove_round_up(ctx->size * (int64_t)sizeof *ctx->place, GROVE_APART);
}

/* Makes this rank's end of the arena. The leader makes the segment; others are told its name. */
static grove_status join_arena(grove_context *ctx, char *name)
{
  grove_status status = GROVE_OK;
  grove_segment segment = {0};
  size_t bytes = (size_t)grove_arena_head_bytes(ctx->topo.domain_size) + (size_t)board_offset(ctx) +
                 (size_t)grove_board_bytes(ctx->topo.domain_size);
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

/* Ranks that cannot share memory do without. */
static void try_arena(grove_context *ctx, char *name)
{
  grove_sentence before;
  grove_error_keep(&before);
  if (join_arena(ctx, name) != GROVE_OK) grove_error_restore(&before);
}

/* ---- leaders and the others ---- */

/* The data lies in the step of the context: after a timeout MPI may still use it. */
static grove_status send_place(grove_context *ctx, const void *data, size_t bytes, int to)
{
  MPI_Request request;
  memcpy(ctx->step.text, data, bytes);
  GROVE_PASS_MPI(
    MPI_Isend(ctx->step.text, (int)bytes, MPI_BYTE, to, GROVE_TAG_SEAT, ctx->comm, &request));
  return grove_context_wait(ctx, &request);
}

static grove_status receive_place(grove_context *ctx, void *data, size_t bytes, int from)
{
  MPI_Request request;
  GROVE_PASS_MPI(
    MPI_Irecv(ctx->step.text, (int)bytes, MPI_BYTE, from, GROVE_TAG_SEAT, ctx->comm, &request));
  GROVE_PASS(grove_context_wait(ctx, &request));
  memcpy(data, ctx->step.text, bytes);
  return GROVE_OK;
}

static grove_status lead_host(grove_context *ctx, const grove_fact *facts, const grove_cores *mine,
                              word *out)
{
  grove_cores all = *mine, theirs;
  for (int r = next_guest(ctx, facts, ctx->rank); r >= 0; r = next_guest(ctx, facts, r)) {
    GROVE_PASS(receive_place(ctx, &theirs, sizeof theirs, r));
    for (int i = 0; i < GROVE_CORE_WORDS; i++) all.word[i] |= theirs.word[i];
  }
  out->cores = grove_topo_count(&all);
  try_arena(ctx, out->name);
  if (!ctx->arena) out->name[0] = '\0';
  for (int r = next_guest(ctx, facts, ctx->rank); r >= 0; r = next_guest(ctx, facts, r))
    GROVE_PASS(send_place(ctx, out, sizeof *out, r));
  return GROVE_OK;
}

static grove_status follow_leader(grove_context *ctx, int leader, const grove_cores *mine,
                                  word *out)
{
  GROVE_PASS(send_place(ctx, mine, sizeof *mine, leader));
  GROVE_PASS(receive_place(ctx, out, sizeof *out, leader));
  if (out->name[0]) try_arena(ctx, out->name);
  return GROVE_OK;
}

/* ---- the table ---- */

/* In the arena the table has one writer. */
static grove_status fill_table(grove_context *ctx, const grove_fact *facts, int64_t *nnodes)
{
  if (ctx->arena)
    ctx->place = (grove_place *)grove_arena_rest(ctx->arena);
  else
    GROVE_PASS_NEW(ctx->place, ctx->size);
  ctx->topo.place = ctx->place;
  if (!ctx->arena || ctx->rank_in_domain == 0)
    GROVE_PASS(grove_topo_seat(facts, ctx->size, ctx->place));
  return grove_context_assign_nodes(ctx, nnodes);
}

/* If not all ranks of the host have joined the arena, none uses it. */
static grove_status keep_or_leave_arena(grove_context *ctx, const grove_fact *facts)
{
  int64_t nnodes = 0;
  if (!ctx->arena || grove_arena_is_full(ctx->arena)) return GROVE_OK;
  ctx->topo.place = ctx->place = NULL;
  grove_arena_free(&ctx->arena);
  return fill_table(ctx, facts, &nnodes);
}

/* Opens the board where it takes fewer messages than MPI would. The arena's head is a multiple of
 * cache lines. */
static void open_host_board(grove_context *ctx)
{
  int hosts = 0;
  for (int r = 0; r < ctx->size; r++) hosts += ctx->place[r].seat == 0;
  if (hosts < ctx->size || ctx->size == 1)
    grove_board_open(&ctx->board, (char *)grove_arena_rest(ctx->arena) + board_offset(ctx),
                     &ctx->topo, ctx->comm, GROVE_TAG_BOARD);
  grove_board_stand(&ctx->board, ctx->call);
}

grove_status grove_context_find_places(grove_context *ctx, grove_status mine, grove_fact *facts,
                                       int64_t *nnodes, grove_status *later)
{
  grove_cores cores;
  word w = {.name = ""};
  int64_t all[2] = {0, 0}; /* nodes; does a rank do without an arena? */
  GROVE_PASS(grove_context_gather(ctx, (int64_t)look_around(ctx, &cores), (int64_t *)facts));
  find_seat(ctx, facts);
  int leads = ctx->rank_in_domain == 0;
  grove_status status = leads ? lead_host(ctx, facts, &cores, &w)
                              : follow_leader(ctx, next_guest(ctx, facts, -1), &cores, &w);
  ctx->topo.cores = w.cores;
  if (status == GROVE_OK && mine == GROVE_OK) mine = fill_table(ctx, facts, &all[0]);
  all[1] = !ctx->arena;
  if (status == GROVE_OK) status = grove_context_agree(ctx, mine, all, 2);
  if (leads && w.name[0]) grove_segment_unlink(w.name); /* everyone who can has opened it */
  GROVE_PASS(status);
  *nnodes = all[0];
  *later = keep_or_leave_arena(ctx, facts);
  if (!all[1]) open_host_board(ctx);
  return status;
}
