/* The machine of a context: by option, by file, given by the program; bad ones are refused with the
 * same status everywhere and change nothing; and predictions are made with it. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Off node 10 us and 1 ns a byte; nothing else is known. */
static const char profile[] = "name round\n"
                              "status incomplete\n"
                              "alpha cpu off-node any 1e-05 s by hand\n"
                              "beta cpu off-node any 1e-09 s/B by hand\n"
                              "end 4\n";

/* Every rank its own file. */
static void write_file(char *path, const char *text)
{
  strcpy(path, "/tmp/grove-machine-XXXXXX");
  int file = mkstemp(path);
  CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text), "no file");
  close(file);
}

/* The prediction for a ring: each rank has a leaf of `bytes` at the next. */
static double predict(grove_context *ctx, int bytes)
{
  grove_forest *f = NULL;
  grove_op *op = NULL;
  char *data = calloc((size_t)(2 * bytes + 1), 1);
  grove_root root = {(world_rank() + 1) % world_size(), 0};
  grove_report report = {.struct_size = sizeof report};
  MPI_Datatype unit;
  MPI_Type_contiguous(bytes, MPI_BYTE, &unit);
  MPI_Type_commit(&unit);
  CHECK_OK(grove_forest_create(ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &root));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast_init(f, unit, data, data + bytes, MPI_REPLACE, &op));
  CHECK_OK(grove_op_report(op, &report));
  grove_op_free(&op);
  grove_forest_free(&f);
  MPI_Type_free(&unit);
  free(data);
  return report.predicted_seconds;
}

static void near(double got, double want)
{
  CHECK(fabs(got - want) < 1e-6 * want + 1e-11, "%g s, not %g s", got, want);
}

/* Each rank sends one message off node: alpha + beta s, which the program can work out. */
static void priced_by_hand(grove_context *ctx)
{
  char path[64], first[64];
  grove_machine *m = NULL;
  write_file(path, profile);
  memcpy(first, path, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK_OK(grove_machine_open(path, &m));
  CHECK_OK(grove_context_use_machine(ctx, m));
  grove_machine_free(&m); /* it was copied */
  near(predict(ctx, 1000), world_size() > 1 ? 1e-5 + 1000 * 1e-9 : 0);
  near(predict(ctx, 0), 0);                         /* what is empty does not travel */
  CHECK_OK(grove_context_set(ctx, "timeout", "0")); /* other options leave it alone */
  near(predict(ctx, 1000), world_size() > 1 ? 1.1e-5 : 0);
  CHECK_OK(grove_context_set(ctx, "machine", "lassen")); /* short: Table 2 */
  near(predict(ctx, 100), world_size() > 1 ? 1.89e-6 + 100 * 6.88e-10 : 0);
  CHECK_OK(grove_context_set(ctx, "machine", first)); /* rank 0's file counts */
  near(predict(ctx, 1000), world_size() > 1 ? 1.1e-5 : 0);
  CHECK_OK(
    grove_context_set(ctx, "machine", "measure")); /* not before there is something to price */
  CHECK_OK(grove_context_set(ctx, "machine", first));
  CHECK_OK(grove_context_use_machine(ctx, NULL)); /* back to the option */
  near(predict(ctx, 1000), world_size() > 1 ? 1.1e-5 : 0);
  unlink(path);
}

/* What a process has read before is not read again, unless it is another text: here of the same
 * length, in the same file. Contexts that came before keep theirs. */
static void read_anew(void)
{
  char path[64] = "", other[sizeof profile];
  grove_context *ctx[3] = {NULL};
  if (world_rank() == 0) write_file(path, profile);
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  setenv("GROVE_MACHINE", path, 1);
  setenv("GROVE_NODE_SIZE", "1", 1);
  for (int k = 0; k < 2; k++) CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx[k]));
  memcpy(other, profile, sizeof other);
  *strstr(other, "1e-05") = '3';
  polite_barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) {
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(other, file) >= 0 && fclose(file) == 0, "no file");
  }
  polite_barrier(MPI_COMM_WORLD);
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx[2]));
  CHECK_OK(grove_context_free(&ctx[0]));
  near(predict(ctx[1], 1000), world_size() > 1 ? 1e-5 + 1000 * 1e-9 : 0);
  near(predict(ctx[2], 1000), world_size() > 1 ? 3e-5 + 1000 * 1e-9 : 0);
  for (int k = 1; k < 3; k++) CHECK_OK(grove_context_free(&ctx[k]));
  unsetenv("GROVE_MACHINE");
  unsetenv("GROVE_NODE_SIZE");
  if (world_rank() == 0) unlink(path);
}

/* Refused on all ranks with the same sentence; what was there stays. */
static void refused(grove_context *ctx)
{
  static const char *const bad[] = {"no-such-machine", "/no/such/file.machine", "/"};
  char path[64];
  for (int i = 0; i < 3; i++) {
    CHECK_STATUS(grove_context_set(ctx, "machine", bad[i]), GROVE_ERR_OPTION);
    CHECK(strstr(grove_last_error(), bad[i]), "'%s' does not name %s", grove_last_error(), bad[i]);
    near(predict(ctx, 1000), world_size() > 1 ? 1.1e-5 : 0);
  }
  write_file(path, "name cut\nalpha cpu off-node any 1e-05");
  char first[64];
  memcpy(first, path, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK_STATUS(grove_context_set(ctx, "machine", first), GROVE_ERR_OPTION);
  CHECK(strstr(grove_last_error(), "line 2"), "'%s' names no line", grove_last_error());
  unlink(path);
}

static void differs(grove_context *ctx)
{
  grove_machine *m = NULL;
  if (world_size() == 1) return;
  CHECK_OK(grove_machine_open(world_rank() == 0 ? "lassen" : "bluewaters", &m));
  CHECK_STATUS(grove_context_use_machine(ctx, m), GROVE_ERR_ARG);
  CHECK_STATUS(grove_context_use_machine(ctx, world_rank() == 0 ? m : NULL), GROVE_ERR_ARG);
  near(predict(ctx, 1000), 1.1e-5);
  grove_machine_free(&m);
}

static void files(void)
{
  grove_machine *m = NULL;
  CHECK_STATUS(grove_machine_open(NULL, &m), GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_open("lassen", NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_machine_open("lassen", &m));
  CHECK_STATUS(grove_machine_write(m, "/no/such/folder/x.machine"), GROVE_ERR_SYSTEM);
  CHECK_STATUS(grove_machine_write(NULL, "x"), GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_write(m, NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_machine_free(&m));
  CHECK_OK(grove_machine_free(&m));
  CHECK_OK(grove_machine_free(NULL));
  CHECK_STATUS(grove_context_use_machine(NULL, NULL), GROVE_ERR_ARG);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/machines");
  grove_context *ctx = NULL;
  files();
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  CHECK(predict(ctx, 8) >= 0, "no price without a profile"); /* of a machine of this kind */
  CHECK_OK(grove_context_set(ctx, "node_size", "1"));
  priced_by_hand(ctx);
  refused(ctx);
  differs(ctx);
  CHECK_OK(grove_context_free(&ctx));
  read_anew();
  return test_end();
}
