#define _POSIX_C_SOURCE 200809L /* readlink */
#include "shared.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The names are gone, but the files are open. */
int64_t shared_bytes(void)
{
  int64_t bytes = 0;
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[300], target[300] = "";
    struct stat about;
    snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
    if (readlink(path, target, sizeof target - 1) < 0) continue;
    if (strncmp(target, "/dev/shm/grove-", 15) != 0 || fstat(atoi(entry->d_name), &about) != 0)
      continue;
    bytes += (int64_t)about.st_blocks * 512;
  }
  closedir(folder);
  return bytes;
}

int shared_pieces(void)
{
  char line[600];
  int n = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  if (!maps) return 0;
  while (fgets(line, sizeof line, maps)) n += strstr(line, " /dev/shm/grove-") != NULL;
  fclose(maps);
  return n;
}
