/* A try of one provider: two ranks write to each other in turn, and look at every byte. What does
 * not come within the limit is given up. A call of libfabric's that does not return ends the
 * program by an alarm, with a sentence.
 */
#include "grove/fabric/fabric.h"

#include "grove/command.h"

#include "base/pause.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const int64_t fabric_sizes[FABRIC_SIZES] = {8, 4096, 262144, 4194304};

#ifdef GROVE_LIBFABRIC

enum { LARGEST = 4194304, TIMES = 20, SPARE_SECONDS = 5 };

typedef struct side {
  grove_fabric *f;
  grove_fabric_peer *peer;
  grove_fabric_region *into, *from; /* registered */
  grove_fabric_target target;       /* the other side's, */
  uint32_t base;                    /* and its number */
  grove_fabric_listener listener;
  char *in, *out;
  int64_t come, wanted; /* bytes that came in messages; of the present write */
  int arrived;
  int64_t gone;
  grove_status failure;
  double until;
} side;

/* What one side tells the other over MPI. */
typedef struct card {
  grove_fabric_address address;
  grove_fabric_target target;
  uint32_t base;
} card;

/* ---- what comes and goes ---- */

static void hear_of_write(void *self, int64_t index)
{
  (void)index;
  ((side *)self)->arrived++;
}

static void hear_of_bytes(void *self, int64_t index, const grove_fabric_note *note,
                          const char *data)
{
  side *s = self;
  (void)index;
  if (note->kind != GROVE_FABRIC_BYTES || note->word[0] < 0 || note->word[1] < 0 ||
      note->word[0] > LARGEST - note->word[1])
    return;
  memcpy(s->in + note->word[0], data, (size_t)note->word[1]);
  s->come += note->word[1];
  if (s->come < s->wanted) return;
  s->come = 0;
  s->arrived++;
}

static void hear_of_end(void *self, grove_status status, int64_t bytes)
{
  side *s = self;
  if (status != GROVE_OK) s->failure = status;
  s->gone += bytes;
}

/* Has the time come to give up? */
static grove_status go_on(side *s, const char *what)
{
  GROVE_PASS(grove_fabric_poll(s->f));
  if (s->failure != GROVE_OK) return s->failure;
  GROVE_PASS_CHECK(grove_clock() < s->until, GROVE_ERR_TIMEOUT, "with %lld bytes %s",
                   (long long)s->wanted, what);
  return GROVE_OK;
}

static grove_status write_once(side *s, int64_t bytes)
{
  grove_fabric_put put = {.peer = s->peer,
                          .from = s->out,
                          .source = s->from,
                          .target = &s->target,
                          .number = s->base,
                          .done = hear_of_end,
                          .self = s};
  s->gone = 0;
  for (int64_t at = 0; at < bytes;) {
    int64_t taken = 0, most = grove_fabric_describe(s->f)->largest;
    put.from = s->out + at;
    put.offset = at;
    put.bytes = bytes - at < most ? bytes - at : most;
    GROVE_PASS(grove_fabric_write(s->f, &put, &taken));
    at += taken;
    if (taken == 0) GROVE_PASS(go_on(s, "a write was not taken in time"));
  }
  while (s->gone < bytes) GROVE_PASS(go_on(s, "a write did not end in time"));
  return GROVE_OK;
}

static grove_status await_once(side *s, int arrived)
{
  grove_pause pause;
  grove_pause_begin(&pause, 100);
  while (s->arrived < arrived) {
    GROVE_PASS(go_on(s, "nothing came in time"));
    grove_pause_step(&pause);
  }
  return GROVE_OK;
}

/* ---- data ---- */

static char byte_of(int rank, int64_t round, int64_t at)
{
  return (char)(at * 7 + at / 251 + round * 13 + rank);
}

static void fill(side *s, int rank, int64_t round, int64_t bytes)
{
  for (int64_t i = 0; i < bytes; i++) s->out[i] = byte_of(rank, round, i);
}

