/* The halo of a product with a matrix, cut into blocks of rows: ghosts of other nodes only. */
#include "exchange.h"

#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int owner_of_row(const bench_rows *r, int64_t row)
{
  int owner = 0;
  while (r->begin[owner + 1] <= row) owner++;
  return owner;
}

static bench_graph graph_of_ghosts(const bench_rows *r)
{
  bench_graph graph = {.nroots = r->rows, .nleaves = r->ghosts, .nslots = r->ghosts};
  graph.root = bench_alloc((size_t)r->ghosts, sizeof *graph.root);
  for (int64_t i = 0; i < r->ghosts; i++) {
    int owner = owner_of_row(r, r->ghost[i]);
    graph.root[i] = (grove_root){owner, r->ghost[i] - r->begin[owner]};
  }
  return graph;
}

/* The name of a file without folders and endings, or the whole word. */
static void name_matrix(const char *path, char *name, size_t bytes)
{
  const char *last = strrchr(path, '/');
  snprintf(name, bytes, "%s", last ? last + 1 : path);
  char *ending = strstr(name, ".mtx");
  if (ending) *ending = '\0';
}

static void measure_matrix(bench_gpu *g, const char *path)
{
  char name[100];
  bench_gpu host = *g;
  bench_rows rows;
  grove_context *nodes;
  bench_need_grove(grove_context_create(g->comm, &nodes));
  bench_rows_read(g->comm, path, nodes, &rows);
  bench_need_grove(grove_context_free(&nodes));
  bench_graph graph = graph_of_ghosts(&rows);
  int64_t bytes = rows.ghosts * (int64_t)sizeof(double);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, g->comm);
  name_matrix(path, name, sizeof name);
  bench_course_how how = {
    .line = "matrix",
    .name = name,
    .bytes = bytes,
    .graphs = &graph,
    .n = 1,
    .methods = "grove grove:route=3-step grove:route=standard hand",
    .batch = 4,
  };
  bench_course_run(g, &how);
  how.line = "matrix-host";
  host.driver = &bench_host_driver;
  host.wrong = 0;
  bench_course_run(&host, &how);
  g->wrong += host.wrong;
  bench_graph_free(&graph);
  bench_rows_free(&rows);
}

void bench_gpu_matrices(bench_gpu *g, const char *matrices)
{
  char *list = bench_alloc(strlen(matrices) + 1, 1), *rest = NULL;
  memcpy(list, matrices, strlen(matrices));
  for (char *path = strtok_r(list, ",", &rest); path; path = strtok_r(NULL, ",", &rest))
    measure_matrix(g, path);
  free(list);
}
