/* Where this process may run: its socket and its cores, from hwloc.
 */
#include "topo/topo.h"

#include <hwloc.h>
#include <pthread.h>

/* The package that holds all of the set, or 0 when there is no single one. */
static int package_of(hwloc_topology_t machine, hwloc_const_bitmap_t set)
{
  hwloc_obj_t object = hwloc_get_obj_covering_cpuset(machine, set);
  while (object && object->type != HWLOC_OBJ_PACKAGE) object = object->parent;
  return object ? (int)object->logical_index : 0;
}

/* What the process may use: its binding, within what the machine (or a container) allows. */
static grove_status read_binding(hwloc_topology_t machine, int *socket, grove_cores *cores)
{
  grove_status status = GROVE_OK;
  hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  GROVE_CHECK(bound, GROVE_ERR_MEMORY, "no memory for a set of cores");
  if (hwloc_get_cpubind(machine, bound, HWLOC_CPUBIND_PROCESS) != 0) hwloc_bitmap_fill(bound);
  hwloc_bitmap_and(bound, bound, hwloc_topology_get_allowed_cpuset(machine));
  *socket = package_of(machine, bound);
  *cores = (grove_cores){{0}};
  for (int pu = hwloc_bitmap_first(bound); pu >= 0 && pu < 64 * GROVE_CORE_WORDS;
       pu = hwloc_bitmap_next(bound, pu))
    cores->word[pu / 64] |= (uint64_t)1 << pu % 64;
fail:
  hwloc_bitmap_free(bound);
  return status;
}

/* ---- the machine ---- */

static grove_status load_topology(hwloc_topology_t *out)
{
  hwloc_topology_t machine;
  GROVE_PASS_CHECK(hwloc_topology_init(&machine) == 0, GROVE_ERR_SYSTEM, "hwloc cannot start");
  /* Only packages and cores are needed; looking for more takes much longer. */
  hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(machine, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(machine) != 0) {
    hwloc_topology_destroy(machine);
    GROVE_PASS_CHECK(0, GROVE_ERR_SYSTEM, "hwloc cannot read this machine's topology");
  }
  *out = machine;
  return GROVE_OK;
}

/* Reading takes milliseconds, so it is done once per process and kept until the process ends.
 * Threads may then read it at the same time. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static hwloc_topology_t loaded;

/* What was found last. */
static int found, found_socket;
static grove_cores found_cores;

grove_status grove_topo_look(int *socket, grove_cores *cores)
{
  grove_status status = GROVE_OK;
  pthread_mutex_lock(&mutex);
  if (!loaded) status = load_topology(&loaded);
  pthread_mutex_unlock(&mutex);
  GROVE_PASS(status);
  GROVE_PASS(read_binding(loaded, socket, cores));
  pthread_mutex_lock(&mutex);
  found = 1;
  found_socket = *socket;
  found_cores = *cores;
  pthread_mutex_unlock(&mutex);
  return GROVE_OK;
}

grove_status grove_topo_recall(int *socket, grove_cores *cores)
{
  pthread_mutex_lock(&mutex);
  int have = found;
  *socket = found_socket;
  *cores = found_cores;
  pthread_mutex_unlock(&mutex);
  return have ? GROVE_OK : grove_topo_look(socket, cores);
}
