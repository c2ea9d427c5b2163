/* What is kept for a communicator. It goes when the communicator is freed, or at MPI_Finalize: a
 * list in the order of creation has those that are left.
 */
#include "preload.h"

#include <pthread.h>
#include <stdlib.h>

const char *const grove_pre_call_name[CALLS] = {
  "MPI_Neighbor_alltoall",       "MPI_Neighbor_alltoallv",      "MPI_Neighbor_alltoallw",
  "MPI_Neighbor_allgather",      "MPI_Neighbor_allgatherv",     "MPI_Alltoallv",
  "MPI_Ineighbor_alltoall",      "MPI_Ineighbor_alltoallv",     "MPI_Ineighbor_alltoallw",
  "MPI_Ineighbor_allgather",     "MPI_Ineighbor_allgatherv",    "MPI_Neighbor_alltoall_init",
  "MPI_Neighbor_alltoallv_init", "MPI_Neighbor_alltoallw_init", "MPI_Neighbor_allgather_init",
  "MPI_Neighbor_allgatherv_init"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and the key */
static grove_pre_held *first;
static int keyval = MPI_KEYVAL_INVALID;

static void take_from_list(grove_pre_held *h)
{
  grove_pre_held **at = &first;
  pthread_mutex_lock(&lock);
  while (*at && *at != h) at = &(*at)->next;
  if (*at) *at = h->next;
  pthread_mutex_unlock(&lock);
}

static void put_in_list(grove_pre_held *h)
{
  grove_pre_held **at = &first;
  pthread_mutex_lock(&lock);
  while (*at) at = &(*at)->next;
  *at = h;
  pthread_mutex_unlock(&lock);
}

/* MPI calls it when the attribute goes: all ranks are in MPI_Comm_free, or in MPI_Finalize. */
static int drop(MPI_Comm comm, int key, void *attribute, void *extra)
{
  grove_pre_held *h = attribute;
  (void)comm, (void)key, (void)extra;
  take_from_list(h);
  grove_pre_requests_leave(h);
  grove_pre_inside++;
  for (int call = 0; call < CALLS; call++) {
    if (h->choice[call]) grove_pre_choice_tell(h, (grove_pre_call)call);
    grove_pre_choice_free(&h->choice[call]);
  }
  if (grove_context_free(&h->ctx))
    fprintf(stderr, "libgrove_mpi: MPI_Comm_free: %s\n", grove_last_error());
  grove_pre_inside--;
  if (h->own != MPI_COMM_NULL) PMPI_Comm_free(&h->own);
  free(h->output_rank);
  free(h);
  return MPI_SUCCESS;
}

/* ---- neighbours ---- */

static int cart_outputs(MPI_Comm comm, int dims, int *ranks)
{
  for (int d = 0; d < dims; d++) PMPI_Cart_shift(comm, d, 1, &ranks[2 * d], &ranks[2 * d + 1]);
  return MPI_SUCCESS;
}

static int dist_graph_outputs(grove_pre_held *h)
{
  size_t room = (size_t)h->inputs + (size_t)h->outputs + 1;
  int *others = malloc(3 * room * sizeof *others);
  if (!others) return MPI_ERR_NO_MEM;
  int error = PMPI_Dist_graph_neighbors(h->comm, h->inputs, others, others + room, h->outputs,
                                        h->output_rank, others + 2 * room);
  free(others);
  return error;
}

/* Their numbers first, then whom blocks are sent to; whom they come from is told by the senders. */
static int find_neighbours(grove_pre_held *h)
{
  int topology, weighted;
  PMPI_Topo_test(h->comm, &topology);
  h->inputs = h->outputs = -1;
  if (topology == MPI_UNDEFINED) return 1;
  if (topology == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(h->comm, &h->inputs, &h->outputs, &weighted);
  } else if (topology == MPI_CART) {
    PMPI_Cartdim_get(h->comm, &h->outputs);
    h->inputs = h->outputs *= 2;
  } else {
    PMPI_Graph_neighbors_count(h->comm, h->rank, &h->outputs);
    h->inputs = h->outputs;
  }
  h->output_rank = malloc(((size_t)h->outputs + 1) * sizeof *h->output_rank);
  if (!h->output_rank) return 0;
  if (topology == MPI_DIST_GRAPH) return dist_graph_outputs(h) == MPI_SUCCESS;
  if (topology == MPI_CART)
    return cart_outputs(h->comm, h->outputs / 2, h->output_rank) == MPI_SUCCESS;
  return PMPI_Graph_neighbors(h->comm, h->rank, h->outputs, h->output_rank) == MPI_SUCCESS;
}

/* A rank that did without this would leave the others waiting for it to agree. */
static void out_of_memory(void)
{
  fputs("libgrove_mpi: no memory for what is kept of a communicator\n", stderr);
  PMPI_Abort(MPI_COMM_WORLD, 1);
}

static grove_pre_held *create(MPI_Comm comm)
{
  grove_pre_held *h = calloc(1, sizeof *h);
  if (!h) out_of_memory();
  h->comm = comm;
  h->own = MPI_COMM_NULL;
  PMPI_Comm_size(comm, &h->size);
  PMPI_Comm_rank(comm, &h->rank);
  if (!find_neighbours(h) || PMPI_Comm_set_attr(comm, keyval, h) != MPI_SUCCESS) out_of_memory();
  put_in_list(h);
  return h;
}

static void need_keyval(void)
{
  pthread_mutex_lock(&lock);
  if (keyval == MPI_KEYVAL_INVALID)
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &keyval, NULL);
  pthread_mutex_unlock(&lock);
}

grove_pre_held *grove_pre_held_get(MPI_Comm comm)
{
  grove_pre_held *h;
  int found, inter;
  if (comm == MPI_COMM_NULL) return NULL;
  if (keyval == MPI_KEYVAL_INVALID) need_keyval();
  if (PMPI_Comm_get_attr(comm, keyval, &h, &found) != MPI_SUCCESS) return NULL;
  if (found) return h;
  PMPI_Comm_test_inter(comm, &inter);
  return inter ? NULL : create(comm);
}

/* A communicator from the group has neither the topology nor the attributes of the user's, whose
 * copy functions are nothing that a program expects to be called here. */
grove_status grove_pre_held_context(grove_pre_held *h)
{
  MPI_Group group;
  if (h->ctx) return GROVE_OK;
  if (h->own == MPI_COMM_NULL) {
    PMPI_Comm_group(h->comm, &group);
    int error = PMPI_Comm_create(h->comm, group, &h->own);
    PMPI_Group_free(&group);
    if (error != MPI_SUCCESS) return GROVE_ERR_MPI;
  }
  grove_pre_inside++;
  grove_status status = grove_context_create(h->own, &h->ctx);
  grove_pre_inside--;
  return status;
}

void grove_pre_held_finalize(void)
{
  while (first) PMPI_Comm_delete_attr(first->comm, keyval);
  if (keyval != MPI_KEYVAL_INVALID) PMPI_Comm_free_keyval(&keyval);
}
