#define _POSIX_C_SOURCE 200809L /* clock_gettime, open_memstream */
#include "virtual.h"

#include "check.h"
#include "measure/trial.h"
#include "threads.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the world ---- */

enum { TAGS = GROVE_PROBE_TAGS, NOTHING = -1 };

/* Messages that nobody has received, by tag, first come first. */
typedef struct letter {
  double arrives;
  int next;
} letter;

typedef struct mailbox {
  int first[TAGS], last[TAGS];
  letter *letters;
  int used, room, waiting;
} mailbox;

enum { MOST_MET = 1024 }; /* numbers that a rank brings when all come together */

typedef struct virtual_rank {
  int number;
  double now, processor; /* seconds: its clock, and how long it was busy */
  int blocked, over;
  double link_free;               /* when it can send again */
  int from, tag;                  /* what it waits for, if it is blocked in a receive */
  int partner;                    /* of the step under way; -1: none */
  const char *memory;             /* that it receives into */
  int64_t nroots, nleaves;        /* in the operation that is made */
  int active;                     /* takes part in it */
  int works, crowds;              /* in the measurement of cores, of crowds */
  int receives, previous, behind; /* posted: how many, with which tag, behind how many later ones */
  int met;
  double meeting[MOST_MET];
  mailbox *box[VIRTUAL_RANKS]; /* by sender */
  grove_context ctx;
  grove_machine *machine;
  grove_points points;
} virtual_rank;

static struct {
  const virtual_machine *v;
  int n;
  virtual_rank rank[VIRTUAL_RANKS];
  grove_place place[VIRTUAL_RANKS];
  grove_topo topo;
  int turn;
  pthread_mutex_t lock;
  pthread_cond_t turns[VIRTUAL_RANKS];
} world;

static _Thread_local virtual_rank *me; /* NULL: this thread is no virtual rank */

static grove_locality distance_to(int rank)
{
  const grove_place *a = &world.place[me->number], *b = &world.place[rank];
  if (a->node != b->node) return GROVE_OFF_NODE;
  return a->socket == b->socket ? GROVE_ON_SOCKET : GROVE_ON_NODE;
}

/* ---- who runs ---- */

static int next_to_run(void)
{
  int next = -1, left = 0;
  for (int r = 0; r < world.n; r++) {
    left += !world.rank[r].over;
    if (world.rank[r].over || world.rank[r].blocked) continue;
    if (next < 0 || world.rank[r].now < world.rank[next].now) next = r;
  }
  CHECK(next >= 0 || left == 0, "%d ranks wait for each other", left);
  return next;
}

static void pass_on(void)
{
  pthread_mutex_lock(&world.lock);
  world.turn = next_to_run();
  if (world.turn >= 0 && world.turn != me->number) pthread_cond_signal(&world.turns[world.turn]);
  while (world.turn != me->number && !me->over)
    pthread_cond_wait(&world.turns[me->number], &world.lock);
  pthread_mutex_unlock(&world.lock);
}

static void wait_for_turn(void)
{
  pthread_mutex_lock(&world.lock);
  while (world.turn != me->number) pthread_cond_wait(&world.turns[me->number], &world.lock);
  pthread_mutex_unlock(&world.lock);
}

/* All come together, and leave with the maxima or sums of what they brought. */
static void meet(const double *in, double *out, int n, int adds)
{
  double latest = 0;
  int there = 0;
  CHECK(n <= MOST_MET, "%d numbers", n);
  if (n > 0) memcpy(me->meeting, in, (size_t)n * sizeof *in);
  me->met++;
  me->blocked = 1;
  for (int r = 0; r < world.n; r++) {
    there += world.rank[r].met == me->met;
    latest = fmax(latest, world.rank[r].now);
  }
  if (there == world.n)
    for (int r = 0; r < world.n; r++) {
      world.rank[r].blocked = 0;
      world.rank[r].now = latest;
    }
  pass_on();
  for (int i = 0; i < n; i++) {
    double all = world.rank[0].meeting[i];
    for (int r = 1; r < world.n; r++) {
      double one = world.rank[r].meeting[i];
      all = adds ? all + one : fmax(all, one);
    }
    out[i] = all;
  }
  /* Nobody brings anything new before everybody has looked. */
  me->met++;
  me->blocked = 1;
  there = 0;
  for (int r = 0; r < world.n; r++) there += world.rank[r].met == me->met;
  for (int r = 0; r < world.n && there == world.n; r++) world.rank[r].blocked = 0;
  pass_on();
}

