/* The failures of failures.c, in letters that go by chunks, three or more of them: through docks
 * inside a node, in parts over MPI. */
#define LEAVES 8400
#include "failures.c"

int64_t __wrap_grove_space_chunk(void);

int64_t __wrap_grove_space_chunk(void)
{
  return 12000;
}
