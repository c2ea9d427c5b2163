/* A rank that runs out of memory while a context is made, at each of its allocations in turn, from
 * the very first. Either all ranks get GROVE_ERR_MEMORY and one sentence, and nobody is left
 * waiting; or the context can do without, is made on all, and no sentence tells of it. The linker
 * puts the allocations below in the place of Grove's. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "scarce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *__real_strdup(const char *text);
FILE *__real_open_memstream(char **text, size_t *bytes);
char *__wrap_strdup(const char *text);
FILE *__wrap_open_memstream(char **text, size_t *bytes);

char *__wrap_strdup(const char *text)
{
  return runs_out(1) ? NULL : __real_strdup(text);
}

FILE *__wrap_open_memstream(char **text, size_t *bytes)
{
  return runs_out(1) ? NULL : __real_open_memstream(text, bytes);
}

static int on_any_rank(int here)
{
  int any = 0;
  MPI_Request request;
  MPI_Iallreduce(&here, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  polite_wait(&request);
  return any;
}

/* The profile that a process read last it need not read again. */
static void read_another(void)
{
  grove_context *ctx = NULL;
  setenv("GROVE_MACHINE", "lassen", 1);
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  CHECK_OK(grove_context_free(&ctx));
  unsetenv("GROVE_MACHINE");
}

static grove_context *create(grove_status *status)
{
  grove_context *ctx = NULL;
  *status = grove_context_create(MPI_COMM_WORLD, &ctx);
  scarce.armed = 0;
  return ctx;
}

/* The context works, whatever it does without. */
static void use(grove_context *ctx)
{
  int next = (world_rank() + 1) % world_size(), x = world_rank(), y = -1;
  grove_root root = {next, 0};
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &root));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast(f, MPI_INT, &x, &y, MPI_REPLACE));
  CHECK(y == next, "received %d, not %d", y, next);
  CHECK_OK(grove_forest_free(&f));
}

/* Returns 0 if there is no allocation of this number. */
static int fail_one(int bad, int64_t number)
{
  char before[2000];
  grove_status status;
  snprintf(before, sizeof before, "%s", grove_last_error());
  read_another();
  scarce.met = 0;
  scarce.fail = number;
  scarce.armed = world_rank() == bad;
  grove_context *ctx = create(&status);
  int failed = on_any_rank(scarce.met > number);
  CHECK((status == GROVE_OK) == (ctx != NULL), "%s", grove_status_name(status));
  CHECK(failed || status == GROVE_OK, "allocation %lld: %s: %s", (long long)number,
        grove_status_name(status), grove_last_error());
  CHECK_SAME_ERROR(MPI_COMM_WORLD, status);
  if (status == GROVE_OK) {
    CHECK(strcmp(before, grove_last_error()) == 0, "allocation %lld: no error, but '%s'",
          (long long)number, grove_last_error());
    if (failed) use(ctx);
  } else {
    CHECK(status == GROVE_ERR_MEMORY, "allocation %lld: %s: %s", (long long)number,
          grove_status_name(status), grove_last_error());
    CHECK_NUMBER_IN(grove_last_error(), bad);
  }
  CHECK_OK(grove_context_free(&ctx));
  return failed;
}

/* Allocations of this rank for a context. */
static int64_t count_allocations(void)
{
  grove_status status;
  scarce.met = 0;
  scarce.fail = INT64_MAX;
  scarce.armed = 1;
  grove_context *ctx = create(&status);
  CHECK_OK(status);
  CHECK_OK(grove_context_free(&ctx));
  return scarce.met;
}

/* A profile has a hundred rows of several words. */
static void reads_once(void)
{
  read_another();
  int64_t first = count_allocations(), second = count_allocations();
  CHECK(second < first / 2, "%lld allocations, and then %lld", (long long)first, (long long)second);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/short_of_memory");
  /* Of hundreds that are much alike a part; SAMPLES=all: every one. */
  enum { APART = 17 };
  int64_t first = 5 + (int64_t)(test_seed() % APART), step = test_exhaustive() ? 1 : APART;
  for (int bad = 0; bad < world_size(); bad++) {
    int64_t number = 0;
    test_case(bad);
    while (fail_one(bad, number)) number += number < first ? 1 : step;
    CHECK(number > 100, "rank %d ran out of memory at %lld allocations only", bad,
          (long long)number);
  }
  reads_once();
  return test_end();
}