/* ---- messages ---- */

static mailbox *box_of(virtual_rank *to, int from)
{
  if (to->box[from]) return to->box[from];
  mailbox *b = need(sizeof *b);
  *b = (mailbox){0};
  for (int i = 0; i < TAGS; i++) b->first[i] = b->last[i] = NOTHING;
  return to->box[from] = b;
}

static void put(mailbox *b, int tag, double arrives)
{
  if (b->waiting++ == 0) b->used = 0;
  if (b->used == b->room) {
    b->room = 2 * b->room + 64;
    b->letters = realloc(b->letters, (size_t)b->room * sizeof *b->letters);
    CHECK(b->letters, "no memory");
  }
  b->letters[b->used] = (letter){arrives, NOTHING};
  if (b->first[tag] == NOTHING)
    b->first[tag] = b->used;
  else
    b->letters[b->last[tag]].next = b->used;
  b->last[tag] = b->used++;
}

static int take(mailbox *b, int tag, double *arrives)
{
  int i = b->first[tag];
  if (i == NOTHING) return 0;
  *arrives = b->letters[i].arrives;
  b->first[tag] = b->letters[i].next;
  b->waiting--;
  return 1;
}

static const virtual_range *range_of(const virtual_link *link, double bytes)
{
  int k = 0;
  while (k + 1 < link->ranges && link->range[k + 1].from <= bytes) k++;
  return &link->range[k];
}

static double cost(grove_postal p, double bytes)
{
  return p.alpha + p.beta * bytes;
}

/* How many ranks are in a pair of two nodes now, of this rank's node or of all; and whether there
 * are pairs of other nodes than this rank's. */
static int count_pairs(int own_node, int *others)
{
  int n = 0;
  const grove_place *mine = &world.place[me->number];
  *others = 0;
  for (int r = 0; r < world.n; r++) {
    int partner = world.rank[r].partner;
    if (partner < 0 || world.place[r].node == world.place[partner].node) continue;
    *others |= world.place[r].node != mine->node && world.place[partner].node != mine->node;
    n += !own_node || world.place[r].node == mine->node;
  }
  return n;
}

/* What messages between nodes wait for beyond their own way. */
static double share_network(double beta, double bytes)
{
  int others = 0, senders = count_pairs(1, &others);
  double seconds = fmax(senders * world.v->injection - beta, 0) * bytes;
  int pairs = count_pairs(0, &others) / 2;
  if (others) seconds += world.v->delta * pairs * bytes;
  return seconds;
}

int __real_MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __real_MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __real_MPI_Test(MPI_Request *, int *, MPI_Status *);
int __wrap_MPI_Test(MPI_Request *, int *, MPI_Status *);
int __real_MPI_Testall(int, MPI_Request[], int *, MPI_Status[]);
int __wrap_MPI_Testall(int, MPI_Request[], int *, MPI_Status[]);
int __real_MPI_Iallreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
int __wrap_MPI_Iallreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);

/* A request is what a receive waits for, packed into as many bits as every MPI has for one. */
enum { COMPLETE = 0, RANK_BITS = 4, TAG_BITS = 14 };

static void write_request(MPI_Request *request, unsigned code)
{
  memset(request, 0, sizeof *request);
  memcpy(request, &code, sizeof code);
}

static unsigned read_request(const MPI_Request *request)
{
  unsigned code = 0;
  memcpy(&code, request, sizeof code);
  return code;
}

