/* Which calls go through Grove. The n-th call of one kind on a communicator is the n-th on all its
 * ranks, so that what depends on n alone needs no agreement. All calls begin with MPI. At some
 * calls, ever further apart, the ranks agree on whether blocks have stayed the same on all of
 * them, and whether so much time was spent that a set-up is worth it. Then there is a trial: calls
 * go through Grove and MPI in turn, and the ranks agree on which was faster. Between nodes it has
 * several rounds, with a route each, since a profile that was not measured on this machine may
 * like the wrong one. From then on all calls go where they were fastest, until the next trial.
 * Where they go through Grove, ranks whose blocks differ from the pattern are right all the same
 * (move.c). Now and then the ranks agree on how often that happened; if often, they begin anew.
 *
 * Agreements wait for all ranks. Blocking collectives may do that.
 */
#include "preload.h"

#include <stdlib.h>
#include <string.h>

enum {
  FIRST_CHECK = 8, /* the call at which ranks first agree */
  RUN = 6,         /* calls in a row of one of the two; in the first, the other's latecomers come */
  RUNS = 4,        /* of each of the two in a round */
  TRIES = RUNS * (RUN - 1),
  CHECK_EVERY = 2048, /* calls from one trial, and one look at the blocks, to the next */
  MOST_PATTERNS = 4,  /* so often it is begun anew */
  ENOUGH_BEGUN =
    64 /* calls that begin with MPI_I before a set-up: how long they take is not known */
};

static const double worth = 0.97; /* Grove must take so little of MPI's time, or less */

/* Of the rounds of a trial. The standard route does what MPI does. */
static const char *const routes[] = {"auto", "3-step", "split"};
enum { ROUTES = sizeof routes / sizeof *routes };

typedef enum state { WATCH, TRIAL, BY_GROVE, BY_MPI } state;

typedef struct grove_pre_choice {
  state state;
  int64_t calls, next_check, by_grove, others, others_before;
  int same;                       /* since the watch began, on this rank */
  grove_pre_side *send, *receive; /* of its first call */
  double seconds;                 /* in MPI's calls since then */
  grove_pre_pattern *pattern;
  int patterns;
  int losses;                     /* of requests that end with _init: probes that MPI has won */
  int64_t freed, starts;          /* of such that were freed */
  int rounds, round, best, route; /* of the trial: how many, this one, the fastest; the forest's */
  int turn;                       /* of the round */
  double tried[2][TRIES], median[2]; /* the latter of the best */
  char why[256];
} choice;

void grove_pre_choice_free(choice **c)
{
  if (!*c) return;
  grove_pre_side_free(&(*c)->send);
  grove_pre_side_free(&(*c)->receive);
  grove_pre_pattern_free(&(*c)->pattern);
  free(*c);
  *c = NULL;
}

static void to_mpi(choice *c)
{
  c->state = BY_MPI;
  grove_pre_pattern_free(&c->pattern);
  grove_pre_side_free(&c->send);
  grove_pre_side_free(&c->receive);
}

/* ---- the watch ---- */

static void begin_watch(choice *c, int64_t calls)
{
  c->state = WATCH;
  c->same = 1;
  c->seconds = 0;
  c->next_check = c->calls + calls;
  grove_pre_side_free(&c->send);
  grove_pre_side_free(&c->receive);
}

static void watch(choice *c, const grove_pre_side *send, const grove_pre_side *receive)
{
  if (!c->send) c->send = grove_pre_side_copy(send);
  if (!c->receive) c->receive = grove_pre_side_copy(receive);
  if (!c->send || !c->receive || !grove_pre_side_same(send, c->send) ||
      !grove_pre_side_same(receive, c->receive))
    c->same = 0;
}

static int blocks_to_others(const grove_pre_side *s, int rank)
{
  int n = 0;
  for (int i = 0; i < s->n; i++) n += i != rank && grove_pre_side_count(s, i) > 0;
  return n;
}

