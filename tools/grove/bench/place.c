/* The whole machine that predictions are made with: the bench itself knows only its name from a
 * report.
 */
#include "grove/bench/bench.h"
#include "grove/machine/machine.h"

#include "base/options.h"
#include "measure/measure.h"
#include "topo/topo.h"

#include <string.h>
#include <time.h>

/* Opens it if it has this name. */
static grove_machine *open_if(const char *path, const char *name)
{
  grove_machine *m = NULL;
  if (!*path || grove_machine_open(path, &m) != GROVE_OK) return NULL;
  if (strcmp(m->name, name) != 0) grove_machine_free(&m);
  return m;
}

/* Looks where the context looked, in the same order: the requested profile, this machine's own, one
 * of its kind. `path` is that of the profile found. */
static grove_machine *find(const bench *b, const grove_options *options, const char *name,
                           char *path, size_t room)
{
  snprintf(path, room, "%s", b->set.machine ? b->set.machine : options->machine);
  grove_machine *m = open_if(path, name);
  if (m) return m;
  grove_measure_path(b->ctx, path, room);
  m = open_if(path, name);
  if (m) return m;
  snprintf(path, room, "%s", name);
  return open_if(path, name);
}

static void print_text(const char *name, const char *text)
{
  printf(" \"%s\": ", name);
  print_json_text(stdout, text);
  printf(",\n");
}

void bench_print_json_place(const bench *b, const char *machine)
{
  char path[1024], processor[96], mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "", date[32] = "";
  int length = 0;
  time_t now = time(NULL);
  grove_options options;
  if (grove_options_create(&options) != GROVE_OK) return;
  grove_options_read_environment(&options);
  grove_topo_processor(processor, sizeof processor);
  MPI_Get_library_version(mpi, &length);
  mpi[strcspn(mpi, "\n,")] = '\0';
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  print_text("date", date);
  print_text("processor", processor);
  print_text("network", grove_topo_network());
  print_text("mpi", mpi);
  printf(" \"emulated_nodes\": %s,\n \"profile\": ",
         options.node_size > 0 || *options.node_map ? "true" : "false");
  grove_machine *m = find(b, &options, machine, path, sizeof path);
  if (!m || print_machine_json(m, path) != EXIT_OK) printf("null\n");
  printf(" ,\n");
  grove_machine_free(&m);
  grove_options_free(&options);
}
