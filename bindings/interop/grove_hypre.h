/* hypre's communication package as a star forest: roots are the entries of a vector that this rank
 * owns, leaves are the entries that its rows need of other ranks (hypre's external vector).
 *
 *     hypre_ParCSRCommPkg *package = hypre_ParCSRMatrixCommPkg(A);
 *     grove_forest_from_hypre(ctx, package, rows, &halo);
 *     grove_bcast_init(halo, MPI_DOUBLE, x, x_ext, MPI_REPLACE, &update);    // y = A x
 *     grove_reduce_init(halo, MPI_DOUBLE, y_ext, y, MPI_SUM, &add);          // y = A^T x
 *
 * It is for C, and needs hypre and Grove alone: include it, or copy it.
 */
#ifndef GROVE_HYPRE_H
#define GROVE_HYPRE_H

#include <_hypre_parcsr_mv.h>
#include <grove.h>
#include <stdlib.h>

enum { GROVE_HYPRE_INTEGERS = 11 }; /* hypre's job: a product's exchange, of integers */

/* A receiver does not know which entries it gets: hypre keeps that with the senders. So they tell,
 * by hypre's own exchange, with the numbers of entries in the place of values. */
static inline void grove_hypre_tell(hypre_ParCSRCommPkg *p, HYPRE_Int *numbers)
{
  hypre_ParCSRCommHandle *handle = hypre_ParCSRCommHandleCreate(
    GROVE_HYPRE_INTEGERS, p, hypre_ParCSRCommPkgSendMapElmts(p), numbers);
  hypre_ParCSRCommHandleDestroy(handle);
}

static inline void grove_hypre_roots(hypre_ParCSRCommPkg *p, const HYPRE_Int *numbers,
                                     grove_root *root)
{
  for (HYPRE_Int i = 0; i < hypre_ParCSRCommPkgNumRecvs(p); i++)
    for (HYPRE_Int k = hypre_ParCSRCommPkgRecvVecStart(p, i);
         k < hypre_ParCSRCommPkgRecvVecStart(p, i + 1); k++)
      root[k] = (grove_root){(int)hypre_ParCSRCommPkgRecvProc(p, i), numbers[k]};
}

/* `rows` is how many entries this rank owns. The package has the communicator of the context, or
 * one with the same ranks in the same order. It may be destroyed afterwards. Collective. */
static inline grove_status grove_forest_from_hypre(grove_context *ctx, hypre_ParCSRCommPkg *package,
                                                   HYPRE_Int rows, grove_forest **out)
{
  HYPRE_Int n = hypre_ParCSRCommPkgRecvVecStart(package, hypre_ParCSRCommPkgNumRecvs(package));
  HYPRE_Int *numbers = malloc(((size_t)n + 1) * sizeof *numbers);
  grove_root *root = malloc(((size_t)n + 1) * sizeof *root);
  grove_forest *forest = NULL;
  grove_status status = GROVE_OK;
  int failed = !numbers || !root;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, hypre_ParCSRCommPkgComm(package));
  if (failed) status = GROVE_ERR_MEMORY;
  if (!status) {
    grove_hypre_tell(package, numbers);
    grove_hypre_roots(package, numbers, root);
    status = grove_forest_create(ctx, &forest);
  }
  if (!status) status = grove_forest_set_graph(forest, rows, n, NULL, root);
  if (!status) status = grove_forest_set_up(forest);
  free(numbers);
  free(root);
  if (status) {
    grove_forest_free(&forest);
    return status;
  }
  *out = forest;
  return GROVE_OK;
}

#endif