int __wrap_MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
  if (!me) return __real_MPI_Isend(data, count, type, to, tag, comm, request);
  virtual_rank *peer = &world.rank[to];
  grove_locality where = distance_to(to);
  const virtual_link *link = &world.v->link[where];
  CHECK(type == MPI_BYTE && tag >= 0 && tag < TAGS, "%d bytes, tag %d", count, tag);
  const virtual_range *range = range_of(link, count);
  double leaves = fmax(me->now, me->link_free), arrives = leaves + cost(range->one_way, count);
  if (where == GROVE_OFF_NODE) arrives += share_network(range->one_way.beta, count);
  me->link_free = leaves + cost(range->stream, count);
  me->processor += link->o_s;
  put(box_of(peer, me->number), tag, arrives);
  if (peer->blocked && peer->from == me->number && peer->tag == tag) peer->blocked = 0;
  write_request(request, COMPLETE);
  return MPI_SUCCESS;
}

/* A message has to go past the receives that were posted before its own and are for later ones. */
int __wrap_MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
  if (!me) return __real_MPI_Irecv(data, count, type, from, tag, comm, request);
  CHECK(type == MPI_BYTE && tag >= 0 && tag < TAGS, "%d bytes, tag %d", count, tag);
  CHECK((char *)data >= me->memory && (char *)data + count <= me->memory + GROVE_PROBE_BYTES,
        "it receives elsewhere");
  me->behind = me->receives > 0 && tag < me->previous ? me->behind + 1 : 0;
  me->previous = tag;
  me->receives++;
  me->processor += world.v->link[distance_to(from)].o_r;
  unsigned order = (unsigned)me->behind << TAG_BITS | (unsigned)tag;
  write_request(request, 1 + (order << RANK_BITS | (unsigned)from));
  return MPI_SUCCESS;
}

static void receive(unsigned code)
{
  unsigned order = (code - 1) >> RANK_BITS;
  int from = (int)((code - 1) % (1U << RANK_BITS)), tag = (int)(order % (1U << TAG_BITS));
  unsigned behind = order >> TAG_BITS;
  double arrives = 0;
  while (!take(box_of(me, from), tag, &arrives)) {
    me->from = from;
    me->tag = tag;
    me->blocked = 1;
    pass_on();
  }
  me->from = me->tag = NOTHING;
  me->receives--;
  me->now = fmax(me->now, arrives) + world.v->step * behind;
}

int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
  if (!me) return __real_MPI_Test(request, done, status);
  if (read_request(request) != COMPLETE) receive(read_request(request));
  *done = 1;
  return MPI_SUCCESS;
}

int __wrap_MPI_Testall(int n, MPI_Request requests[], int *done, MPI_Status statuses[])
{
  if (!me) return __real_MPI_Testall(n, requests, done, statuses);
  for (int i = 0; i < n; i++)
    if (read_request(&requests[i]) != COMPLETE) receive(read_request(&requests[i]));
  *done = 1;
  return MPI_SUCCESS;
}

int __wrap_MPI_Iallreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, MPI_Request *request)
{
  if (!me) return __real_MPI_Iallreduce(in, out, n, type, op, comm, request);
  CHECK(type == MPI_DOUBLE && (op == MPI_MAX || op == MPI_SUM), "another operation");
  meet(in, out, n, op == MPI_SUM);
  write_request(request, COMPLETE);
  return MPI_SUCCESS;
}

/* ---- clocks ---- */

enum { ROUNDS_A_SECOND = 2000 }; /* of the work by which cores are counted */

/* Ranks of this host that are not waiting share its cores. */
static double slow_down(void)
{
  int busy = 0;
  for (int r = 0; r < world.n; r++)
    busy += world.place[r].domain == world.place[me->number].domain && !world.rank[r].blocked &&
            !world.rank[r].over;
  return fmax(busy / world.v->cores, 1);
}

double __real_grove_clock(void);
double __wrap_grove_clock(void);
double __wrap_grove_clock(void)
{
  if (!me) return __real_grove_clock();
  if (me->works) {
    pass_on();
    me->now += slow_down() / ROUNDS_A_SECOND;
  }
  return me->now;
}