static int sparse(const grove_pre_held *h, const grove_pre_side *send)
{
  int most = h->size / 4 > 8 ? h->size / 4 : 8;
  return blocks_to_others(send, h->rank) <= most;
}

static int64_t check_every(void)
{
  return grove_pre_settings_get()->always ? 16 : CHECK_EVERY;
}

/* What all ranks know after an agreement. */
typedef struct findings {
  double changed, threads, dense, seconds;
} findings;

static findings agree(const grove_pre_held *h, grove_pre_call call, const choice *c,
                      const grove_pre_side *send)
{
  findings f = {.changed = !c->same,
                .threads = grove_pre_threads(),
                .dense = call == CALL_ALLTOALLV && !sparse(h, send),
                .seconds = c->seconds};
  grove_pre_agree(h->comm, &f, 4, MPI_DOUBLE);
  return f;
}

/* Calls that return a request end whenever the program wants, so a trial cannot time them. */
static int begins(grove_pre_call call)
{
  return call >= CALL_INEIGHBOR_ALLTOALL;
}

static void probe(grove_pre_held *h, grove_pre_call call, choice *c)
{
  c->state = grove_pre_probe(h, call, c->pattern, c->why) ? BY_GROVE : BY_MPI;
  c->next_check = c->calls + check_every();
}

/* One where the model need not choose: on one node, or if the user has. */
static int count_rounds(const grove_pre_held *h)
{
  char route[32] = "";
  int node, nnodes = 1;
  if (grove_context_node(h->ctx, h->rank, &node, &nnodes) ||
      grove_context_get(h->ctx, "route", route, sizeof route))
    return 1;
  return nnodes > 1 && strcmp(route, routes[0]) == 0 ? ROUTES : 1;
}

/* Collective. What Grove refuses it refuses on all ranks, and the forest keeps its route. */
static void take_route(choice *c, int route)
{
  if (route != c->route && !grove_forest_set(c->pattern->forest, "route", routes[route]))
    c->route = route;
}

/* Collective. */
static void begin_trial(choice *c, int round)
{
  c->state = TRIAL;
  c->round = round;
  c->best = -1;
  c->turn = 0;
}

static void begin_pattern(grove_pre_held *h, grove_pre_call call, choice *c,
                          const grove_pre_side *send, const grove_pre_side *receive)
{
  int always = grove_pre_settings_get()->always;
  if (c->patterns++ == MOST_PATTERNS && !always) {
    snprintf(c->why, sizeof c->why, "blocks changed too often");
    to_mpi(c);
    return;
  }
  int again = 0;
  c->pattern = grove_pre_pattern_create(h, call, send, receive, &again, c->why);
  if (c->pattern) {
    c->route = 0;
    c->rounds = count_rounds(h);
    c->others_before = c->others;
    begin_trial(c, 0);
    if (always) c->state = BY_GROVE;
    c->next_check = c->calls + check_every();
    if (always) snprintf(c->why, sizeof c->why, "always");
    if (!always && begins(call)) probe(h, call, c);
  } else if (again) {
    begin_watch(c, c->calls);
  } else {
    to_mpi(c);
  }
}

/* At a call that all ranks know. */
static void check_watch(grove_pre_held *h, grove_pre_call call, choice *c,
                        const grove_pre_side *send, const grove_pre_side *receive)
{
  findings f = agree(h, call, c, send);
  if (f.threads != 0 || f.dense != 0) {
    snprintf(c->why, sizeof c->why, "%s",
             f.threads != 0 ? "MPI_THREAD_MULTIPLE" : "a rank sends to more than a quarter of all");
    to_mpi(c);
  } else if (grove_pre_settings_get()->always) {
    begin_pattern(h, call, c, send, receive);
  } else if (f.changed != 0) {
    snprintf(c->why, sizeof c->why, "blocks change");
    begin_watch(c, c->calls);
    watch(c, send, receive);
  } else if (!begins(call) && f.seconds < grove_pre_settings_get()->after) {
    snprintf(c->why, sizeof c->why, "too few calls so far");
    c->next_check += c->calls;
  } else if (begins(call) && c->calls < ENOUGH_BEGUN && grove_pre_settings_get()->after > 0) {
    snprintf(c->why, sizeof c->why, "too few calls so far");
    c->next_check += c->calls;
  } else {
    begin_pattern(h, call, c, send, receive);
  }
}

