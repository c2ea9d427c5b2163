#include "context/context.h"

#include "base/digest.h"
#include "context/trace.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Polls before yielding if every rank has a core of its own, as far as the host can tell (DESIGN).
 * It cannot tell when several hosts share cores: 8 ranks on 4 virtual hosts of one machine with 2
 * cores take 39 us inside their nodes with 1000 polls, 77 with 3000, 400 with 20000. */
enum { SPINS = 1000 };

/* The same if ranks must share cores. MPI yields by itself while it polls, so yielding after every
 * poll as well would give way twice (16 ranks on 2 cores of a Xeon, 2026-11: a standard exchange of
 * 90 messages takes 191 us with 0 polls, 118 with 10, 122 with 100; through hubs 163, 167, 215). */
enum { SPINS_IN_A_CROWD = 10 };

grove_context *grove_context_hold(grove_context *ctx)
{
  __atomic_add_fetch(&ctx->references, 1, __ATOMIC_RELAXED);
  return ctx;
}

/* Gives messages of operations that were freed while active a last chance to arrive. */
static void drain_active(grove_context *ctx)
{
  grove_pause pause;
  grove_pause_begin(&pause, 0);
  for (int i = 0; ctx->abandoned > 0 && i < 1000; i++) {
    grove_context_progress(ctx);
    grove_pause_step(&pause);
  }
}

grove_status grove_context_release(grove_context *ctx)
{
  if (__atomic_sub_fetch(&ctx->references, 1, __ATOMIC_ACQ_REL) > 0) return GROVE_OK;
  grove_context_strike_off(ctx);
  grove_helper_stop(&ctx->helper);
  grove_alarm_stop(&ctx->alarm); /* then no other thread knows the context */
  if (ctx->comm != MPI_COMM_NULL && !grove_mpi_is_gone() && !ctx->broken) drain_active(ctx);
  grove_status verdict = grove_verdict(ctx, grove_context_tell_last(ctx));
  grove_context_end_graves(ctx);
  if (ctx->copier) ctx->close_copier(ctx->copier);
  if (ctx->stations) ctx->close_stations(ctx);
  if (ctx->depot) ctx->close_depot(ctx);
  if (ctx->fabrics) ctx->close_fabrics(ctx); /* channels may still end while it waits */
  if (ctx->switchboard) ctx->close_switchboard(ctx);
  grove_context_retire(ctx);
  grove_trace_free(&ctx->trace);
  grove_roll_close(ctx);
  if (!ctx->arena) free(ctx->place); /* it lies there */
  if (ctx->abandoned == 0) {         /* else others, or MPI, may yet read it */
    grove_context_free_shared(ctx);
    grove_arena_free(&ctx->arena);
  }
  free(ctx->node_seats);
  grove_options_free(&ctx->options);
  grove_machine_free(&ctx->machine);
  for (int i = 0; i < ctx->ntallies; i++) free(ctx->tallies[i].forest);
  free(ctx->tallies);
  for (int i = 0; i < ctx->nown_tallies; i++) free(ctx->own_tallies[i].forest);
  free(ctx->own_tallies);
  free(ctx->tag);
  grove_lock_free(&ctx->lock);
  if (!ctx->broken) free(ctx); /* else MPI may yet write to its step */
  return verdict;
}

grove_status grove_context_free(grove_context **ctx)
{
  if (!ctx || !*ctx) return GROVE_OK;
  grove_context *given = *ctx;
  *ctx = NULL;
  return grove_context_release(given);
}

/* Finds the ranks that share memory with this one: those of its node, if all of them are in its
 * domain. This rank's failure. */
static grove_status find_node_seats(grove_context *ctx)
{
  const grove_place *place = ctx->place, *mine = &place[ctx->rank];
  if (!ctx->node_seats) GROVE_PASS_NEW(ctx->node_seats, ctx->topo.domain_size);
  ctx->nnode_seats = 0;
  ctx->shares_node = ctx->arena != NULL;
  for (int r = 0; r < ctx->size; r++) {
    if (place[r].node != mine->node) continue;
    if (place[r].domain == mine->domain)
      ctx->node_seats[ctx->nnode_seats++] = place[r].seat;
    else
      ctx->shares_node = 0;
  }
  return GROVE_OK;
}

/* What the helper does. */
static int advance_active(void *self)
{
  grove_context *ctx = self;
  grove_context_progress(ctx);
  if (++ctx->helper_turns % GROVE_NUDGE_EVERY == 0) grove_context_nudge(ctx);
  return ctx->active.next != &ctx->active;
}

/* A message that was sent may need further calls to progress: a long one that MPI cuts, or one for
 * which MPI asks the receiver first. The alarm makes these calls, at growing intervals. */
static const double LEAST_LOOK_AFTER = 10e-6, MOST_LOOK_AFTER = 160e-6;
enum { LOOKS_AT_ONCE = 8 };

void grove_context_look_after(grove_context *ctx)
{
  if (ctx->alarm) grove_alarm_set(ctx->alarm, grove_clock() + LEAST_LOOK_AFTER);
}

