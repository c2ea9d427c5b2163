/* Processor, network and host, as the system tells. They are asked for once per process: a program
 * may have thousands of contexts, and what Linux has of its processors takes long to read where
 * there are many.
 */
#include "topo/topo.h"

#include "base/digest.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* The value of a line "key : value" of /proc/cpuinfo; 0 if the line has another key. */
static int value_of(char *line, const char *key, const char **value)
{
  char *colon = strchr(line, ':');
  if (!colon || strncmp(line, key, strlen(key)) != 0) return 0;
  colon += strspn(colon, ": \t");
  colon[strcspn(colon, "\n")] = '\0';
  *value = colon;
  return 1;
}

/* On most processors Linux has a line with the name; on ARM it has numbers for maker and part. */
static void read_processor(char *out, size_t room)
{
  char line[256], maker[16] = "";
  const char *value = NULL;
  struct utsname system;
  if (uname(&system) != 0) strcpy(system.machine, "unknown processor");
  snprintf(out, room, "%s", system.machine);
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && fgets(line, sizeof line, file)) {
    if (value_of(line, "model name", &value)) {
      snprintf(out, room, "%s", value);
      break;
    }
    if (value_of(line, "CPU implementer", &value)) snprintf(maker, sizeof maker, "%s", value);
    if (value_of(line, "CPU part", &value)) {
      snprintf(out, room, "%s, maker %s, part %s", system.machine, maker, value);
      break;
    }
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

static const char *find_network(void)
{
  if (has_entries("/sys/class/cxi")) return "slingshot";
  return has_entries("/sys/class/infiniband") ? "infiniband" : "tcp";
}

/* Linux has a number that is new at every boot; elsewhere this adds nothing. */
static void read_boot(char *out, int room)
{
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (!file || !fgets(out, room, file)) *out = '\0';
  if (file) fclose(file);
}

/* ---- once ---- */

static pthread_once_t looked = PTHREAD_ONCE_INIT, asked = PTHREAD_ONCE_INIT;
static char processor[256];
static const char *network;
static uint64_t host;

static void read_hardware(void)
{
  read_processor(processor, sizeof processor);
  network = find_network();
}

static void ask_for_host(void)
{
  char text[MPI_MAX_PROCESSOR_NAME + 64] = "";
  int length = 0;
  MPI_Get_processor_name(text, &length);
  read_boot(text + strlen(text), 64);
  host = grove_digest_bytes(text, (int64_t)strlen(text));
}

void grove_topo_processor(char *out, size_t room)
{
  pthread_once(&looked, read_hardware);
  snprintf(out, room, "%s", processor);
}

const char *grove_topo_network(void)
{
  pthread_once(&looked, read_hardware);
  return network;
}

uint64_t grove_topo_host(void)
{
  pthread_once(&asked, ask_for_host);
  return host;
}
