#include "topo/topo.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Linux on most processors has a line with the name; on others at least the architecture. */
void grove_topo_processor(char *out, size_t room)
{
  char line[256];
  struct utsname system;
  snprintf(out, room, "%s", uname(&system) == 0 ? system.machine : "unknown processor");
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && fgets(line, sizeof line, file)) {
    char *value = strchr(line, ':');
    if (!value || strncmp(line, "model name", 10) != 0) continue;
    value += strspn(value, ": \t");
    value[strcspn(value, "\n")] = '\0';
    snprintf(out, room, "%s", value);
    break;
  }
  if (file) fclose(file);
}

/* Does the folder have an entry? */
static int has_entries(const char *folder)
{
  int found = 0;
  DIR *open = opendir(folder);
  for (struct dirent *entry; open && (entry = readdir(open));) found |= entry->d_name[0] != '.';
  if (open) closedir(open);
  return found;
}

const char *grove_topo_network(void)
{
  if (has_entries("/sys/class/cxi")) return "slingshot";
  return has_entries("/sys/class/infiniband") ? "infiniband" : "tcp";
}