/* What the alarm does. */
static void keep_deadlines(void *self)
{
  grove_context *ctx = self;
  grove_context_enter(ctx);
  ctx->look_again = 1;
  for (int i = 0; ctx->look_again && i < LOOKS_AT_ONCE; i++) {
    ctx->look_again = 0;
    grove_context_progress(ctx);
  }
  ctx->look_after =
    ctx->look_again ? fmax(LEAST_LOOK_AFTER, fmin(2 * ctx->look_after, MOST_LOOK_AFTER)) : 0;
  if (ctx->look_again && ctx->alarm) grove_alarm_set(ctx->alarm, grove_clock() + ctx->look_after);
  grove_context_leave(ctx);
}

/* The helper of progress=thread keeps deadlines too. */
static int wants_alarm(const grove_context *ctx)
{
  if (ctx->options.alarm != GROVE_ALARM_AUTO) return ctx->options.alarm == GROVE_ALARM_THREAD;
  return ctx->has_deadlines && ctx->lock && !ctx->helper;
}

/* Starts a helper and an alarm if the options say so. This rank's failure. */
static grove_status set_threads(grove_context *ctx)
{
  grove_helper_task task = {advance_active, ctx, ctx->spins};
  if (ctx->options.progress == GROVE_PROGRESS_THREAD)
    GROVE_PASS(grove_helper_start(&task, ctx->lock, &ctx->helper));
  if (!wants_alarm(ctx)) return GROVE_OK;
  GROVE_PASS_CHECK(ctx->lock, GROVE_ERR_UNSUPPORTED,
                   "option alarm=thread: MPI must be initialised by MPI_Init_thread with "
                   "MPI_THREAD_MULTIPLE");
  GROVE_PASS(grove_alarm_start(keep_deadlines, ctx, &ctx->alarm));
  if (ctx->has_deadlines) grove_alarm_set(ctx->alarm, 0); /* there may be some already */
  return GROVE_OK;
}

void grove_context_expect_deadlines(grove_context *ctx)
{
  grove_sentence before;
  ctx->has_deadlines = 1;
  if (ctx->alarm || !wants_alarm(ctx)) return;
  grove_error_keep(&before);
  grove_status status = grove_alarm_start(keep_deadlines, ctx, &ctx->alarm);
  if (status != GROVE_OK) grove_error_restore(&before);
}

/* The threads need the lock to end. */
static void stop_threads(grove_context *ctx)
{
  grove_helper *helper = ctx->helper;
  grove_alarm *alarm = ctx->alarm;
  ctx->helper = NULL;
  ctx->alarm = NULL;
  int depth = grove_context_let_go(ctx);
  grove_helper_stop(&helper);
  grove_alarm_stop(&alarm);
  grove_context_take_back(ctx, depth);
}

/* Of the ranks that share the table, one writes it. */
grove_status grove_context_assign_nodes(grove_context *ctx, int64_t *nnodes)
{
  const grove_options *o = &ctx->options;
  int count = 0;
  *nnodes = 0;
  if (ctx->arena && ctx->rank_in_domain > 0) return GROVE_OK;
  GROVE_PASS(
    grove_topo_assign(ctx->place, ctx->size, o->node_size, o->node_map, o->socket_size, &count));
  *nnodes = count;
  return GROVE_OK;
}

/* No helper is running now. */
grove_status grove_context_take_effect(grove_context *ctx, int64_t nnodes)
{
  const grove_options *o = &ctx->options;
  int have_cores = ctx->topo.domain_size <= ctx->topo.cores;
  int spins = o->spin >= 0 ? o->spin : have_cores ? SPINS : SPINS_IN_A_CROWD;
  __atomic_store_n(&ctx->spins, spins, __ATOMIC_RELAXED);          /* waiting threads read it */
  __atomic_store_n(&ctx->on_error, o->on_error, __ATOMIC_RELAXED); /* and those who fail */
  ctx->topo.nnodes = (int)nnodes;
  GROVE_PASS(find_node_seats(ctx));
  if (o->log == GROVE_LOG_SUMMARY || *o->trace) GROVE_PASS(grove_roll_open(ctx));
  return set_threads(ctx);
}

grove_status grove_context_apply_options(grove_context *ctx)
{
  int64_t nnodes = 0;
  grove_status mine = grove_context_assign_nodes(ctx, &nnodes);
  GROVE_PASS(grove_context_agree(ctx, mine, &nnodes, 1));
  mine = grove_context_take_effect(ctx, nnodes);
  GROVE_PASS(grove_context_agree(ctx, mine, NULL, 0));
  return grove_trace_follow_option(ctx);
}

grove_status grove_context_node(grove_context *ctx, int rank, int *node, int *nnodes)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_context_node: the context is NULL");
  GROVE_CHECK(rank >= 0 && rank < ctx->size, GROVE_ERR_ARG,
              "rank %d: grove_context_node: rank %d of 0 to %d", ctx->rank, rank, ctx->size - 1);
  grove_context_enter(ctx);
  if (node) *node = ctx->place[rank].node;
  if (nnodes) *nnodes = ctx->topo.nnodes;
  grove_context_leave(ctx);
fail:
  return grove_verdict(ctx, status);
}