/* ---- the trial ---- */

/* Whose turn it is: 0 MPI's, 1 Grove's. */
static int side_of_turn(const choice *c)
{
  return c->turn / RUN % 2;
}

static void note_turn(choice *c, double seconds)
{
  int k = c->turn % RUN;
  if (k > 0) c->tried[side_of_turn(c)][c->turn / (2 * RUN) * (RUN - 1) + k - 1] = seconds;
  c->turn++;
}

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void end_trial(choice *c)
{
  take_route(c, c->best);
  snprintf(c->why, sizeof c->why, "tried: MPI %.1f us, Grove %.1f us%s%s", 1e6 * c->median[0],
           1e6 * c->median[1], c->best > 0 ? ", route " : "", c->best > 0 ? routes[c->best] : "");
  c->state = c->median[1] <= worth * c->median[0] ? BY_GROVE : BY_MPI;
}

/* Other work disturbs both sides of a round, so rounds are compared by their ratios. */
static void end_round(grove_pre_held *h, choice *c)
{
  double median[2];
  for (int i = 0; i < 2; i++) {
    qsort(c->tried[i], TRIES, sizeof c->tried[i][0], ascending);
    median[i] = c->tried[i][TRIES / 2];
  }
  grove_pre_agree(h->comm, median, 2, MPI_DOUBLE);
  if (c->best < 0 || median[1] * c->median[0] < c->median[1] * median[0]) {
    c->best = c->route;
    memcpy(c->median, median, sizeof median);
  }
  c->turn = 0;
  if (++c->round < c->rounds)
    take_route(c, c->round);
  else
    end_trial(c);
}

/* ---- through Grove ---- */

/* The trial may have been disturbed. A route that has won tries alone. */
static void try_again(grove_pre_held *h, grove_pre_call call, choice *c)
{
  if (begins(call)) {
    probe(h, call, c);
    return;
  }
  if (c->state == BY_MPI) take_route(c, 0);
  begin_trial(c, c->state == BY_MPI ? 0 : c->rounds - 1);
  c->next_check = c->calls + check_every();
}

static void check_others(grove_pre_held *h, grove_pre_call call, choice *c)
{
  int64_t others = c->others - c->others_before;
  grove_pre_agree(h->comm, &others, 1, MPI_INT64_T);
  c->others_before = c->others;
  c->next_check = c->calls + check_every();
  if (4 * others <= check_every()) {
    if (!grove_pre_settings_get()->always) try_again(h, call, c);
    return;
  }
  snprintf(c->why, sizeof c->why, "blocks change");
  grove_pre_pattern_free(&c->pattern);
  begin_watch(c, grove_pre_settings_get()->always ? 1 : FIRST_CHECK);
}

static int move(grove_pre_held *h, choice *c, const grove_pre_side *send,
                const grove_pre_side *receive, MPI_Request *request)
{
  int other, result = request ? grove_pre_fly(h, c->pattern, send, receive, &other, request)
                              : grove_pre_move(h, c->pattern, send, receive, &other);
  c->by_grove++;
  c->others += other;
  return result;
}

void grove_pre_choice_tell(const grove_pre_held *h, grove_pre_call call)
{
  const choice *c = h->choice[call];
  if (h->rank == 0)
    grove_pre_log_add(grove_pre_call_name[call], h->size, c->calls, c->by_grove, c->others, c->why);
}