int __real_clock_gettime(clockid_t which, struct timespec *out);
int __wrap_clock_gettime(clockid_t which, struct timespec *out);
int __wrap_clock_gettime(clockid_t which, struct timespec *out)
{
  if (!me || which != CLOCK_PROCESS_CPUTIME_ID) return __real_clock_gettime(which, out);
  out->tv_sec = (time_t)me->processor;
  out->tv_nsec = (long)round(1e9 * (me->processor - (double)out->tv_sec));
  return 0;
}

/* ---- steps, of which the world has to know ---- */

grove_status __real_grove_measure_cores(grove_probe *p, double seconds);
grove_status __wrap_grove_measure_cores(grove_probe *p, double seconds);
grove_status __wrap_grove_measure_cores(grove_probe *p, double seconds)
{
  me->works = 1;
  grove_status status = __real_grove_measure_cores(p, seconds);
  me->works = 0;
  return status;
}

grove_status __real_grove_measure_crowd(grove_probe *p, double seconds);
grove_status __wrap_grove_measure_crowd(grove_probe *p, double seconds);
grove_status __wrap_grove_measure_crowd(grove_probe *p, double seconds)
{
  me->crowds = 1;
  grove_status status = __real_grove_measure_crowd(p, seconds);
  me->crowds = 0;
  return status;
}

/* These need forests (tests/measure/exchanges.c). */
grove_status __wrap_grove_measure_exchanges(grove_probe *p, double seconds);
grove_status __wrap_grove_measure_exchanges(grove_probe *p, double seconds)
{
  grove_probe_announce(p, "exchanges", seconds);
  return GROVE_OK;
}

grove_status __real_grove_probe_time(grove_probe *p, const grove_pairing *part, grove_repeat *once,
                                     int64_t bytes, double budget, grove_timing *out,
                                     double *spent);
grove_status __wrap_grove_probe_time(grove_probe *p, const grove_pairing *part, grove_repeat *once,
                                     int64_t bytes, double budget, grove_timing *out,
                                     double *spent);
grove_status __wrap_grove_probe_time(grove_probe *p, const grove_pairing *part, grove_repeat *once,
                                     int64_t bytes, double budget, grove_timing *out, double *spent)
{
  me->memory = p->receive;
  me->partner = part->partner;
  meet(NULL, NULL, 0, 0);
  return __real_grove_probe_time(p, part, once, bytes, budget, out, spent);
}

/* ---- the library's own operations ---- */

grove_status __wrap_grove_trial_open(grove_probe *p, int64_t nroots, int64_t nleaves,
                                     grove_trial *out);
grove_status __wrap_grove_trial_connect(grove_probe *p, grove_trial *t);
grove_status __wrap_grove_trials_run(grove_trial *trials, int count, int n, double *seconds);

grove_status __wrap_grove_trial_open(grove_probe *p, int64_t nroots, int64_t nleaves,
                                     grove_trial *out)
{
  (void)p;
  *out = (grove_trial){.nroots = nroots, .nleaves = nleaves};
  out->root = need((size_t)(nleaves + 1) * sizeof *out->root);
  me->nroots = nroots;
  me->nleaves = nleaves;
  me->active = nroots + nleaves > 0;
  return GROVE_OK;
}

/* Every leaf has its root; in a crowd, where some ranks may sit out, every root has its leaf. */
grove_status __wrap_grove_trial_connect(grove_probe *p, grove_trial *t)
{
  (void)p;
  int64_t leaves = 0, roots = 0;
  meet(NULL, NULL, 0, 0);
  for (int r = 0; r < world.n; r++) {
    leaves += world.rank[r].nleaves;
    roots += world.rank[r].nroots;
  }
  CHECK(me->crowds || leaves == roots, "%lld leaves, %lld roots", (long long)leaves,
        (long long)roots);
  for (int64_t i = 0; i < t->nleaves; i++) {
    int64_t rank = t->root[i].rank;
    CHECK(rank >= 0 && rank < world.n && t->root[i].index < world.rank[rank].nroots,
          "rank %lld has %lld roots", (long long)rank, (long long)world.rank[rank].nroots);
  }
  meet(NULL, NULL, 0, 0);
  return GROVE_OK;
}

/* One start of a ring in a crowd. What two neighbours send comes in two messages, unless they are
 * the same rank. */
