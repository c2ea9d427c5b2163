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

/* Memory for a value of every place of the stage. */
static PetscErrorCode make_stage(const grove_sf *g, MPI_Datatype unit, grove_sf_flight *flight)
{
  int64_t places;
  MPI_Aint first, extent, true_first, true_extent;
  PetscFunctionBegin;
  GROVE_SF_CALL(grove_forest_sizes(g->forest, NULL, &places));
  PetscCallMPI(MPI_Type_get_extent(unit, &first, &extent));
  PetscCallMPI(MPI_Type_get_true_extent(unit, &true_first, &true_extent));
  size_t bytes = places ? (size_t)((places - 1) * extent + true_extent) : 0;
  if (flight->memory_bytes < bytes) {
    PetscCall(PetscFree(flight->memory));
    flight->memory_bytes = 0;
    PetscCall(PetscMalloc1(bytes, &flight->memory));
    flight->memory_bytes = bytes;
  }
  flight->stage = flight->memory - true_first;
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
  if (g->fold) PetscCall(make_stage(g, unit, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tells PETSc's log of the messages that the operation sends; every one is received by somebody. */
static PetscErrorCode log_messages(grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  PetscFunctionBegin;
#if defined(PETSC_USE_LOG)
  if (!PetscLogPLB) PetscFunctionReturn(PETSC_SUCCESS);
  GROVE_SF_CALL(grove_op_report(op, &report));
  PetscLogDouble messages = (PetscLogDouble)(report.on_node_messages + report.off_node_messages);
  PetscLogDouble bytes = (PetscLogDouble)(report.on_node_bytes + report.off_node_bytes);
  petsc_isend_ct += messages;
  petsc_irecv_ct += messages;
  petsc_isend_len += bytes;
  petsc_irecv_len += bytes;
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
                                 const void *root, const void *leaf, grove_sf_flight **out)
{
  grove_sf *g = sf->data;
  PetscFunctionBegin;
  PetscCall(grove_sf_flight_find(&g->flights, kind, unit, root, leaf, out));
  GROVE_SF_CALL(grove_end(&(*out)->op));
  grove_sf_flight_rest(&g->flights, *out);
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
  GROVE_SF_CALL(grove_bcast_begin(g->forest, unit, root, g->fold ? flight->stage : leaf,
                                  g->fold ? MPI_REPLACE : op, &flight->op));
  PetscCall(launch_flight(sf, flight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_bcast_end(PetscSF sf, MPI_Datatype unit, const void *root, void *leaf,
                                  MPI_Op op)
{
  grove_sf *g = sf->data;
  grove_sf_flight *flight;
  PetscFunctionBegin;
  PetscCall(end_flight(sf, FLIGHT_BCAST, unit, root, leaf, &flight));
  if (g->fold) GROVE_SF_CALL(grove_reduce(g->fold, unit, flight->stage, leaf, op));
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
  if (g->fold) GROVE_SF_CALL(grove_bcast(g->fold, unit, leaf, flight->stage, MPI_REPLACE));
  GROVE_SF_CALL(
    grove_reduce_begin(g->forest, unit, g->fold ? flight->stage : leaf, root, op, &flight->op));
  PetscCall(launch_flight(sf, flight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_reduce_end(PetscSF sf, MPI_Datatype unit, const void *leaf, void *root,
                                   MPI_Op op)
{
  grove_sf_flight *flight;
  PetscFunctionBegin;
  (void)op;
  PetscCall(end_flight(sf, FLIGHT_REDUCE, unit, root, leaf, &flight));
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
  if (g->fold) GROVE_SF_CALL(grove_bcast(g->fold, unit, leaf, flight->stage, MPI_REPLACE));
  GROVE_SF_CALL(grove_fetch_begin(g->forest, unit, root, g->fold ? flight->stage : leaf,
                                  g->fold ? flight->stage : leaf_update, op, &flight->op));
  PetscCall(launch_flight(sf, flight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_fetch_end(PetscSF sf, MPI_Datatype unit, void *root, const void *leaf,
                                  void *leaf_update, MPI_Op op)
{
  grove_sf *g = sf->data;
  grove_sf_flight *flight;
  PetscFunctionBegin;
  (void)op;
  PetscCall(end_flight(sf, FLIGHT_FETCH, unit, root, leaf, &flight));
  if (g->fold) GROVE_SF_CALL(grove_reduce(g->fold, unit, flight->stage, leaf_update, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
