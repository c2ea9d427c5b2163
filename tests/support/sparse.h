/* Arrays of many gibibytes of which a test touches a few pages: holes in an unnamed file, or
 * addresses without reserved memory. */
#ifndef TEST_SPARSE_H
#define TEST_SPARSE_H

#include <stdint.h>

typedef struct sparse {
  char *memory; /* zeros; NULL: not available on this machine */
  int64_t bytes;
} sparse;

sparse sparse_file(int64_t bytes);
sparse sparse_memory(int64_t bytes);
void sparse_free(sparse *s);

/* Whether all ranks have theirs. Collective. */
int sparse_everywhere(const sparse *s);

#endif
