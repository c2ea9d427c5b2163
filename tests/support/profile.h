/* A machine from the rows of its profile, without `name` and `end`. For tests of the inside. */
#ifndef TEST_PROFILE_H
#define TEST_PROFILE_H

#include "check.h"
#include "model/machine.h"

#include <stdio.h>
#include <string.h>

static inline grove_machine *machine_of(const char *rows)
{
  char text[8000];
  grove_machine *m = NULL;
  int length = snprintf(text, sizeof text, "name made\n%send 1\n", rows);
  CHECK(length > 0 && (size_t)length < sizeof text, "a profile of %d bytes", length);
  CHECK_OK(grove_profile_read(text, strlen(text), "made", &m));
  return m;
}

/* The same machine with more rows. */
static inline void machine_learn(grove_machine *m, const char *term, const char *locality,
                                 const char *range, double value, const char *unit)
{
  const char *memory = strcmp(locality, "node") == 0 ? "-" : "cpu";
  CHECK_OK(grove_machine_add(m, term, memory, locality, range, value, unit, "by hand"));
  CHECK_OK(grove_machine_digest(m));
}

#endif
