/* How far the clocks of hosts are apart is found out, with its sign and within the error that is
 * told: here on one host, whose ranks are said to sit on several, each with a clock of its own. */
#include "context/trace.h"

#include "check.h"
#include "places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double ahead; /* of the clock that all ranks have, this rank's */

double __real_grove_clock(void);
double __wrap_grove_clock(void);
double __wrap_grove_clock(void)
{
  return __real_grove_clock() + ahead;
}

/* Some before and some behind the first; a power of two, so that no sum is rounded much. */
static double clock_of(int host)
{
  static const double clocks[] = {64, -1024, 4096, 0.25, 0};
  return clocks[host % 5];
}

/* Ranks i, i + hosts, i + 2 hosts, ... are on one host. */
static grove_place *seat(const place *p, int hosts)
{
  grove_place *seats = need((size_t)p->size * sizeof *seats);
  memcpy(seats, p->ctx->place, (size_t)p->size * sizeof *seats);
  for (int r = 0; r < p->size; r++) {
    seats[r].domain = r % hosts;
    seats[r].seat = r / hosts;
  }
  return seats;
}

static void try_hosts(const place *p, int hosts)
{
  grove_place *found = p->ctx->place, *seats = seat(p, hosts);
  grove_reading reading = {0};
  double origin = 0, apart = clock_of(p->rank % hosts) - clock_of(0);
  ahead = clock_of(p->rank % hosts);
  polite_barrier(p->comm);
  double before = grove_clock();
  p->ctx->place = seats;
  CHECK_OK(grove_trace_compare_clocks(p->ctx, &reading, &origin));
  p->ctx->place = found;
  double after = grove_clock();
  CHECK(reading.here >= before && reading.here <= after, "read at %g, not from %g to %g",
        reading.here, before, after);
  CHECK(fabs(reading.ahead - apart) <= reading.error + 1e-9,
        "%d hosts: the clock is %.9g s ahead, not %g; it is said to be %g s wrong at most", hosts,
        reading.ahead, apart, reading.error);
  CHECK(reading.error <= after - before, "%g s wrong, in %g s", reading.error, after - before);
  CHECK((reading.error == 0) == (p->rank % hosts == 0), "%d hosts: %g s wrong", hosts,
        reading.error);
  CHECK(origin - clock_of(0) <= after - ahead, "the time line begins %g s late",
        origin - clock_of(0) - after + ahead);
  if (p->rank == 0) CHECK(origin >= before, "it begins %g s early", before - origin);
  ahead = 0;
  free(seats);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/compares_clocks");
  place p = place_create(split(0));
  for (int hosts = 1; hosts <= p.size; hosts++) try_hosts(&p, hosts);
  place_free(&p);
  return test_end();
}
