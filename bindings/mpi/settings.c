/* The option `preload`, from the environment: GROVE_PRELOAD must be the same on every rank. */
#include "preload.h"

#include <stdlib.h>
#include <string.h>

_Thread_local int grove_pre_inside;

static grove_pre_settings settings;

/* Which calls that return a request may go through Grove. */
static void read_requests(void)
{
  const char *value = getenv("GROVE_PRELOAD_REQUESTS");
  settings.inits = 1;
  if (!value || !*value || strcmp(value, "init") == 0) return;
  settings.inits = settings.requests = strcmp(value, "all") == 0;
  if (!settings.inits && strcmp(value, "off") != 0)
    fprintf(stderr,
            "libgrove_mpi: GROVE_PRELOAD_REQUESTS is '%s'; it takes off, init or all. Calls that "
            "return a request go to MPI.\n",
            value);
}

/* Whether partitioned messages are Grove's also where MPI has them. */
static void read_partitioned(void)
{
  const char *value = getenv("GROVE_PRELOAD_PARTITIONED");
  if (!value || !*value || strcmp(value, "off") == 0) return;
  settings.partitioned = strcmp(value, "on") == 0;
  if (!settings.partitioned)
    fprintf(stderr,
            "libgrove_mpi: GROVE_PRELOAD_PARTITIONED is '%s'; it takes on or off. Partitioned "
            "messages are MPI's.\n",
            value);
}

static void read_settings(void)
{
  const char *value = getenv("GROVE_PRELOAD"), *after = getenv("GROVE_PRELOAD_AFTER");
  settings.on = 1;
  settings.after = 0.02;
  read_requests();
  read_partitioned();
  if (after) settings.after = atof(after);
  if (!value || !*value || strcmp(value, "on") == 0) return;
  if (strcmp(value, "off") == 0) {
    settings.on = 0;
  } else if (strcmp(value, "log") == 0) {
    settings.log = 1;
  } else if (strcmp(value, "always") == 0) {
    settings.always = 1;
    settings.log = 1;
  } else {
    fprintf(stderr,
            "libgrove_mpi: GROVE_PRELOAD is '%s'; it takes on, off, log or always. "
            "All calls go to MPI.\n",
            value);
    settings.on = 0;
  }
}

const grove_pre_settings *grove_pre_settings_get(void)
{
  static int read; /* two threads that come first both read the same */
  if (!read) {
    read_settings();
    read = 1;
  }
  return &settings;
}

#ifndef GROVE_MPI_HAS_PARTITIONED
extern int grove_mpi_partitioned __attribute__((weak)); /* of the program: grove_mpi.h */
#endif

int grove_pre_partitioned(void)
{
#ifdef GROVE_MPI_HAS_PARTITIONED
  return grove_pre_settings_get()->on && grove_pre_settings_get()->partitioned;
#else
  return &grove_mpi_partitioned != NULL;
#endif
}

int grove_pre_polite(void)
{
  const grove_pre_settings *s = grove_pre_settings_get();
  return (grove_pre_partitioned() || (s->on && s->requests)) && !grove_pre_threads();
}

int grove_pre_threads(void)
{
  static int level = -1;
  if (level < 0) PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

int grove_pre_error(MPI_Comm comm, const char *call)
{
  fprintf(stderr, "libgrove_mpi: %s: %s\n", call, grove_last_error());
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}
