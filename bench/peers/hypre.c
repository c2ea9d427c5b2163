/* hypre's halo exchange, as in its matrix-vector product: a communication package made from the
 * columns that a rank does not own, a packing loop, and a handle per exchange.
 */
#include "methods/method.h"
#include "peers/ghosts.h"

#include <hypre_exchange.h>
#include <stdlib.h>

typedef struct hypre_state {
  bench_case *c;
  const bench_ghosts *ghosts;
  hypre_ParCSRCommPkg *package;
  double *packed;
} hypre_state;

static void *set_up(bench_case *c)
{
  static int begun;
  if (!begun) HYPRE_Init();
  begun = 1;
  hypre_state *s = bench_alloc(1, sizeof *s);
  const bench_ghosts *g = bench_ghosts_of(c);
  HYPRE_BigInt *columns = hypre_CTAlloc(HYPRE_BigInt, g->nghosts + 1, HYPRE_MEMORY_HOST);
  HYPRE_BigInt first = (HYPRE_BigInt)g->first, total = (HYPRE_BigInt)g->total;
  HYPRE_BigInt last = first + (HYPRE_BigInt)c->graph[0].nroots - 1;
  for (int i = 0; i < g->nghosts; i++) columns[i] = (HYPRE_BigInt)g->global[i];
  hypre_IJAssumedPart *owners = hypre_AssumedPartitionCreate(c->comm, total, first, last);
  s->c = c;
  s->ghosts = g;
  s->package = hypre_CTAlloc(hypre_ParCSRCommPkg, 1, HYPRE_MEMORY_HOST);
  hypre_ParCSRCommPkgCreateApart(c->comm, columns, first, g->nghosts, total, owners, s->package);
  hypre_AssumedPartitionDestroy(owners);
  hypre_TFree(columns, HYPRE_MEMORY_HOST);
  s->packed = bench_alloc((size_t)hypre_packed_entries(s->package), sizeof *s->packed);
  return s;
}

static void bcast(const hypre_state *s, double *root, double *leaf)
{
  hypre_forward(s->package, s->packed, root, bench_ghost_values(s->ghosts, leaf));
  bench_ghosts_to_leaves(s->ghosts, root, leaf);
}

static void reduce(const hypre_state *s, double *root, double *leaf)
{
  bench_leaves_to_ghosts(s->ghosts, leaf, root);
  hypre_backward(s->package, s->packed, bench_ghost_values(s->ghosts, leaf), root);
}

static void run(void *state, int begin, int end)
{
  const hypre_state *s = state;
  double *root = (double *)s->c->root, *leaf = (double *)s->c->leaf;
  for (int i = begin; i < end; i++) {
    if (s->c->spec->kind == BENCH_REDUCE)
      reduce(s, root, leaf);
    else
      bcast(s, root, leaf);
  }
}

static void tear_down(void *state)
{
  hypre_state *s = state;
  hypre_MatvecCommPkgDestroy(s->package);
  free(s->packed);
  free(s);
}

const bench_method bench_hypre = {
  .name = "hypre",
  .about = "hypre's halo exchange (hypre_ParCSRCommHandle), doubles",
  .supports = bench_ghosts_support,
  .set_up = set_up,
  .run = run,
  .tear_down = tear_down,
};
