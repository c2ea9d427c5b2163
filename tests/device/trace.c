/* The option `trace` with arrays on a device: what goes out of it and into it has rows of its own,
 * a span for what each start begins, between that start and its end. Nothing of a row overlaps. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "check.h"
#include "grove_cuda.h"
#include "json.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 500, STARTS = 6, PATH_BYTES = 300 };

static const double ROUNDED = 0.003; /* microseconds have three digits */

/* ---- what is traced ---- */

static grove_forest *next_forest(const place *p)
{
  grove_forest *f = NULL;
  grove_root root[N];
  for (int64_t i = 0; i < N; i++) root[i] = (grove_root){(p->rank + 1) % p->size, 7 * i % N};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_name(f, "next"));
  CHECK_OK(grove_forest_set_graph(f, N, N, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* Rank 0 writes to the file. */
static void run_traced(const char *path)
{
  place p = place_create(split(0));
  double *x = NULL, here[N] = {0}, there[N];
  grove_op *op = NULL, *plain = NULL;
  place_set(&p, "trace", path);
  place_set(&p, "node_size", "1");
  CHECK_OK(grove_alloc_device(p.ctx, 2 * N * sizeof *x, (void **)&x));
  grove_forest *f = next_forest(&p);
  CHECK_OK(grove_bcast_init(f, MPI_DOUBLE, x, x + N, MPI_REPLACE, &op));
  CHECK_OK(grove_bcast_init(f, MPI_DOUBLE, here, there, MPI_REPLACE, &plain)); /* the host's */
  for (int i = 0; i < STARTS; i++) {
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    CHECK_OK(grove_start(plain));
    CHECK_OK(grove_wait(plain));
  }
  CHECK_OK(grove_op_free(&plain));
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_dealloc(p.ctx, x));
  place_free(&p);
}

/* ---- what the file says ---- */

static double end_of(const json *e)
{
  return json_number(e, "ts") + json_number(e, "dur");
}

static int is_span(const json *e, const char *kind)
{
  return strcmp(json_text(e, "ph"), "X") == 0 && strcmp(json_text(e, "cat"), kind) == 0;
}

/* The device's start or wait number `start` of a rank; both operations have such. */
static const json *find_span(const json *events, int rank, const char *kind, double start,
                             int which)
{
  for (int i = 0; i < events->n; i++) {
    const json *e = &events->items[i];
    if (!is_span(e, kind) || json_number(e, "tid") != rank + 1) continue;
    if (json_number(json_find(e, "args"), "start") == start && which-- == 0) return e;
  }
  CHECK(0, "no %s %g of rank %d", kind, start, rank);
  return NULL;
}

/* The row of a device: named, in order, every start once, inside the time of its operation. A rank
 * alone has self edges only, which do not leave the device: there is no row for what does. */
static void check_row(const json *events, int ranks, int rank, int in)
{
  int row = ranks + 1 + 2 * rank + in, expected = in || ranks > 1, named = 0, n = 0;
  double last = 0;
  for (int i = 0; i < events->n; i++) {
    const json *e = &events->items[i];
    if (!json_find(e, "tid") || json_number(e, "tid") != row) continue;
    if (strcmp(json_text(e, "name"), "thread_name") == 0) {
      const char *name = json_text(json_find(e, "args"), "name");
      CHECK(strstr(name, in ? "into the device" : "out of the device"), "it is called '%s'", name);
      named++;
    }
    if (strcmp(json_text(e, "ph"), "X") != 0) continue;
    const json *args = json_find(e, "args");
    CHECK(is_span(e, in ? "in" : "out"), "'%s' in row %d", json_text(e, "name"), row);
    CHECK(strcmp(json_text(args, "forest"), "next") == 0 &&
            strcmp(json_text(args, "clock"), "host") == 0 && json_number(args, "batches") >= 1,
          "other arguments");
    double start = json_number(args, "start"), begin = json_number(e, "ts");
    CHECK(start == ++n, "start %g comes as number %d", start, n);
    CHECK(begin >= last - ROUNDED, "it begins at %g, and the one before ends at %g", begin, last);
    last = end_of(e);
    const json *began = find_span(events, rank, "start", start, 0);
    const json *ended = find_span(events, rank, "wait", start, 0);
    CHECK(begin >= json_number(began, "ts") - ROUNDED && last <= end_of(ended) + ROUNDED,
          "%g to %g, and the operation %g to %g", begin, last, json_number(began, "ts"),
          end_of(ended));
  }
  CHECK(named == expected && n == STARTS * expected, "row %d has %d names and %d spans", row, named,
        n);
}

static void check_file(const char *path)
{
  char *text = read_whole(path);
  json *all = json_read(text);
  const json *events = json_find(all, "traceEvents");
  int ranks = (int)json_number(json_find(all, "otherData"), "ranks");
  CHECK(ranks == world_size(), "%d ranks", ranks);
  for (int r = 0; r < ranks; r++)
    for (int in = 0; in < 2; in++) check_row(events, ranks, r, in);
  json_free(all);
  free(text);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/trace");
  char folder[] = "/tmp/grove-device-trace-XXXXXX", path[PATH_BYTES] = "";
  if (world_rank() == 0) CHECK(mkdtemp(folder) != NULL, "no folder");
  snprintf(path, sizeof path, "%s/trace.json", folder);
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  run_traced(path);
  if (world_rank() == 0) {
    check_file(path);
    unlink(path);
    rmdir(folder);
  }
  return test_end();
}
