#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "profile.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

grove_machine *machine_of(const char *rows)
{
  char path[] = "/tmp/grove-made-XXXXXX";
  grove_machine *m = NULL;
  int fd = mkstemp(path);
  FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
  CHECK(file, "no temporary file");
  fprintf(file, "name made\n%send 1\n", rows);
  CHECK(fclose(file) == 0, "%s cannot be written", path);
  CHECK_OK(grove_machine_open(path, &m));
  unlink(path);
  return m;
}