static choice *get(grove_pre_held *h, grove_pre_call call)
{
  if (h->choice[call]) return h->choice[call];
  choice *c = calloc(1, sizeof *c);
  if (!c) {
    fputs("libgrove_mpi: no memory for what is kept of a communicator\n", stderr);
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
  snprintf(c->why, sizeof c->why, "too few calls");
  begin_watch(c, grove_pre_settings_get()->always ? 1 : FIRST_CHECK);
  h->choice[call] = c;
  return c;
}

grove_pre_way grove_pre_go(grove_pre_held *h, grove_pre_call call, const grove_pre_side *send,
                           const grove_pre_side *receive, MPI_Request *request, int *result)
{
  choice *c = get(h, call);
  int64_t n = c->calls++;
  if (c->state == BY_MPI && (!c->pattern || n < c->next_check)) return GO_MPI;
  if (c->state == BY_MPI) try_again(h, call, c);
  if (c->state == WATCH) watch(c, send, receive);
  if (c->state == WATCH && n == c->next_check) check_watch(h, call, c, send, receive);
  if (c->state == BY_GROVE && n >= c->next_check) check_others(h, call, c);
  if (c->state == TRIAL && c->turn == 2 * RUN * RUNS) end_round(h, c);
  if (c->state == BY_GROVE) {
    *result = move(h, c, send, receive, request);
    return GO_GROVE;
  }
  if (c->state == BY_MPI) return GO_MPI;
  if (c->state == WATCH || side_of_turn(c) == 0) return GO_MPI_TIMED;
  double before = PMPI_Wtime();
  *result = move(h, c, send, receive, request);
  note_turn(c, PMPI_Wtime() - before);
  return GO_GROVE;
}

void grove_pre_went(grove_pre_held *h, grove_pre_call call, double seconds)
{
  choice *c = h->choice[call];
  c->seconds += seconds;
  if (c->state == TRIAL) note_turn(c, seconds);
}

/* ---- requests that end with _init: each has a pattern of its own, which never changes. Such a
 * call may wait for the others, and a start may not, so it is decided there and then. ---- */

enum { FEW_STARTS = 100, MOST_LOSSES = 4 };

void grove_pre_init_freed(grove_pre_held *h, grove_pre_call call, int64_t starts)
{
  h->choice[call]->freed++;
  h->choice[call]->starts += starts;
}

/* Whether such calls are worth a set-up. Collective. */
static int promising(grove_pre_held *h, choice *c)
{
  double f[2] = {grove_pre_threads(), c->starts < FEW_STARTS * c->freed};
  grove_pre_agree(h->comm, f, 2, MPI_DOUBLE);
  if (grove_pre_settings_get()->always) f[1] = 0;
  if (f[0] == 0 && f[1] == 0) return 1;
  snprintf(c->why, sizeof c->why, "%s",
           f[0] != 0 ? "MPI_THREAD_MULTIPLE" : "requests were freed after few starts");
  to_mpi(c);
  return 0;
}

grove_pre_way grove_pre_go_init(grove_pre_held *h, grove_pre_call call, const grove_pre_side *send,
                                const grove_pre_side *receive, MPI_Request *request, int *result)
{
  choice *c = get(h, call);
  int again = 0, always = grove_pre_settings_get()->always;
  c->calls++;
  if (c->state == BY_MPI || !promising(h, c)) return GO_MPI;
  grove_pre_pattern *p = grove_pre_pattern_create(h, call, send, receive, &again, c->why);
  if (!p) return GO_MPI;
  if (always) {
    snprintf(c->why, sizeof c->why, "always");
  } else if (!grove_pre_probe(h, call, p, c->why)) {
    grove_pre_pattern_free(&p);
    if (++c->losses == MOST_LOSSES) to_mpi(c);
    return GO_MPI;
  }
  *result = grove_pre_fly_often(h, call, &p, send, receive, request);
  c->by_grove++;
  return GO_GROVE;
}
