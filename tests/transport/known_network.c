/* See known_network.h. When a message arrives is told by MPI. The clock, patience, what writes and
 * what listens are replaced (--wrap). */
#include "known_network.h"
#include "check.h"
#include "transport/ofi_desk.h"

#include <math.h>

static known_network network;
static int is_on, stamp = 77;         /* the tag of the times of arrival */
static double now, free_again;        /* free_again: when this rank can send */
static int looked;                    /* by who waits now */
static void (*told)(void *, int64_t); /* of a message that has come */

double __real_grove_clock(void);
double __wrap_grove_clock(void);
double __wrap_grove_clock(void)
{
  return is_on ? now : __real_grove_clock();
}

/* How long somebody waits is no matter of this machine's speed either. */
void __real_grove_pause_begin(grove_pause *pause, int spins);
void __wrap_grove_pause_begin(grove_pause *pause, int spins);
void __wrap_grove_pause_begin(grove_pause *pause, int spins)
{
  looked = 0;
  __real_grove_pause_begin(pause, spins);
}

int __real_grove_pause_expired(const grove_pause *pause, double timeout);
int __wrap_grove_pause_expired(const grove_pause *pause, double timeout);
int __wrap_grove_pause_expired(const grove_pause *pause, double timeout)
{
  if (!is_on) return __real_grove_pause_expired(pause, timeout);
  return timeout > 0 && network.looks > 0 && ++looked > network.looks;
}

grove_status __real_grove_fabric_write(grove_fabric *f, const grove_fabric_put *put,
                                       int64_t *taken);
grove_status __wrap_grove_fabric_write(grove_fabric *f, const grove_fabric_put *put,
                                       int64_t *taken);
grove_status __wrap_grove_fabric_write(grove_fabric *f, const grove_fabric_put *put, int64_t *taken)
{
  if (network.writes_left == 0)
    return grove_error(GROVE_ERR_SYSTEM, __FILE__, __LINE__, "the network fails on purpose");
  GROVE_PASS(__real_grove_fabric_write(f, put, taken));
  if (*taken == 0) return GROVE_OK;
  CHECK(put->offset == 0 && *taken == put->bytes, "a message in pieces");
  double leaves = fmax(now, free_again), rest = network.per_byte * (double)(put->bytes - 1);
  double arrives = leaves + network.latency + rest;
  free_again = leaves + network.gap + rest;
  network.writes_left--;
  MPI_Send(&arrives, 1, MPI_DOUBLE, 1 - world_rank(), stamp, MPI_COMM_WORLD);
  return GROVE_OK;
}

static double hear_stamp(void)
{
  double arrives = 0;
  MPI_Recv(&arrives, 1, MPI_DOUBLE, 1 - world_rank(), stamp, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return arrives;
}

static void note_arrival(void *self, int64_t index)
{
  now = fmax(now, hear_stamp());
  told(self, index);
}

grove_status __real_grove_fabric_listen(grove_fabric *f, grove_fabric_listener *l, int64_t n);
grove_status __wrap_grove_fabric_listen(grove_fabric *f, grove_fabric_listener *l, int64_t n);
grove_status __wrap_grove_fabric_listen(grove_fabric *f, grove_fabric_listener *l, int64_t n)
{
  told = l->come;
  l->come = note_arrival;
  return __real_grove_fabric_listen(f, l, n);
}

void known_network_begin(const known_network *n)
{
  network = *n;
  now = free_again = 0;
  is_on = 1;
}

/* Times of messages that have not come are left: nobody takes them for those of later ones. */
void known_network_end(void)
{
  is_on = 0;
  network.writes_left = -1;
  polite_barrier(MPI_COMM_WORLD);
  for (int left = 1; left;) {
    MPI_Iprobe(1 - world_rank(), stamp, MPI_COMM_WORLD, &left, MPI_STATUS_IGNORE);
    if (left) hear_stamp();
  }
  stamp++;
  polite_barrier(MPI_COMM_WORLD);
}
