#include "base/pause.h"

#include <sched.h>
#include <time.h>

double grove_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void grove_pause_begin(grove_pause *pause, int spins)
{
  pause->spins = spins;
  pause->polls = 0;
  pause->since = grove_clock();
}

void grove_pause_step(grove_pause *pause)
{
  if (grove_pause_yields(pause))
    sched_yield();
  else
    pause->polls++;
}

int grove_pause_expired(const grove_pause *pause, double timeout)
{
  /* Reading the clock takes as long as a poll, so it is read only now and then while spinning. */
  if (timeout <= 0 || (!grove_pause_yields(pause) && pause->polls % 256 != 255)) return 0;
  return grove_clock() - pause->since > timeout;
}
