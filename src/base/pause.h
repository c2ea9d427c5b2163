/* The one wait. A waiting thread polls in a loop. After each poll that found nothing it calls this,
 * which spins while the answer may be a few hundred nanoseconds away, and then yields the core to
 * somebody else, perhaps the one we wait for.
 *
 *     grove_pause pause;
 *     grove_pause_begin(&pause, spins);
 *     while (!poll()) grove_pause_step(&pause);
 */
#ifndef GROVE_BASE_PAUSE_H
#define GROVE_BASE_PAUSE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_pause {
  int spins;    /* polls before yielding */
  int polls;    /* done so far, up to spins */
  double since; /* when the waiting began, by grove_clock */
} grove_pause;

/* Seconds from a fixed point in the past. */
double grove_clock(void);

void grove_pause_begin(grove_pause *pause, int spins);

/* One poll found nothing: spins or yields. */
void grove_pause_step(grove_pause *pause);

/* Has it begun to yield? */
static inline int grove_pause_yields(const grove_pause *pause)
{
  return pause->polls >= pause->spins;
}

/* True once `timeout` seconds have passed since the beginning; never for a timeout of 0. */
int grove_pause_expired(const grove_pause *pause, double timeout);

#ifdef __cplusplus
}
#endif

#endif
