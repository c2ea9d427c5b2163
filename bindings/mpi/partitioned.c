/* MPI_Psend_init and its family, by channels, for MPIs that lack it, or instead of MPI's own. A
 * context is made by all ranks of a communicator, and these functions are called by two of them. So
 * programs that may call them (they include grove_mpi.h, or GROVE_PRELOAD_PARTITIONED says so) have
 * their contexts made along with the communicators.
 */
#include "requests.h"

/* Where this is none of Grove's: MPI's own function, if it has one. */
#ifdef GROVE_MPI_HAS_PARTITIONED
#define OWN(call) return call
#else
#define OWN(call) (void)0
#endif

/* ---- contexts ---- */

/* Communicators that Grove makes for itself need none. What goes wrong here is told by
 * MPI_Psend_init. */
static int with_context(int error, MPI_Comm *comm)
{
  int inter = 1;
  if (!grove_pre_partitioned() || grove_pre_inside) return error;
  if (error != MPI_SUCCESS || *comm == MPI_COMM_NULL) return error;
  PMPI_Comm_test_inter(*comm, &inter);
  grove_pre_held *h = inter ? NULL : grove_pre_held_get(*comm);
  if (!h || grove_pre_held_context(h)) return error;
  /* Then operations go on whatever the program does; else in functions on requests alone. */
  grove_pre_inside++;
  if (grove_pre_threads() && grove_context_set(h->ctx, "progress", "thread"))
    fprintf(stderr, "libgrove_mpi: %s\n", grove_last_error());
  grove_pre_inside--;
  return error;
}

static int world(int error)
{
  MPI_Comm all = MPI_COMM_WORLD, self = MPI_COMM_SELF;
  return with_context(with_context(error, &all), &self);
}

GROVE_API int MPI_Init(int *argc, char ***argv)
{
  return world(PMPI_Init(argc, argv));
}

GROVE_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  return world(PMPI_Init_thread(argc, argv, required, provided));
}

GROVE_API int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *new)
{
  return with_context(PMPI_Comm_dup(comm, new), new);
}

GROVE_API int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *new)
{
  return with_context(PMPI_Comm_dup_with_info(comm, info, new), new);
}

GROVE_API int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *new)
{
  return with_context(PMPI_Comm_split(comm, color, key, new), new);
}

GROVE_API int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new)
{
  return with_context(PMPI_Comm_split_type(comm, type, key, info, new), new);
}

GROVE_API int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *new)
{
  return with_context(PMPI_Comm_create(comm, group, new), new);
}

GROVE_API int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new)
{
  return with_context(PMPI_Comm_create_group(comm, group, tag, new), new);
}

GROVE_API int MPI_Cart_create(MPI_Comm comm, int dims, const int sizes[], const int periods[],
                              int reorder, MPI_Comm *new)
{
  return with_context(PMPI_Cart_create(comm, dims, sizes, periods, reorder, new), new);
}

GROVE_API int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *new)
{
  return with_context(PMPI_Cart_sub(comm, remain, new), new);
}

GROVE_API int MPI_Graph_create(MPI_Comm comm, int n, const int index[], const int edges[],
                               int reorder, MPI_Comm *new)
{
  return with_context(PMPI_Graph_create(comm, n, index, edges, reorder, new), new);
}

GROVE_API int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
                                    const int targets[], const int weights[], MPI_Info info,
                                    int reorder, MPI_Comm *new)
{
  return with_context(
    PMPI_Dist_graph_create(comm, n, sources, degrees, targets, weights, info, reorder, new), new);
}

GROVE_API int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int inputs, const int sources[],
                                             const int source_weights[], int outputs,
                                             const int targets[], const int target_weights[],
                                             MPI_Info info, int reorder, MPI_Comm *new)
{
  return with_context(PMPI_Dist_graph_create_adjacent(comm, inputs, sources, source_weights,
                                                      outputs, targets, target_weights, info,
                                                      reorder, new),
                      new);
}

GROVE_API int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm *new)
{
  return with_context(PMPI_Intercomm_merge(comm, high, new), new);
}

/* ---- the two ends ---- */

