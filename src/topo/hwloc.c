#include "topo/topo.h"

#include <hwloc.h>

/* The package that holds all of the process's binding, or 0 when there is no single one. */
static int bound_package(hwloc_topology_t machine)
{
  hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  int package = 0;
  if (bound && hwloc_get_cpubind(machine, bound, HWLOC_CPUBIND_PROCESS) == 0) {
    hwloc_obj_t object = hwloc_get_obj_covering_cpuset(machine, bound);
    while (object && object->type != HWLOC_OBJ_PACKAGE) object = object->parent;
    if (object) package = (int)object->logical_index;
  }
  hwloc_bitmap_free(bound);
  return package;
}

grove_status grove_topo_look(int *socket, int *cores)
{
  grove_status status = GROVE_OK;
  hwloc_topology_t machine;
  GROVE_CHECK(hwloc_topology_init(&machine) == 0, GROVE_ERR_SYSTEM, "hwloc cannot start");
  /* Packages and cores are all that is asked for; looking for more takes much longer. */
  hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(machine, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(machine) != 0) {
    hwloc_topology_destroy(machine);
    GROVE_CHECK(0, GROVE_ERR_SYSTEM, "hwloc cannot read this machine's topology");
  }
  *cores = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PU);
  *socket = bound_package(machine);
  hwloc_topology_destroy(machine);
fail:
  return status;
}
