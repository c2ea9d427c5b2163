/* A machine from the rows of its profile. */
#ifndef TEST_PROFILE_H
#define TEST_PROFILE_H

#include "grove.h"

/* Rows without `name` and `end`; the machine is called "made". */
grove_machine *machine_of(const char *rows);

#endif