static int refuse(MPI_Comm comm, const char *call, const char *why)
{
  fprintf(stderr, "libgrove_mpi: %s: %s\n", call, why);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

/* What is kept of a communicator with a context; NULL: it has none, on any of its ranks. */
static grove_pre_held *held_with_context(MPI_Comm comm)
{
  grove_pre_held *h = grove_pre_partitioned() ? grove_pre_held_get(comm) : NULL;
  return h && h->ctx ? h : NULL;
}

/* The sides of both functions that are the same. `buffer` is read only by a sender. */
static int init(grove_pre_held *h, const char *call, int receives, void *buffer, int parts,
                MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Request *request)
{
  grove_op *op = NULL;
  grove_status status = GROVE_OK;
  MPI_Count size = 0;
  if (!h)
    return refuse(comm, call, "there is no context for this communicator; see docs/preload.md");
  grove_pre_inside++;
  if (peer != MPI_PROC_NULL && receives)
    status = grove_precv_init(h->ctx, buffer, parts, count, type, peer, tag, &op);
  else if (peer != MPI_PROC_NULL)
    status = grove_psend_init(h->ctx, buffer, parts, count, type, peer, tag, &op);
  grove_pre_inside--;
  if (status) return grove_pre_error(comm, call);
  grove_pre_request *r = grove_pre_request_add(h, op, request);
  if (!r) {
    grove_op_free(&op);
    return refuse(comm, call, "no memory for a request");
  }
  r->persistent = 1;
  r->polled = !grove_pre_threads();
  PMPI_Type_size_x(type, &size);
  r->parts = parts;
  r->receives = receives;
  r->peer = peer;
  r->tag = peer == MPI_PROC_NULL ? MPI_ANY_TAG : tag;
  r->bytes = peer == MPI_PROC_NULL ? 0 : (int64_t)(size * count * parts);
  return MPI_SUCCESS;
}

GROVE_API int MPI_Psend_init(const void *buf, int partitions, MPI_Count count,
                             MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Info info,
                             MPI_Request *request)
{
  grove_pre_held *h = held_with_context(comm);
  (void)info;
  if (!h) OWN(PMPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request));
  return init(h, "MPI_Psend_init", 0, (void *)buf, partitions, count, datatype, dest, tag, comm,
              request);
}

GROVE_API int MPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                             int source, int tag, MPI_Comm comm, MPI_Info info,
                             MPI_Request *request)
{
  grove_pre_held *h = held_with_context(comm);
  (void)info;
  if (!h) OWN(PMPI_Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request));
  return init(h, "MPI_Precv_init", 1, buf, partitions, count, datatype, source, tag, comm, request);
}

/* ---- parts ---- */

static int mark(MPI_Request request, int first, int count, const char *call)
{
  grove_pre_request *r = grove_pre_request_find(request);
  if (!r || r->parts == 0) return refuse(MPI_COMM_WORLD, call, "this is no partitioned request");
  grove_pre_inside++;
  grove_status status = r->op ? grove_ready(r->op, first, count) : GROVE_OK;
  grove_pre_inside--;
  return status ? grove_pre_error(r->comm, call) : MPI_SUCCESS;
}

GROVE_API int MPI_Pready(int partition, MPI_Request request)
{
  if (!grove_pre_request_find(request)) OWN(PMPI_Pready(partition, request));
  return mark(request, partition, 1, "MPI_Pready");
}

GROVE_API int MPI_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
  if (!grove_pre_request_find(request))
    OWN(PMPI_Pready_range(partition_low, partition_high, request));
  return mark(request, partition_low, partition_high - partition_low + 1, "MPI_Pready_range");
}

#ifndef GROVE_MPI_READY_LIST
#define GROVE_MPI_READY_LIST const int
#endif

GROVE_API int MPI_Pready_list(int length, GROVE_MPI_READY_LIST partitions[], MPI_Request request)
{
  int error = MPI_SUCCESS;
  if (!grove_pre_request_find(request)) OWN(PMPI_Pready_list(length, partitions, request));
  for (int i = 0; i < length && error == MPI_SUCCESS; i++)
    error = mark(request, partitions[i], 1, "MPI_Pready_list");
  return error;
}

GROVE_API int MPI_Parrived(MPI_Request request, int partition, int *flag)
{
  grove_pre_request *r = grove_pre_request_find(request);
  if (!r) OWN(PMPI_Parrived(request, partition, flag));
  if (!r || r->parts == 0)
    return refuse(MPI_COMM_WORLD, "MPI_Parrived", "this is no partitioned request");
  *flag = 1;
  if (!r->op || !r->active || r->complete) return MPI_SUCCESS;
  grove_pre_inside++;
  grove_status status = grove_arrived(r->op, partition, 1, flag);
  grove_pre_inside--;
  return status ? grove_pre_error(r->comm, "MPI_Parrived") : MPI_SUCCESS;
}
