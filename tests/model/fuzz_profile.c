/* Any bytes at all, as a profile: refused with a sentence, or read, and then written and read again
 * with nothing lost. See tests/fuzz. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "model/multipath.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int condition)
{
  if (!condition) abort(); /* what both drivers notice */
}

static char *print(const grove_machine *m)
{
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  insist(file && grove_profile_print(m, file) == GROVE_OK);
  fclose(file);
  return text;
}

static void look_up_everything(const grove_machine *m)
{
  static const int64_t sizes[] = {0, 1, 500, 70000, INT64_MAX};
  char missing[100];
  grove_machine_missing(m, missing, sizeof missing);
  for (int i = 0; i < 5; i++)
    for (int l = 0; l < GROVE_LOCALITIES; l++) {
      for (int k = 0; k < GROVE_MEMORIES; k++) grove_machine_postal(m, k, l, sizes[i]);
      const grove_loggp *p = grove_machine_loggp(m, l, sizes[i]);
      insist(!p || p->from_bytes >= 0);
      grove_machine_shared(m, i * i);
      grove_machine_copying(m, GROVE_H2D, i * i);
    }
}

/* Whatever the links are, a copy ends, and all of it has a path. */
static void split_copies(const grove_machine *m)
{
  static const double sizes[] = {1, 5e6};
  for (int i = 0; i < 2; i++)
    for (int solver = 0; solver <= GROVE_SOLVER_PUBLISHED; solver++) {
      grove_copies set = {.count = 0};
      grove_split split[GROVE_COPIES];
      if (grove_copies_add(&set, m, 0, 1, sizes[i], NULL) != GROVE_OK) return;
      (void)grove_copies_add(&set, m, 1, 0, sizes[i], NULL);
      insist(grove_multipath_solve(&set, solver, split) == GROVE_OK);
      int64_t bytes = 0;
      for (int k = 0; k < split[0].npaths; k++) bytes += split[0].load[k].bytes;
      insist(bytes == (int64_t)sizes[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  grove_machine *m = NULL, *again = NULL, *copy = NULL;
  if (grove_profile_read((const char *)data, size, "fuzz", &m) != GROVE_OK) {
    insist(!m && *grove_last_error());
    return 0;
  }
  look_up_everything(m);
  split_copies(m);
  char *text = print(m);
  insist(grove_profile_read(text, strlen(text), "again", &again) == GROVE_OK);
  char *twice = print(again);
  insist(strcmp(text, twice) == 0 && m->nrows == again->nrows);
  insist(grove_machine_copy(m, &copy) == GROVE_OK && grove_machine_digest(copy) == GROVE_OK);
  free(text);
  free(twice);
  grove_machine_free(&copy);
  grove_machine_free(&again);
  grove_machine_free(&m);
  return 0;
}
