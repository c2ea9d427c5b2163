/* What the report of an operation says of memories: where its arrays lie, what the host does for
 * kernels, and what that takes.
 */
#include "device/recipes.h"
#include "exec/apart.h"

#include <stdio.h>
#include <string.h>

/* Made with the operation, for reports are read as long as it lives. */
typedef struct grove_placement {
  char memory[160], by_host[120];
} placement;

static void append_item(char *text, size_t room, const char *item)
{
  size_t used = strlen(text);
  snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", item);
}

static int has_host_arrays(const grove_transfer *op)
{
  for (int k = 0; k < op->nfields; k++)
    for (int a = 0; a < GROVE_ARRAYS; a++)
      if (op->fields[k].request.arrays[a] && op->fields[k].spaces[a].kind == &grove_space_host)
        return 1;
  return 0;
}

static void name_memories(const grove_transfer *op, placement *p)
{
  char name[64];
  if (has_host_arrays(op)) append_item(p->memory, sizeof p->memory, "host");
  for (int j = 0; j < op->nspaces; j++) {
    snprintf(name, sizeof name, "%s device %d", op->spaces[j].kind->name, op->spaces[j].device);
    append_item(p->memory, sizeof p->memory, name);
  }
}

static grove_burden weigh_lifts(const grove_transfer *op)
{
  grove_burden sum = {0};
  for (int j = 0; j < op->nspaces; j++)
    if (op->spaces[j].lift && op->spaces[j].kind->weigh)
      op->spaces[j].kind->weigh(op->spaces[j].lift, &sum);
  return sum;
}

static void name_obstacles(unsigned obstacles, placement *p)
{
  static const struct {
    grove_obstacle bit;
    const char *name;
  } all[] = {{GROVE_OBSTACLE_OPERATION, "a user's operation"},
             {GROVE_OBSTACLE_LONG_DOUBLE, "long double"},
             {GROVE_OBSTACLE_TYPE, "a type that only MPI can walk"},
             {GROVE_OBSTACLE_SLOTS, "slots that overlap"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (obstacles & all[i].bit) append_item(p->by_host, sizeof p->by_host, all[i].name);
}

grove_status grove_apart_describe(grove_transfer *op)
{
  if (op->nspaces == 0 || op->placement) return GROVE_OK;
  GROVE_PASS_NEW(op->placement, 1);
  name_memories(op, op->placement);
  name_obstacles(weigh_lifts(op).obstacles, op->placement);
  return GROVE_OK;
}

void grove_apart_tell(const grove_transfer *op, grove_report *report)
{
  grove_burden sum = weigh_lifts(op);
  report->memory = op->placement->memory;
  report->by_host = op->placement->by_host;
  report->path = "staged";
  report->pinned = sum.host_bytes > 0 && sum.pinned_bytes == sum.host_bytes;
  report->device_bytes = sum.device_bytes;
}
