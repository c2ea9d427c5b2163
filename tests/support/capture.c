#define _POSIX_C_SOURCE 200809L /* dup2, fileno */
#include "capture.h"

#include "check.h"

#include <unistd.h>

capture capture_begin(void)
{
  capture c = {.file = tmpfile()};
  CHECK(c.file != NULL, "no temporary file");
  fflush(stderr);
  c.before = dup(STDERR_FILENO);
  CHECK(c.before >= 0 && dup2(fileno(c.file), STDERR_FILENO) >= 0, "no second standard error");
  return c;
}

void capture_end(capture *c, char *text)
{
  fflush(stderr);
  dup2(c->before, STDERR_FILENO);
  close(c->before);
  rewind(c->file);
  size_t n = fread(text, 1, CAPTURE_BYTES - 1, c->file);
  text[n] = '\0';
  fclose(c->file);
}
