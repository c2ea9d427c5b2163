/* The one wait: when it gives up, and when never. No clock is waited for: the beginning is moved
 * into the past instead. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "base/pause.h"
#include "check.h"

#include <limits.h>
#include <time.h>

/* A wait that began this long ago and has polled in vain more often than it spins. */
static grove_pause waiting_since(double seconds, int spins)
{
  grove_pause p;
  grove_pause_begin(&p, spins);
  for (int i = 0; i < spins + 2; i++) grove_pause_step(&p);
  p.since -= seconds;
  return p;
}

static double seconds_of_system(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void the_clock(void)
{
  double earlier = seconds_of_system(), between = grove_clock();
  CHECK(earlier <= between && between <= seconds_of_system(), "the clock says %.9f at %.9f",
        between, earlier);
  double last = grove_clock();
  for (int i = 0; i < 1000; i++) {
    double now = grove_clock();
    CHECK(now >= last, "the clock went back from %.9f to %.9f", last, now);
    last = now;
  }
  double before = grove_clock();
  grove_pause p;
  grove_pause_begin(&p, 3);
  CHECK(p.since >= before && p.since <= grove_clock(), "the wait began at another time");
}

static void expires(void)
{
  for (int spins = 0; spins <= 1000; spins += 500) {
    grove_pause p = waiting_since(100, spins);
    CHECK(grove_pause_expired(&p, 99), "99 s are not over after 100 (%d spins)", spins);
    CHECK(grove_pause_expired(&p, 1e-6), "a microsecond is not over after 100 s");
    CHECK(!grove_pause_expired(&p, 1e9), "1e9 s are over after 100");
    CHECK(!grove_pause_expired(&p, 0), "a wait without timeout has expired");
    grove_pause_begin(&p, spins);
    CHECK(!grove_pause_expired(&p, 1000), "1000 s are over at the beginning");
  }
}

static void never_without_timeout(void)
{
  grove_pause p = waiting_since(1e12, 0);
  for (int i = 0; i < 1000; i++) {
    CHECK(!grove_pause_expired(&p, 0), "a wait without timeout has expired");
    grove_pause_step(&p);
  }
}

/* The number of polls does not matter to a timeout: it may be looked at now and then only, but not
 * put off for as long as the spinning takes. */
static void in_the_middle_of_spinning(void)
{
  grove_pause p;
  grove_pause_begin(&p, INT_MAX);
  p.since -= 100;
  int expired = 0;
  for (int i = 0; i < 100000 && !expired; i++) {
    grove_pause_step(&p);
    expired = grove_pause_expired(&p, 1);
  }
  CHECK(expired, "a timeout of 1 s is not over after 100 s, since it still spins");
}

/* Polls are counted up to the number of spins, never further: it must not overflow. */
static void counts_spins(void)
{
  grove_pause p;
  grove_pause_begin(&p, 3);
  for (int i = 0; i < 10; i++) {
    CHECK(p.polls == (i < 3 ? i : 3), "%d polls after %d steps", p.polls, i);
    grove_pause_step(&p);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/pause_expires");
  the_clock();
  expires();
  never_without_timeout();
  counts_spins();
  in_the_middle_of_spinning();
  return test_end();
}