static double exchange_seconds(const grove_trial *t)
{
  if (t->nleaves == 0) return 0;
  int first = (int)t->root[0].rank, last = (int)t->root[t->nleaves - 1].rank;
  int off = distance_to(first) == GROVE_OFF_NODE;
  const grove_crowd *c = &world.v->crowd[off];
  CHECK(off == (distance_to(last) == GROVE_OFF_NODE), "a ring of two kinds");
  return c->turn + c->message * (first == last ? 1 : 2) + c->byte * 8 * (double)t->nleaves;
}

/* One start between two ranks: a flag if it is small, else its bytes. */
static double pass_seconds(const grove_trial *t)
{
  double bytes = 8 * (double)(t->nroots + t->nleaves);
  int active = 0, other = -1;
  for (int r = 0; r < world.n; r++) {
    active += world.rank[r].active;
    if (world.rank[r].active && r != me->number) other = r;
  }
  if (bytes == 0) return 0;
  if (bytes > 8) return world.v->shared * active * bytes;
  CHECK(active == 2, "%d ranks pass a flag", active);
  grove_locality where = distance_to(other);
  return world.v->flag[where == GROVE_ON_SOCKET ? 0 : 1];
}

static double start_seconds(const grove_trial *t)
{
  if (me->crowds) return exchange_seconds(t);
  if (t->nleaves == 0 || t->root[0].rank != me->number) return pass_seconds(t);
  double bytes = 8 * (double)t->nleaves;
  char *seen = need((size_t)t->nroots);
  memset(seen, 0, (size_t)t->nroots);
  for (int64_t i = 0; i < t->nleaves; i++) {
    CHECK(!seen[t->root[i].index], "a root twice");
    seen[t->root[i].index] = 1;
  }
  free(seen);
  return bytes * world.v->pack[(bytes >= 32768) + (bytes >= 524288)];
}

grove_status __wrap_grove_trials_run(grove_trial *trials, int count, int n, double *seconds)
{
  double once = 0;
  for (int i = 0; i < count; i++) once += start_seconds(&trials[i]);
  *seconds = n * once;
  me->now += *seconds;
  return GROVE_OK;
}

/* ---- devices ---- */

struct grove_lift {
  int64_t begun[GROVE_HEADINGS];
  int64_t covered;
};

/* Ranks that copy are their own partners. */
static int count_copiers(void)
{
  int n = 0;
  for (int r = 0; r < world.n; r++) n += world.rank[r].partner == r;
  return n;
}

static void spend_copy(grove_lift *lift, grove_heading way, const grove_shape *shape, int64_t units)
{
  double bytes = 8 * (double)units, k = count_copiers();
  CHECK(k > 0 && 8 * units <= lift->covered, "a copy of %g bytes by %g ranks", bytes, k);
  me->now += k * cost(world.v->copy[way], bytes);
  if (shape->form != GROVE_SHAPE_CONSECUTIVE)
    me->now += k * world.v->launch + world.v->device_pack * bytes;
  lift->begun[way]++;
}

static grove_status fake_pack(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                              const void *array, int64_t begin, int64_t count, void *message)
{
  CHECK(array && message && begin == 0 && mover->unit.bytes == 8, "another pack");
  spend_copy(lift, GROVE_OUT, shape, count);
  return GROVE_OK;
}

static grove_status fake_unpack(grove_lift *lift, const grove_mover *mover,
                                const grove_shape *shape, const void *message, void *array,
                                int64_t begin, int64_t count)
{
  CHECK(array && message && begin == 0 && mover->unit.bytes == 8, "another unpack");
  spend_copy(lift, GROVE_IN, shape, count);
  return GROVE_OK;
}

static grove_status fake_open(const grove_space_kind *kind, grove_context *ctx, int device,
                              grove_lift **out)
{
  (void)kind;
  CHECK(ctx == &me->ctx && device == 0, "another lift");
  *out = need(sizeof **out);
  **out = (grove_lift){.covered = 0};
  return GROVE_OK;
}

static void fake_close(grove_lift *lift)
{
  free(lift);
}

