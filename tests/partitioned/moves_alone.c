/* A sender's threads mark parts and then call neither Grove nor MPI, until the other end has what
 * it should have: with progress=thread parts leave whose deadline passes, and messages that were
 * marked before the other end was there; with alarm=thread deadlines are kept. The sender learns
 * from a file that it may go on. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "channel.h"
#include "check.h"
#include "threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PARTS = 8, LATE = 3, THREADS = 3 };

/* ---- a word that needs no library ---- */

static char file[256];

static void agree_on_file(void)
{
  const char *folder = getenv("TMPDIR");
  if (world_rank() == 0)
    snprintf(file, sizeof file, "%s/grove-moves-alone-%ld", folder ? folder : "/tmp",
             (long)getpid());
  MPI_Bcast(file, sizeof file, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* The sender, before anybody waits for it to be gone. */
static void make_file(void)
{
  FILE *f = fopen(file, "w");
  CHECK(f != NULL, "cannot write %s", file);
  fclose(f);
}

static void keep_silent(void)
{
  const struct timespec nap = {0, 200000};
  while (access(file, F_OK) == 0) nanosleep(&nap, NULL);
}

static void end_silence(void)
{
  CHECK(unlink(file) == 0, "cannot remove %s", file);
}

/* ---- deadlines ---- */

/* All parts but one, by threads. */
static void mark_most(int number, void *self)
{
  channel *c = self;
  for (int i = number; i < PARTS; i += THREADS)
    if (i != LATE) channel_ready(c, i, 1);
}

static void keep_deadlines(channel *c)
{
  if (c->sends) make_file();
  channel_start(c);
  if (c->sends) {
    in_threads(THREADS, mark_most, c);
    keep_silent();
    channel_ready(c, LATE, 1);
  } else {
    channel_await(c, 0, LATE);
    channel_await(c, LATE + 1, PARTS - LATE - 1);
    end_silence();
  }
  channel_wait(c);
}

static double look_at(clockid_t which)
{
  struct timespec now;
  clock_gettime(which, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The queue is full, and nobody takes from it for a while: the alarm tries again and again, and
 * sleeps most of the time. Not under valgrind, where a look takes as long as a rest. */
static void sleep_between_looks(channel *c)
{
  const struct timespec while_it_is_full = {0, 100000000};
  const char *under = getenv("LAUNCH_UNDER");
  if (c->sends) make_file();
  channel_start(c);
  if (c->sends) {
    in_threads(THREADS, mark_most, c);
    double since = look_at(CLOCK_MONOTONIC), used = look_at(CLOCK_PROCESS_CPUTIME_ID);
    keep_silent();
    since = look_at(CLOCK_MONOTONIC) - since;
    used = look_at(CLOCK_PROCESS_CPUTIME_ID) - used;
    CHECK((under && strstr(under, "valgrind")) || used < 0.5 * since,
          "%g s of %g were spent on looking", used, since);
    channel_ready(c, LATE, 1);
  } else {
    nanosleep(&while_it_is_full, NULL);
    channel_await(c, 0, LATE);
    channel_await(c, LATE + 1, PARTS - LATE - 1);
    end_silence();
  }
  channel_wait(c);
}

/* ---- a receiver that comes late ---- */

static void mark_all(int number, void *self)
{
  channel *c = self;
  for (int i = number; i < PARTS; i += THREADS) channel_ready(c, i, 1);
}

static void meet_later(const place *p, channel *c)
{
  if (c->sends) {
    make_file();
    channel_start(c);
    in_threads(THREADS, mark_all, c);
    tell(p, c->peer);
    keep_silent();
  } else {
    hear(p, c->peer, NULL);
    channel_start(c);
    channel_await(c, 0, PARTS);
    end_silence();
  }
  channel_wait(c);
}

/* ---- all of it ---- */

static channel open_end(const place *p, const unit *u, int64_t count)
{
  channel c = {.ctx = p->ctx, .sends = p->rank == 0, .peer = 1 - p->rank, .tag = 5};
  c.parts = PARTS;
  c.count = count;
  c.u = u;
  c.seed = mix2(test_seed(), (uint64_t)count);
  channel_open(&c);
  return c;
}

static void deadlines(const place *p, const unit *u, int64_t count, int fills)
{
  grove_report r = {.struct_size = sizeof r};
  place_set(p, "aggregator", "timer");
  place_set(p, "delta", "0.002");
  place_set(p, "max_messages", "1"); /* one group, which is not complete */
  channel c = open_end(p, u, count);
  CHECK_OK(grove_op_report(c.op, &r));
  CHECK(!c.sends || r.delta_seconds > 0, "there are no deadlines");
  channel_run(&c); /* the ends know each other */
  for (int round = 0; round < 5; round++) keep_deadlines(&c);
  if (fills) sleep_between_looks(&c);
  channel_close(&c);
  place_set(p, "max_messages", "0");
}

static void late_receivers(const place *p, const unit *u, int64_t count)
{
  static const char *const names[] = {"none", "ploggp", "timer"};
  for (int i = 0; i < 3; i++) {
    place_set(p, "aggregator", names[i]);
    channel c = open_end(p, u, count);
    meet_later(p, &c);
    channel_run(&c);
    channel_close(&c);
  }
}

/* ---- one thread and no more ---- */

static int count_threads(void)
{
  int n = 0;
  DIR *folder = opendir("/proc/self/task");
  for (struct dirent *entry; folder && (entry = readdir(folder));) n += entry->d_name[0] != '.';
  if (folder) closedir(folder);
  return n;
}

/* One that has ended may be listed for a moment. */
static void expect_threads(int n)
{
  for (int tries = 0; count_threads() > n && tries < 5000; tries++) linger(1e-3);
  CHECK(count_threads() <= n, "%d threads, not %d", count_threads(), n);
}

static void threads_end(const place *p)
{
  int before = count_threads();
  place_set(p, "alarm", "thread");
  for (int i = 0; i < 3; i++) place_set(p, "delta", i % 2 ? "0.002" : "0.003");
  expect_threads(before + 1);
  place_set(p, "alarm", "off");
  expect_threads(before);
}

/* ---- all options ---- */

/* An alarm lets go what a deadline keeps; it does not see long messages of MPI through. */
static void try_transport(const place *p, const unit *u, const char *transport)
{
  threads_end(p);
  place_set(p, "transport_parts", transport);
  place_set(p, "alarm", "thread");
  deadlines(p, u, 8, 0);
  if (strcmp(transport, "shm") == 0) deadlines(p, u, 8000, 1);
  place_set(p, "alarm", "off");
  place_set(p, "progress", "thread");
  for (int64_t count = 8; count < 10000; count *= 1000) {
    deadlines(p, u, count, 0);
    late_receivers(p, u, count);
  }
  place_set(p, "progress", "calls");
}

int main(int argc, char **argv)
{
  static const char *const transports[] = {"mpi", "shm"};
  if (!test_begin_threads(&argc, &argv, "partitioned/moves_alone"))
    return test_skip("MPI does not allow several threads");
  if (world_size() != 2) return test_skip("the two ends are ranks 0 and 1");
  units *types = units_create();
  agree_on_file();
  for (int i = 0; i < 4; i++) {
    place p = place_create(split(0));
    test_case(i);
    try_transport(&p, units_find(types, i < 2 ? "MPI_DOUBLE" : "struct of char and double"),
                  transports[i % 2]);
    place_free(&p);
  }
  units_free(types);
  return test_end();
}
