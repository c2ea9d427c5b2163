#include "kit/conditions.h"

#include "kit/need.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

void bench_report_conditions(MPI_Comm comm, int pinned)
{
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int rank, nranks, length;
  cpu_set_t allowed;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &nranks);
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n")] = '\0';
  for (char *tab; (tab = strchr(version, '\t'));) *tab = ' ';
  int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : INT_MAX;
  MPI_Allreduce(MPI_IN_PLACE, &cores, 1, MPI_INT, MPI_MAX, comm);
  char bound[40] = "not bound";
  if (pinned) snprintf(bound, sizeof bound, "pinned to %d cores each", cores);
  if (cores == 1) snprintf(bound, sizeof bound, "bound to cores");
  if (rank == 0) printf("conditions %d ranks, %s, %s\n", nranks, bound, version);
}

void bench_pin(MPI_Comm comm)
{
  cpu_set_t allowed, mine;
  int rank, nranks, nth = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &nranks);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < nranks) return;
  int share = CPU_COUNT(&allowed) / nranks;
  CPU_ZERO(&mine);
  for (int core = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, &allowed) && nth++ / share == rank) CPU_SET(core, &mine);
  bench_need(sched_setaffinity(0, sizeof mine, &mine) == 0, "a rank cannot be pinned");
}