static grove_status fake_cover(grove_lift *lift, void *memory, int64_t bytes)
{
  CHECK((uintptr_t)memory % GROVE_PAGE == 0, "memory that cannot be pinned");
  lift->covered += bytes;
  return GROVE_OK;
}

static grove_status fake_begin(grove_lift *lift, struct CUstream_st *stream)
{
  CHECK(lift && !stream, "another stream");
  return GROVE_OK;
}

static grove_status fake_flush(grove_lift *lift)
{
  CHECK(lift, "no lift");
  return GROVE_OK;
}

static int64_t fake_begun(grove_lift *lift, grove_heading heading)
{
  return lift->begun[heading];
}

static void fake_weigh(const grove_lift *lift, grove_burden *sum)
{
  sum->host_bytes += lift->covered;
  sum->pinned_bytes += world.v->not_pinned ? 0 : lift->covered;
}

static grove_status open_devices(int *ndevices)
{
  *ndevices = world.v->devices;
  return GROVE_OK;
}

static grove_status allocate_device(int device, int64_t bytes, void **out)
{
  CHECK(device == 0, "device %d", device);
  *out = need((size_t)bytes);
  return GROVE_OK;
}

static void free_device(int device, void *memory)
{
  (void)device;
  free(memory);
}

#define FAKE_DRIVER                                                                                \
  .name = "fake", .open = open_devices, .allocate = allocate_device, .free = free_device
#define FAKE_KIND                                                                                  \
  .name = "fake", .pack = fake_pack, .unpack = fake_unpack, .open = fake_open,                     \
  .close = fake_close, .cover = fake_cover, .begin = fake_begin, .flush = fake_flush,              \
  .begun = fake_begun, .passed = fake_begun, .weigh = fake_weigh
static const grove_driver driver_with_rates = {FAKE_DRIVER},
                          driver_without = {FAKE_DRIVER, .has_no_rates = 1};
static const grove_space_kind kind_with_rates = {FAKE_KIND, .driver = &driver_with_rates},
                              kind_without = {FAKE_KIND, .driver = &driver_without};
static const grove_space_kind *const spaces_with_rates[] = {&kind_with_rates, NULL};
static const grove_space_kind *const spaces_without[] = {&kind_without, NULL};

static const grove_space_kind *const *spaces_of(int rank)
{
  const virtual_machine *v = world.v;
  if (v->devices == 0 || (v->last_has_none && rank == world.n - 1)) return NULL;
  return v->emulated ? spaces_without : spaces_with_rates;
}

/* ---- agreements, which the whole of it needs ---- */

grove_status __real_grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values,
                                        int n);
grove_status __wrap_grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values,
                                        int n);
grove_status __wrap_grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values,
                                        int n)
{
  if (!me) return __real_grove_context_agree(ctx, mine, values, n);
  CHECK_OK(mine);
  CHECK(n == 0, "%d values", n);
  return GROVE_OK;
}

grove_status __wrap_grove_context_share_machine(grove_context *ctx, grove_status mine,
                                                const grove_machine *machine, grove_machine **out);
grove_status __wrap_grove_context_share_machine(grove_context *ctx, grove_status mine,
                                                const grove_machine *machine, grove_machine **out)
{
  (void)ctx;
  CHECK_OK(mine);
  return grove_machine_copy(machine, out);
}

/* ---- running ---- */

typedef struct task {
  grove_status (*step)(grove_probe *p); /* NULL: all */
  const grove_measuring *how;
} task;

