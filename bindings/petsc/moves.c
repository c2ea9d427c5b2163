/* Begin and End. Grove's one-shots take any addresses and keep a plan for each kind of operation,
 * so there is nothing to look for in Begin; End finds its operation among the flights.
 */
#include "sf.h"

/* Grove would take arrays of a device, but not know on which of PETSc's streams they are made. */
static PetscErrorCode check_memory(PetscMemType root, PetscMemType leaf)
{
  PetscFunctionBegin;
  PetscCheck(PetscMemTypeHost(root) && PetscMemTypeHost(leaf), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "SF type grove moves host memory only; take -sf_type basic for a device's");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_flight(PetscSF sf, grove_sf_kind kind, MPI_Datatype unit,
                                  const void *root, const void *leaf, grove_sf_flight **out)
{
  grove_sf *g = sf->data;
  PetscFunctionBegin;
  PetscCall(grove_sf_flight_take(&g->flights, out));
  (*out)->kind = kind;
  (*out)->unit = unit;
  (*out)->root = root;
  (*out)->leaf = leaf;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_USE_LOG)
static PetscErrorCode is_logging(PetscBool *logging)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 20, 0)
  *logging = PetscLogPLB ? PETSC_TRUE : PETSC_FALSE;
#else
  PetscCall(PetscLogIsActive(logging));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Tells PETSc's log of the messages that the operation sends and receives. */
static PetscErrorCode log_messages(grove_op *op)
{
  grove_report r = {.struct_size = sizeof r};
  PetscFunctionBegin;
#if defined(PETSC_USE_LOG)
  PetscBool logging;
  PetscCall(is_logging(&logging));
  if (!logging) PetscFunctionReturn(PETSC_SUCCESS);
  GROVE_SF_CALL(grove_op_report(op, &r));
  petsc_isend_ct += (PetscLogDouble)(r.on_node_messages + r.off_node_messages);
  petsc_isend_len += (PetscLogDouble)(r.on_node_bytes + r.off_node_bytes);
  petsc_irecv_ct += (PetscLogDouble)(r.on_node_messages_received + r.off_node_messages_received);
  petsc_irecv_len += (PetscLogDouble)(r.on_node_bytes_received + r.off_node_bytes_received);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operation of this flight is under way. */
static PetscErrorCode launch_flight(PetscSF sf, grove_sf_flight *flight)
{
  grove_sf *g = sf->data;
  PetscFunctionBegin;
  grove_sf_flight_put(&g->flights, flight);
  PetscCall(log_messages(flight->op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The flight that ends here, when it has. */
static PetscErrorCode end_flight(PetscSF sf, grove_sf_kind kind, MPI_Datatype unit,
                                 const void *root, const void *leaf)
{
  grove_sf *g = sf->data;
  grove_sf_flight *flight;
  PetscFunctionBegin;
  PetscCall(grove_sf_flight_find(&g->flights, kind, unit, root, leaf, &flight));
  GROVE_SF_CALL(grove_end(&flight->op));
  grove_sf_flight_rest(&g->flights, flight);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_bcast_begin(PetscSF sf, MPI_Datatype unit, PetscMemType root_memory,
                                    const void *root, PetscMemType leaf_memory, void *leaf,
                                    MPI_Op op)
{
  grove_sf *g = sf->data;
  grove_sf_flight *flight;
  PetscFunctionBegin;
  PetscCall(check_memory(root_memory, leaf_memory));
  PetscCall(take_flight(sf, FLIGHT_BCAST, unit, root, leaf, &flight));
  GROVE_SF_CALL(grove_bcast_begin(g->forest, unit, root, leaf, op, &flight->op));
  PetscCall(launch_flight(sf, flight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_bcast_end(PetscSF sf, MPI_Datatype unit, const void *root, void *leaf,
                                  MPI_Op op)
{
  PetscFunctionBegin;
  (void)op;
  PetscCall(end_flight(sf, FLIGHT_BCAST, unit, root, leaf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_reduce_begin(PetscSF sf, MPI_Datatype unit, PetscMemType leaf_memory,
                                     const void *leaf, PetscMemType root_memory, void *root,
                                     MPI_Op op)
{
  grove_sf *g = sf->data;
  grove_sf_flight *flight;
  PetscFunctionBegin;
  PetscCall(check_memory(root_memory, leaf_memory));
  PetscCall(take_flight(sf, FLIGHT_REDUCE, unit, root, leaf, &flight));
  GROVE_SF_CALL(grove_reduce_begin(g->forest, unit, leaf, root, op, &flight->op));
  PetscCall(launch_flight(sf, flight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_reduce_end(PetscSF sf, MPI_Datatype unit, const void *leaf, void *root,
                                   MPI_Op op)
{
  PetscFunctionBegin;
  (void)op;
  PetscCall(end_flight(sf, FLIGHT_REDUCE, unit, root, leaf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_fetch_begin(PetscSF sf, MPI_Datatype unit, PetscMemType root_memory,
                                    void *root, PetscMemType leaf_memory, const void *leaf,
                                    void *leaf_update, MPI_Op op)
{
  grove_sf *g = sf->data;
  grove_sf_flight *flight;
  PetscFunctionBegin;
  PetscCall(check_memory(root_memory, leaf_memory));
  PetscCall(take_flight(sf, FLIGHT_FETCH, unit, root, leaf, &flight));
  GROVE_SF_CALL(grove_fetch_begin(g->forest, unit, root, leaf, leaf_update, op, &flight->op));
  PetscCall(launch_flight(sf, flight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_fetch_end(PetscSF sf, MPI_Datatype unit, void *root, const void *leaf,
                                  void *leaf_update, MPI_Op op)
{
  PetscFunctionBegin;
  (void)op, (void)leaf_update;
  PetscCall(end_flight(sf, FLIGHT_FETCH, unit, root, leaf));
  PetscFunctionReturn(PETSC_SUCCESS);
}
