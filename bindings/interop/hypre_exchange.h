/* hypre's own exchange, as in its products with a matrix and with the transpose. `packed` has room
 * for all that is sent. */
#ifndef GROVE_HYPRE_EXCHANGE_H
#define GROVE_HYPRE_EXCHANGE_H

#include <_hypre_parcsr_mv.h>

enum { HYPRE_FORWARD = 1, HYPRE_BACKWARD = 2 }; /* hypre's jobs */

static inline HYPRE_Int hypre_packed_entries(hypre_ParCSRCommPkg *p)
{
  return hypre_ParCSRCommPkgSendMapStart(p, hypre_ParCSRCommPkgNumSends(p));
}

static inline void hypre_forward(hypre_ParCSRCommPkg *p, double *packed, const double *own,
                                 double *external)
{
  const HYPRE_Int *map = hypre_ParCSRCommPkgSendMapElmts(p);
  HYPRE_Int n = hypre_packed_entries(p);
  for (HYPRE_Int i = 0; i < n; i++) packed[i] = own[map[i]];
  hypre_ParCSRCommHandle *handle = hypre_ParCSRCommHandleCreate(HYPRE_FORWARD, p, packed, external);
  hypre_ParCSRCommHandleDestroy(handle);
}

static inline void hypre_backward(hypre_ParCSRCommPkg *p, double *packed, double *external,
                                  double *own)
{
  const HYPRE_Int *map = hypre_ParCSRCommPkgSendMapElmts(p);
  HYPRE_Int n = hypre_packed_entries(p);
  hypre_ParCSRCommHandle *handle =
    hypre_ParCSRCommHandleCreate(HYPRE_BACKWARD, p, external, packed);
  hypre_ParCSRCommHandleDestroy(handle);
  for (HYPRE_Int i = 0; i < n; i++) own[map[i]] += packed[i];
}

#endif
