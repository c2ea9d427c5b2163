/* The command line of a benchmark, and the text file with its cases. */
#ifndef BENCH_KIT_FLAGS_H
#define BENCH_KIT_FLAGS_H

#include <stddef.h>

/* What a flag sets: an int to 1, without a value; a const char *; an int; an int of at least 1; an
 * int64_t; a double; a double above 0. */
enum { BENCH_SWITCH, BENCH_TEXT, BENCH_INT, BENCH_COUNT, BENCH_BYTES, BENCH_REAL, BENCH_POSITIVE };

typedef struct bench_flag {
  const char *name;
  int kind;
  void *value;
} bench_flag;

/* The list ends with a flag without a name. Returns the word that is not understood, or NULL. */
const char *bench_read_flags(int argc, char **argv, const bench_flag *flags);

/* Whether `only` is the name, is a prefix of it that ends in -, or is NULL or empty. */
int bench_is_chosen(const char *only, const char *name);

/* Reads a file of cases, one per line, without comments (#). `read_line` fills one case of the
 * given size and returns what is wrong, or NULL. Returns how many there are, and the list, which
 * the caller frees; or -1 after a sentence on standard error. */
int bench_read_cases(const char *path, size_t bytes, const char *(*read_line)(char *, void *),
                     void **out);

#endif