static void settle(const virtual_machine *v)
{
  char map[2 * VIRTUAL_RANKS + 1] = "";
  memset(&world, 0, sizeof world);
  world.v = v;
  world.n = (int)strlen(v->nodes);
  world.topo = (grove_topo){.nranks = world.n, .cores = v->system_cores, .place = world.place};
  for (int r = 0; r < world.n; r++) {
    snprintf(map + strlen(map), 3, "%s%c", r > 0 ? "," : "", v->nodes[r]);
    world.place[r].domain = v->hosts[r] - '0';
    world.place[r].bound = v->sockets[r] - '0';
  }
  CHECK_OK(grove_topo_assign(world.place, world.n, 0, map, 0, &world.topo.nnodes));
  for (int r = 0; r < world.n; r++) {
    virtual_rank *it = &world.rank[r];
    it->number = r;
    it->from = it->tag = it->partner = NOTHING;
    it->ctx = (grove_context){.comm = MPI_COMM_WORLD,
                              .rank = r,
                              .size = world.n,
                              .tag_limit = TAGS,
                              .spaces = spaces_of(r),
                              .topo = world.topo,
                              .shares_node = !v->without_memory || r < world.n - 1};
    it->ctx.topo.rank = r;
    for (int k = 0; k < world.n; k++)
      it->ctx.topo.domain_size += world.place[k].domain == world.place[r].domain;
  }
  pthread_mutex_init(&world.lock, NULL);
  for (int r = 0; r < VIRTUAL_RANKS; r++) pthread_cond_init(&world.turns[r], NULL);
}

static void run_step(grove_status step(grove_probe *p), const grove_measuring *how)
{
  grove_probe p = {.ctx = &me->ctx,
                   .how = how,
                   .send = need(GROVE_PROBE_BYTES),
                   .receive = need(GROVE_PROBE_BYTES),
                   .requests = need(GROVE_PROBE_TAGS * sizeof *p.requests),
                   .points = &me->points,
                   .planned = 1,
                   .source = "measured 2026-11-15"};
  CHECK_OK(grove_machine_create("virtual", &p.machine));
  p.machine->cores = world.v->cores; /* as if they had been counted */
  CHECK_OK(step(&p));
  CHECK_OK(p.status);
  CHECK_OK(grove_machine_digest(p.machine));
  me->machine = p.machine;
  free(p.send);
  free(p.receive);
  free(p.requests);
}

static void run_rank(int number, void *self)
{
  const task *t = self;
  me = &world.rank[number];
  wait_for_turn();
  if (t->step)
    run_step(t->step, t->how);
  else
    CHECK_OK(grove_measure(&me->ctx, t->how, &me->points, &me->machine));
  me->over = 1;
  pass_on();
}

static char *text_of(const grove_machine *m)
{
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  CHECK(file, "no memory");
  CHECK_OK(grove_profile_print(m, file));
  CHECK(fclose(file) == 0, "no memory");
  return text;
}

static grove_machine *finish(grove_points *points)
{
  char *first = text_of(world.rank[0].machine);
  for (int r = 0; r < world.n; r++) {
    virtual_rank *it = &world.rank[r];
    char *text = text_of(it->machine);
    CHECK(strcmp(first, text) == 0, "rank %d found\n%s\nand rank 0\n%s", r, text, first);
    CHECK(it->points.count == world.rank[0].points.count, "rank %d has other points", r);
    free(text);
    for (int k = 0; k < world.n; k++) {
      CHECK(!it->box[k] || it->box[k]->waiting == 0, "%d to %d: messages are left", k, r);
      if (it->box[k]) free(it->box[k]->letters);
      free(it->box[k]);
    }
    if (r > 0) grove_machine_free(&it->machine);
    if (r > 0) grove_points_free(&it->points);
  }
  free(first);
  if (points)
    *points = world.rank[0].points;
  else
    grove_points_free(&world.rank[0].points);
  pthread_mutex_destroy(&world.lock);
  for (int r = 0; r < VIRTUAL_RANKS; r++) pthread_cond_destroy(&world.turns[r]);
  return world.rank[0].machine;
}

grove_machine *virtual_step(const virtual_machine *v, grove_effort effort,
                            grove_status step(grove_probe *p), grove_points *points)
{
  const grove_measuring how = {.effort = effort};
  task t = {step, &how};
  settle(v);
  in_threads(world.n, run_rank, &t);
  return finish(points);
}

grove_machine *virtual_measure(const virtual_machine *v, const grove_measuring *how,
                               grove_points *points)
{
  task t = {NULL, how};
  settle(v);
  in_threads(world.n, run_rank, &t);
  return finish(points);
}

double virtual_seconds(void)
{
  return world.rank[0].now;
}