static grove_status write_setting(const char *key, const char *value, int64_t bytes, char **out)
{
  GROVE_PASS_NEW(*out, bytes);
  snprintf(*out, (size_t)bytes, "%s=%s", key, value);
  return GROVE_OK;
}

/* Gives every rank a copy of rank 0's arguments, to compare with its own. */
static grove_status refuse_settings(grove_context *ctx, const char *key, const char *value)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  int64_t bytes = (int64_t)(strlen(key) + strlen(value) + 2);
  char *own = NULL, *first = NULL;
  GROVE_TRY(grove_context_agree(ctx, GROVE_OK, &bytes, 1));
  mine = write_setting(key, value, bytes, &own);
  if (mine == GROVE_OK) mine = write_setting(key, value, bytes, &first);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  GROVE_TRY(grove_context_tell(ctx, first, (int)bytes, 0));
  if (strcasecmp(own, first) != 0)
    mine = grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__,
                       "rank %d sets the option %.100s, rank 0 sets %.100s", ctx->rank, own, first);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
fail:
  free(own);
  free(first);
  return status;
}

static uint64_t add_letters(uint64_t sum, const char *text)
{
  for (; *text; text++) sum = grove_digest_word(sum, (uint64_t)tolower((unsigned char)*text));
  return grove_digest_word(sum, 0);
}

/* Positive, and the same for arguments that differ in case only. */
static int64_t sum_of_setting(const char *key, const char *value)
{
  return (int64_t)(add_letters(add_letters(0, key), value) >> 2) + 1;
}

/* A rank in another call put up no complement. */
static grove_status same_everywhere(grove_context *ctx, grove_status mine, const char *key,
                                    const char *value)
{
  int64_t sum = mine == GROVE_OK ? sum_of_setting(key, value) : 1, all[2] = {sum, ~sum};
  GROVE_PASS(grove_context_agree(ctx, mine, all, 2));
  if (all[0] == ~all[1]) return GROVE_OK;
  if (all[1] >= 0) return grove_context_refuse_call(ctx);
  return refuse_settings(ctx, key, value);
}

/* A copy of the options with one of them changed. This rank's failure. */
static grove_status change_option(const grove_options *from, const char *key, const char *value,
                                  grove_options *out)
{
  grove_status status = GROVE_OK;
  char *text = NULL;
  GROVE_TRY(grove_options_create(out));
  GROVE_TRY(grove_options_write(from, &text));
  GROVE_TRY(grove_options_read(out, text));
  GROVE_TRY(grove_options_set(out, key, value));
fail:
  free(text);
  return status;
}

static void exchange_options(grove_context *ctx, grove_options *other)
{
  grove_options before = ctx->options;
  ctx->options = *other;
  *other = before;
}

/* Replaces the options in force by `next`, and restores them if that fails. */
static grove_status put_in_force(grove_context *ctx, const char *key, grove_options *next)
{
  grove_sentence sentence;
  exchange_options(ctx, next);
  grove_status status = grove_context_apply_options(ctx);
  if (status == GROVE_OK && strcasecmp(key, "machine") == 0)
    status = grove_context_find_machine(ctx, GROVE_OK);
  if (status == GROVE_OK) {
    ctx->generation += grove_options_recompiles(key);
    return GROVE_OK;
  }
  grove_error_keep(&sentence); /* e.g. a node_map of the wrong length: as before */
  stop_threads(ctx);
  exchange_options(ctx, next);
  grove_context_apply_options(ctx);
  grove_error_restore(&sentence);
  return status;
}

grove_status grove_context_change_option(grove_context *ctx, const char *key, const char *value,
                                         grove_options *out)
{
  grove_status mine = GROVE_OK;
  if (!key || !value)
    mine = grove_error(GROVE_ERR_ARG, __FILE__, __LINE__, "%s: %s is NULL", ctx->call,
                       key ? "the value" : "the key");
  GROVE_PASS(same_everywhere(ctx, mine, key, value));
  mine = change_option(&ctx->options, key, value, out);
  return grove_context_agree(ctx, mine, NULL, 0);
}

static grove_status set_option(grove_context *ctx, const char *key, const char *value)
{
  grove_status status = GROVE_OK;
  grove_options next = {0};
  GROVE_TRY(grove_context_change_option(ctx, key, value, &next));
  GROVE_TRY(put_in_force(ctx, key, &next));
fail:
  grove_options_free(&next);
  return status;
}

/* After a call that failed: its sentence stays the last. */
static void bring_threads_back(grove_context *ctx)
{
  grove_sentence sentence;
  grove_error_keep(&sentence);
  set_threads(ctx);
  grove_error_restore(&sentence);
}

grove_status grove_context_set(grove_context *ctx, const char *key, const char *value)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_context_set: the context is NULL");
  GROVE_TRY(grove_context_enter_call(ctx, "grove_context_set"));
  stop_threads(ctx); /* comes back with the options, or */
  status = set_option(ctx, key, value);
  if (!ctx->helper && !ctx->alarm) bring_threads_back(ctx); /* without them */
  grove_context_leave_call(ctx);
fail:
  return grove_verdict(ctx, status);
}
