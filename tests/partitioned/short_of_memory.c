/* Memory that runs out under a channel, at each allocation in turn when an end is made, started,
 * meets the other one, or is freed; and shared memory that is not to be had. The call says so in a
 * sentence, or nothing is lacking: no hang, no crash, no wrong data. If the ends have met, both are
 * told; if not, who waits says that the other has not started. Afterwards channels work.
 *
 * The linker puts our functions in the place of the system's. */
#define _GNU_SOURCE /* off64_t */
#include "channel.h"
#include "check.h"
#include "scarce.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

enum { PARTS = 6, TAG = 3 };

/* ---- what can be refused, besides what scarce.h has ---- */

void *__real_mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset);
int __real_posix_fallocate(int file, off_t offset, off_t bytes);
void *__wrap_mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset);
int __wrap_posix_fallocate(int file, off_t offset, off_t bytes);

static int no_shared_memory; /* while it is set */

void *__wrap_mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset)
{
  if (!no_shared_memory || file < 0)
    return __real_mmap(address, bytes, rights, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

int __wrap_posix_fallocate(int file, off_t offset, off_t bytes)
{
  return no_shared_memory ? ENOSPC : __real_posix_fallocate(file, offset, bytes);
}

static void arm(int64_t number)
{
  scarce.met = 0;
  scarce.fail = number;
  scarce.armed = 1;
}

/* Was there an allocation of this number? */
static int disarm(int64_t number)
{
  scarce.armed = 0;
  return scarce.met > number;
}

/* A sentence that is ours, or a call that went through. */
static void check_outcome(const char *what, grove_status status, int64_t number)
{
  CHECK(status == GROVE_OK || (status == GROVE_ERR_MEMORY && strstr(grove_last_error(), "memory")),
        "%s, allocation %lld: %s, '%s'", what, (long long)number, grove_status_name(status),
        grove_last_error());
}

/* ---- the ends ---- */

static channel prepare(const place *p, const unit *u, int64_t count)
{
  channel c = {.ctx = p->ctx, .sends = p->rank == 0, .peer = 1 - p->rank, .tag = TAG};
  c.parts = PARTS;
  c.count = count;
  c.u = u;
  c.seed = mix2(test_seed(), (uint64_t)count);
  channel_dress(&c);
  return c;
}

static void works(const place *p, const unit *u, int64_t count)
{
  channel c = prepare(p, u, count);
  CHECK_OK(channel_init(&c));
  channel_run(&c);
  channel_run(&c);
  channel_close(&c);
}

/* Both ranks take turns to be short, so that all know what has happened. */
static int told(const place *p, int short_one, int mine)
{
  MPI_Bcast(&mine, 1, MPI_INT, short_one, p->comm);
  return mine;
}

/* ---- making ---- */

/* An end that could not be made has no number: the next one has it. */
static int short_of_init(const place *p, const unit *u, int64_t count, int64_t number, int who)
{
  channel c = prepare(p, u, count);
  int was = 0;
  if (p->rank == who) {
    arm(number);
    grove_status status = channel_init(&c);
    was = disarm(number);
    check_outcome("init", status, number);
    CHECK(!was || status != GROVE_OK, "init: allocation %lld failed, and nothing was said",
          (long long)number);
    CHECK((status == GROVE_OK) == (c.op != NULL), "an operation, or none");
    if (status != GROVE_OK) CHECK_OK(channel_init(&c));
  } else {
    CHECK_OK(channel_init(&c));
  }
  channel_run(&c);
  channel_close(&c);
  return told(p, who, was);
}

/* ---- starting ---- */

/* A start that failed: its partner waits, is told of it or says what is missing; then both go. */
static int short_of_start(const place *p, const unit *u, int64_t count, int64_t number, int who)
{
  channel c = prepare(p, u, count);
  int was = 0, failed = 0;
  CHECK_OK(channel_init(&c));
  if (p->rank == who) {
    arm(number);
    grove_status status = grove_start(c.op);
    was = disarm(number);
    check_outcome("start", status, number);
    failed = status != GROVE_OK;
    c.round++;
  }
  failed = told(p, who, failed);
  was = told(p, who, was);
  place_set(p, "timeout", failed && number == 0 ? test_timeout() : "0");
  if (p->rank != who) channel_start(&c);
  if (!failed && c.sends) channel_ready(&c, 0, PARTS);
  if (!failed) channel_wait(&c);
  if (failed && p->rank != who) {
    if (c.sends) channel_ready(&c, 0, PARTS);
    grove_status status = number == 0 ? grove_wait(c.op) : GROVE_ERR_TIMEOUT; /* nobody comes */
    CHECK(status == GROVE_ERR_TIMEOUT, "a wait without a partner: %s", grove_status_name(status));
    if (number == 0)
      CHECK(strstr(grove_last_error(), "has not started its end"), "'%s'", grove_last_error());
  }
  if (failed)
    channel_abandon(&c);
  else
    channel_close(&c);
  return was;
}

/* ---- meeting ---- */

/* Memory is short in the wait, in which the ends hear of each other. A sender that lacks some when
 * parts are to leave cannot say so: who waits for them names them when it is tired of that. */
static int short_of_meeting(const place *p, const unit *u, int64_t count, int64_t number, int who)
{
  channel c = prepare(p, u, count);
  int was = 0, mine = 0, other = 0;
  place_set(p, "timeout", who == 0 ? test_timeout() : "0");
  CHECK_OK(channel_init(&c));
  if (p->rank == who && who == 1) polite_barrier(p->comm); /* the offer is there */
  channel_start(&c);
  if (c.sends) channel_ready(&c, 0, PARTS);
  if (p->rank != who && who == 1) polite_barrier(p->comm);
  if (p->rank == who) arm(number);
  mine = (int)grove_wait(c.op);
  if (p->rank == who) was = disarm(number);
  if (mine != GROVE_ERR_TIMEOUT || who == 1) /* on a busy machine, of either end */
    check_outcome("wait", (grove_status)mine, number);
  if (mine == GROVE_OK) channel_over(&c);
  MPI_Sendrecv(&mine, 1, MPI_INT, c.peer, 0, &other, 1, MPI_INT, c.peer, 0, p->comm,
               MPI_STATUS_IGNORE);
  CHECK(mine != GROVE_ERR_MEMORY || p->rank == who || other != GROVE_OK, "only one end is told");
  channel_abandon(&c);
  return told(p, who, was);
}

/* ---- freeing ---- */

/* An active sender, whose marked parts are to be kept; and a receiver that nobody has sent to. */
static int short_of_free(const place *p, const unit *u, int64_t count, int64_t number, int who)
{
  channel c = prepare(p, u, count);
  int was = 0, failed = 0, done = 0;
  CHECK_OK(channel_init(&c));
  if (p->rank == who) {
    channel_start(&c);
    if (c.sends) channel_ready(&c, 0, PARTS);
    arm(number);
    grove_status status = grove_op_free(&c.op);
    was = disarm(number);
    check_outcome("free", status, number);
    CHECK(c.op == NULL, "a freed operation is not NULL");
    failed = status != GROVE_OK;
  }
  failed = told(p, who, failed);
  was = told(p, who, was);
  if (p->rank != who) {
    channel_start(&c);
    if (c.sends) channel_ready(&c, 0, PARTS);
    if (!failed && !c.sends) channel_poll(&c); /* what was marked comes */
    for (int i = 0; failed && !done && i < 100; i++) CHECK_OK(grove_test(c.op, &done));
    if (!failed && c.sends) channel_poll(&c);
  }
  channel_abandon(&c);
  return was;
}

/* ---- shared memory ---- */

/* Without it at the sender's start messages go over MPI; without it at the receiver's, both are
 * told. */
static void no_memory_to_share(const place *p, const unit *u, int64_t count, int who)
{
  grove_report r = {.struct_size = sizeof r};
  channel c = prepare(p, u, count);
  grove_status status = GROVE_OK;
  CHECK_OK(channel_init(&c));
  no_shared_memory = p->rank == who;
  status = grove_start(c.op);
  c.round++;
  if (status == GROVE_OK && c.sends) channel_ready(&c, 0, PARTS);
  if (status == GROVE_OK) status = grove_wait(c.op);
  no_shared_memory = 0;
  CHECK_OK(grove_op_report(c.op, &r));
  if (who == 0) {
    CHECK(status == GROVE_OK, "%s", grove_last_error());
    channel_over(&c);
    CHECK(strcmp(r.transport, "mpi") == 0, "'%s' carries it", r.transport);
  } else {
    check_outcome("a start without shared memory", status, 0);
    if (status == GROVE_OK) channel_over(&c);
  }
  int mine = status, other = 0;
  MPI_Sendrecv(&mine, 1, MPI_INT, c.peer, 0, &other, 1, MPI_INT, c.peer, 0, p->comm,
               MPI_STATUS_IGNORE);
  CHECK((mine == GROVE_OK) == (other == GROVE_OK), "one end is told, and the other is not");
  channel_close(&c);
}

/* ---- all of it ---- */

typedef int trial(const place *p, const unit *u, int64_t count, int64_t number, int who);

/* `received` is the type of a receiver that runs short; a sender's has no gaps. */
static void all_trials(const units *types, trial *one, const char *name, int64_t count,
                       const char *received)
{
  for (int who = 0; who < 2; who++) {
    place p = place_create(split(0));
    const unit *u = units_find(types, who ? received : "MPI_DOUBLE");
    grove_op *idle = place_idle(&p);
    int64_t number = 0;
    for (int more = 1; more && number < 60; number++) {
      test_case(1000 * who + number);
      more = one(&p, u, count, number, who);
      place_meet(&p, idle);
      place_set(&p, "timeout", "0");
      works(&p, u, count);
    }
    CHECK(number > 1 || one == short_of_meeting, "%s: no allocation has failed", name);
    CHECK(number < 60, "%s: too many allocations", name);
    CHECK_OK(grove_op_free(&idle));
    place_free(&p);
    polite_barrier(MPI_COMM_WORLD);
    channels_sweep();
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/short_of_memory");
  units *types = units_create();
  static const char gaps[] = "struct of char and double";
  all_trials(types, short_of_init, "init", 10, gaps);
  all_trials(types, short_of_start, "start", 10, gaps);
  all_trials(types, short_of_meeting, "wait", 10, gaps);
  all_trials(types, short_of_free, "free", 10, "MPI_DOUBLE"); /* one with gaps needs no memory */
  all_trials(types, short_of_free, "free", 30000, "MPI_DOUBLE");
  if (!getenv("GROVE_TRANSPORT_PARTS"))
    for (int who = 0; who < 2; who++) {
      place p = place_create(split(0));
      const unit *u = units_find(types, "MPI_DOUBLE");
      test_case(5000 + who);
      no_memory_to_share(&p, u, 100, who);
      works(&p, u, 100);
      place_free(&p);
    }
  units_free(types);
  return test_end();
}
