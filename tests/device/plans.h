/* Calls of the emulated device that fail as planned, on one rank. */
#ifndef GROVE_TESTS_PLANS_H
#define GROVE_TESTS_PLANS_H

#include "places.h"
#include "rig.h"

#include <stdio.h>
#include <string.h>

/* Of all memory of the device, as it says itself. */
static inline long long used_bytes(void)
{
  void *memory = NULL;
  long long used = -1;
  CHECK_STATUS(driver->allocate(0, INT64_MAX, &memory), GROVE_ERR_MEMORY);
  const char *at = strstr(grove_last_error(), " bytes: ");
  CHECK(at && sscanf(at, " bytes: %lld of", &used) == 1, "'%s'", grove_last_error());
  return used;
}

static inline void plan_failure(const place *p, int who, int call, int64_t n)
{
  static const grove_status with[] = {GROVE_ERR_DEVICE, GROVE_ERR_MEMORY};
  grove_emulated_fail_at((grove_emulated_call)call, p->rank == who ? n : -1, with[n % 2]);
}

/* Did the planned call come, on the rank that it was planned for? And no more of it. */
static inline int failed_as_planned(const place *p, int who, int64_t n)
{
  int came = grove_emulated_calls() > n;
  grove_emulated_fail_at(GROVE_EMULATED_ANY, -1, GROVE_OK);
  MPI_Request request;
  MPI_Ibcast(&came, 1, MPI_INT, who, p->comm, &request);
  polite_wait(&request);
  return came;
}

#endif
