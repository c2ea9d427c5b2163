/* Runs a fuzz target without libFuzzer: the seeds as they are, then a fixed number of changed ones.
 *
 * FUZZ_SEEDS names the folder of seeds. SEED and SAMPLES are those of every test (check.h); the
 * same SEED makes the same inputs. An input that ends the program is left in fuzz-failed.
 */
#define _POSIX_C_SOURCE 200809L /* scandir, sigaction */
#include "check.h"
#include "random.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 16, RUNS = 10000 };

typedef struct text {
  size_t size;
  uint8_t *data;
} text;

static int nseeds;
static text *seeds;
static text now; /* what is being tried */

/* ---- seeds ---- */

static int is_file(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

static text read_seed(const char *folder, const char *name)
{
  char path[1000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  CHECK(file, "cannot open %s", path);
  text t = {.data = need(MOST_BYTES)};
  t.size = fread(t.data, 1, MOST_BYTES, file);
  fclose(file);
  return t;
}

static void read_seeds(const char *folder)
{
  struct dirent **entries = NULL;
  nseeds = scandir(folder, &entries, is_file, alphasort);
  CHECK(nseeds > 0, "no seeds in %s", folder);
  seeds = need((size_t)nseeds * sizeof *seeds);
  for (int i = 0; i < nseeds; i++) {
    seeds[i] = read_seed(folder, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
}

/* ---- changes ---- */

static size_t below(rng *r, size_t n)
{
  return n > 0 ? (size_t)(rng_next(r) % n) : 0;
}

static void erase(text *t, size_t at, size_t n)
{
  memmove(t->data + at, t->data + at + n, t->size - at - n);
  t->size -= n;
}

static void insert(text *t, size_t at, const void *from, size_t n)
{
  if (t->size + n > MOST_BYTES) return;
  memmove(t->data + at + n, t->data + at, t->size - at);
  memcpy(t->data + at, from, n);
  t->size += n;
}

/* A piece of some seed, a word at best: what belongs together elsewhere. */
static void insert_piece(rng *r, text *t)
{
  const text *s = &seeds[below(r, (size_t)nseeds)];
  size_t from = below(r, s->size), n = 1 + below(r, 1 + below(r, 80));
  if (from + n > s->size) n = s->size - from;
  insert(t, below(r, t->size + 1), s->data + from, n);
}

static void change(rng *r, text *t)
{
  static const char *const odd[] = {
    "\n", "-1", "1e999", "99999999999999999999", "inf", "nan", "\t", "any", "end", "..",
    "#",  "0",  "\r"};
  size_t at = below(r, t->size), left = t->size - at;
  size_t n = 1 + below(r, 1 + below(r, 60));
  if (n > left) n = left;
  const char *word = odd[below(r, sizeof odd / sizeof *odd)];
  switch (rng_next(r) % 7) {
  case 0:
    if (t->size > 0) t->data[at] ^= (uint8_t)(1U << rng_next(r) % 8);
    break;
  case 1:
    if (t->size > 0) t->data[at] = (uint8_t)rng_next(r);
    break;
  case 2: erase(t, at, n); break;
  case 3: insert(t, at, word, strlen(word)); break;
  case 4: insert_piece(r, t); break;
  case 5:
    erase(t, at, n);
    insert(t, at, word, strlen(word));
    break;
  default:
    if (rng_next(r) % 8 == 0) t->size = at; /* cut off */
    break;
  }
}

/* ---- running ---- */

static void keep_input(int number)
{
  int fd = open("fuzz-failed", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0 && write(fd, now.data, now.size) == (ssize_t)now.size)
    fputs("the input is in fuzz-failed\n", stderr);
  signal(number, SIG_DFL);
  raise(number);
}

/* In memory of just its size: a checker then sees every step beyond it. */
static void try(const text *t)
{
  now = (text){t->size, need(t->size)};
  memcpy(now.data, t->data, t->size);
  LLVMFuzzerTestOneInput(now.data, now.size);
  free(now.data);
}

int main(int argc, char **argv)
{
  const char *folder = getenv("FUZZ_SEEDS");
  test_begin(&argc, &argv, "fuzz");
  CHECK(folder, "FUZZ_SEEDS is not set");
  read_seeds(folder);
  signal(SIGABRT, keep_input);
  signal(SIGSEGV, keep_input);
  for (int i = 0; i < nseeds; i++) try(&seeds[i]);
  text t = {.data = need(MOST_BYTES)};
  rng r = rng_from(test_seed(), 0);
  int64_t runs = test_samples(RUNS);
  for (int64_t i = 0; i < runs; i++) {
    test_case(i);
    const text *s = &seeds[below(&r, (size_t)nseeds)];
    memcpy(t.data, s->data, s->size);
    t.size = s->size;
    for (size_t k = 1 + below(&r, 4); k > 0; k--) change(&r, &t);
    try(&t);
  }
  free(t.data);
  for (int i = 0; i < nseeds; i++) free(seeds[i].data);
  free(seeds);
  return test_end();
}
