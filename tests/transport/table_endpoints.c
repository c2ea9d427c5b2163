/* A channel that is cut by a table uses as many endpoints of libfabric as the table tells, group g
 * the one with number g modulo that, and never more than are open: all of them where the table does
 * not tell. Counted by the writes that leave from each endpoint of rank 0.
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#ifndef GROVE_LIBFABRIC

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/table_endpoints");
  return test_skip("there is no libfabric");
}

#else

#include "places.h"
#include "transport/ofi_desk.h"

#include <string.h>
#include <unistd.h>

enum { PARTS = 12, GROUPS = 6, BYTES = 1000, OPEN = 4, ROUNDS = 3 };

/* Rank 0's line of the table; the others need the name alone. */
static void write_line(const char *path, int rank, const char *told)
{
  if (rank > 0) return;
  FILE *file = fopen(path, "w");
  CHECK(file && fprintf(file, "%d %d %d%s\n", PARTS, PARTS * BYTES, GROUPS, told) > 0 &&
          fclose(file) == 0,
        "%s cannot be written", path);
}

static void count_writes(grove_context *ctx, int64_t *writes)
{
  grove_fabric *f = NULL;
  CHECK_OK(grove_fabric_of(ctx, 1, NULL, &f));
  CHECK(grove_fabric_endpoints(f) == OPEN, "%d endpoints", grove_fabric_endpoints(f));
  for (int i = 0; i < OPEN; i++) writes[i] = grove_fabric_writes(f, i);
}

static void run_rounds(const place *p)
{
  static char memory[PARTS * BYTES];
  grove_op *op = NULL;
  if (p->rank == 0)
    CHECK_OK(grove_psend_init(p->ctx, memory, PARTS, BYTES, MPI_BYTE, 1, 0, &op));
  else
    CHECK_OK(grove_precv_init(p->ctx, memory, PARTS, BYTES, MPI_BYTE, 0, 0, &op));
  for (int round = 0; round < ROUNDS; round++) {
    memset(memory, p->rank == 0 ? round + 1 : 0, sizeof memory);
    CHECK_OK(grove_start(op));
    for (int i = PARTS; p->rank == 0 && i > 0; i--) CHECK_OK(grove_ready(op, i - 1, 1));
    CHECK_OK(grove_wait(op));
    for (size_t i = 0; i < sizeof memory; i++)
      CHECK(memory[i] == round + 1, "byte %zu is %d", i, memory[i]);
  }
  CHECK_OK(grove_op_free(&op));
}

/* `used`: how many endpoints that should be. */
static void try_table(const place *p, const char *path, const char *told, int used)
{
  int64_t before[OPEN] = {0}, after[OPEN] = {0}, wanted[OPEN] = {0};
  write_line(path, p->rank, told);
  place_set(p, "part_table", path);
  if (p->rank == 0) count_writes(p->ctx, before);
  run_rounds(p);
  if (p->rank > 0) return;
  count_writes(p->ctx, after);
  for (int g = 0; g < GROUPS; g++) wanted[g % used] += ROUNDS;
  for (int i = 0; i < OPEN; i++)
    CHECK(after[i] - before[i] == wanted[i], "told '%s': %lld writes from endpoint %d, not %lld",
          told, (long long)(after[i] - before[i]), i, (long long)wanted[i]);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *told;
    int used;
  } row[] = {{"", OPEN},     {" 1e-5", OPEN}, {" - 1", 1},    {" 1e-5 2", 2},
             {" 1e-5 3", 3}, {" - 4", 4},     {" - 5", OPEN}, {" - 16", OPEN}};
  char path[64];
  test_begin(&argc, &argv, "transport/table_endpoints");
  place p = place_create(split(0));
  snprintf(path, sizeof path, "/tmp/grove-test-%ld.table", (long)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  place_set(&p, "aggregator", "table");
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    test_case((int64_t)i);
    try_table(&p, path, row[i].told, row[i].used);
  }
  if (p.rank == 0) unlink(path);
  place_free(&p);
  return test_end();
}

#endif