static grove_status look_at(const side *s, int rank, int64_t round, int64_t bytes)
{
  for (int64_t i = 0; i < bytes; i++)
    GROVE_PASS_CHECK(s->in[i] == byte_of(rank, round, i), GROVE_ERR_CORRUPT,
                     "byte %lld of %lld is wrong", (long long)i, (long long)bytes);
  return GROVE_OK;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The first round is looked at, and not timed. */
static grove_status play(side *s, int rank, int64_t bytes, double *seconds)
{
  double times[TIMES];
  s->wanted = bytes;
  int before = s->arrived;
  for (int round = 0; round <= TIMES; round++) {
    if (round == 0 || round == TIMES) fill(s, rank, round, bytes);
    double start = grove_clock();
    if (rank == 0) GROVE_PASS(write_once(s, bytes));
    GROVE_PASS(await_once(s, before + round + 1));
    if (rank == 1) {
      if (round == 0 || round == TIMES) GROVE_PASS(look_at(s, 0, round, bytes));
      GROVE_PASS(write_once(s, bytes));
    } else if (round == 0 || round == TIMES) {
      GROVE_PASS(look_at(s, 1, round, bytes));
    }
    if (round > 0) times[round - 1] = (grove_clock() - start) / 2;
  }
  qsort(times, TIMES - 1, sizeof *times, by_value); /* the last was looked at */
  *seconds = times[(TIMES - 1) / 2];
  return GROVE_OK;
}

/* ---- both sides ---- */

static grove_status open_side(side *s, const char *provider, card *mine)
{
  const grove_fabric_wish wish = {.provider = provider, .endpoints = 1};
  GROVE_PASS_NEW(s->in, LARGEST);
  GROVE_PASS_NEW(s->out, LARGEST);
  GROVE_PASS(grove_fabric_open(&wish, &s->f));
  GROVE_PASS(grove_fabric_register(s->f, s->in, LARGEST, 1, &s->into));
  GROVE_PASS(grove_fabric_register(s->f, s->out, LARGEST, 0, &s->from));
  s->listener = (grove_fabric_listener){.come = hear_of_write, .hear = hear_of_bytes, .self = s};
  GROVE_PASS(grove_fabric_listen(s->f, &s->listener, 1));
  grove_fabric_tell_address(s->f, &mine->address);
  grove_fabric_tell_region(s->into, &mine->target);
  mine->base = s->listener.base;
  return GROVE_OK;
}

static void close_side(side *s)
{
  if (s->f) {
    grove_fabric_leave(s->f, &s->listener);
    grove_fabric_unregister(s->f, &s->into);
    grove_fabric_unregister(s->f, &s->from);
    grove_fabric_close(&s->f);
  }
  free(s->in);
  free(s->out);
}

/* All ranks get the first failure's sentence; false: there is one. */
static int is_well(grove_status mine, int rank, fabric_trial *out)
{
  int failed = mine != GROVE_OK ? rank : 2, first = 2;
  MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == 2) return 1;
  if (rank == first) snprintf(out->why, sizeof out->why, "rank %d: %s", rank, last_sentence());
  MPI_Bcast(out->why, sizeof out->why, MPI_CHAR, first, MPI_COMM_WORLD);
  return 0;
}

static grove_status meet(side *s, const card *theirs)
{
  GROVE_PASS(grove_fabric_reach(s->f, &theirs->address, &s->peer));
  s->target = theirs->target;
  s->base = theirs->base;
  return GROVE_OK;
}

static char tried[GROVE_FABRIC_NAME_BYTES + 80];

/* Of a call that does not return; only what is allowed in a handler. */
static void end_program(int signal)
{
  (void)signal;
  ssize_t written = write(STDERR_FILENO, tried, strlen(tried));
  _exit(written < 0 ? EXIT_FAILED : EXIT_FAILED);
}

void fabric_try(const char *provider, double limit, fabric_trial *out)
{
  side s = {0};
  card mine, theirs;
  int rank = 0;
  *out = (fabric_trial){0};
  memset(&mine, 0, sizeof mine);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(tried, sizeof tried, "grove fabric: a call of libfabric's %s does not return\n",
           provider);
  signal(SIGALRM, end_program);
  alarm((unsigned)limit + SPARE_SECONDS);
  int here = rank < 2;
  if (is_well(here ? open_side(&s, provider, &mine) : GROVE_OK, rank, out)) {
    s.until = grove_clock() + limit;
    if (here)
      MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, 1 - rank, 0, &theirs, sizeof theirs, MPI_BYTE,
                   1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    out->is_good = is_well(here ? meet(&s, &theirs) : GROVE_OK, rank, out);
  }
  for (int i = 0; i < FABRIC_SIZES && out->is_good; i++)
    out->is_good =
      is_well(here ? play(&s, rank, fabric_sizes[i], &out->seconds[i]) : GROVE_OK, rank, out);
  close_side(&s);
  alarm(0);
}

#else

void fabric_try(const char *provider, double limit, fabric_trial *out)
{
  (void)limit;
  *out = (fabric_trial){0};
  snprintf(out->why, sizeof out->why, "%s: this Grove was built without libfabric", provider);
}

#endif
