/* The option `timeout` in collective calls. A rank whose partner does not come gets
 * GROVE_ERR_TIMEOUT with the name of the call, however long it is told to spin; from then on
 * collective calls on that context are GROVE_ERR_STATE at once, while operations that are there go
 * on working. All of it can be freed, and MPI_Finalize returns.
 *
 * The last rank is the one that does not come. It shares a context with each other rank, and each
 * of those waits in a call of its own: all timeouts run at the same time. */
#include "check.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* What a rank waits in. The last rank is held up inside the first of these, and makes none of the
 * other calls. */
typedef enum call { EXCHANGE, SET_UP, INIT, SET, BEGIN, CALLS } call;
static const char *const name_of[CALLS] = {"grove_forest_set_up", "grove_forest_set_up",
                                           "grove_bcast_init", "grove_context_set", "grove_bcast"};

/* So much set-up data for the last rank that MPI takes it only when that rank comes for it. */
enum { LEAVES = 1 << 18 };

/* ---- holding the last rank up ---- */

static struct {
  MPI_Win window;
  volatile int *released; /* shared by all */
  int armed;
} hold;

static void hold_create(int last)
{
  MPI_Aint bytes = world_rank() == last ? (MPI_Aint)sizeof(int) : 0;
  int unit = sizeof(int), *own = NULL, *released = NULL;
  MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &hold.window);
  MPI_Win_shared_query(hold.window, last, &bytes, &unit, &released);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, hold.window);
  if (world_rank() == last) *released = 0;
  hold.released = released;
  polite_barrier(MPI_COMM_WORLD);
}

static void hold_free(void)
{
  MPI_Win_unlock_all(hold.window);
  MPI_Win_free(&hold.window);
}

/* MPI's profiling interface: this is the MPI_Iprobe that Grove calls when, in set-up, it looks for
 * data from other ranks. All have agreed by then that they are there. */
GROVE_API int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
  if (hold.armed)
    while (!*hold.released) linger(0.001);
  hold.armed = 0;
  return PMPI_Iprobe(source, tag, comm, flag, status);
}

/* ---- a context of two ranks ---- */

typedef struct pair {
  place p;
  call stuck;
  grove_forest *forest; /* an entry for each other */
  int x, y;             /* what moves, and where to */
  grove_op *before;     /* made in time */
  grove_forest *late;   /* not set up yet */
} pair;

static grove_forest *make_forest(const place *p, int64_t nleaves)
{
  grove_forest *f = NULL;
  grove_root *root = need((size_t)nleaves * sizeof *root);
  for (int64_t i = 0; i < nleaves; i++) root[i] = (grove_root){1 - p->rank, 0};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, nleaves, NULL, root));
  free(root);
  return f;
}

static void pair_create(pair *k, MPI_Comm comm, call stuck)
{
  *k = (pair){.p = place_create(comm), .stuck = stuck};
  k->x = 10 + k->p.rank;
  k->forest = make_forest(&k->p, 1);
  CHECK_OK(grove_forest_set_up(k->forest));
  CHECK_OK(grove_bcast_init(k->forest, MPI_INT, &k->x, &k->y, MPI_REPLACE, &k->before));
  k->late = make_forest(&k->p, stuck == EXCHANGE && k->p.rank == 0 ? LEAVES : 1);
  if (stuck % 2 == 1) CHECK_OK(grove_context_set(k->p.ctx, "spin", "2000000000"));
  polite_barrier(comm); /* the timeout holds for the call that sets it, too */
  CHECK_OK(grove_context_set(k->p.ctx, "timeout", test_timeout()));
}

static grove_status make_call(pair *k)
{
  grove_op *op = NULL;
  int x = 0, y = 0;
  grove_status status = GROVE_OK;
  switch (k->stuck) {
  case INIT: status = grove_bcast_init(k->forest, MPI_INT, &x, &y, MPI_REPLACE, &op); break;
  case SET: status = grove_context_set(k->p.ctx, "check", "on"); break;
  case BEGIN: status = grove_bcast(k->forest, MPI_INT, &x, &y, MPI_REPLACE); break;
  default: status = grove_forest_set_up(k->late); break;
  }
  CHECK(op == NULL, "an output was set by a call that failed");
  return status;
}

static void timed_out(grove_status status, call which)
{
  CHECK(status == GROVE_ERR_TIMEOUT, "%s: %s: %s", name_of[which], grove_status_name(status),
        grove_last_error());
  CHECK(strstr(grove_last_error(), name_of[which]) != NULL, "no '%s' in '%s'", name_of[which],
        grove_last_error());
  /* In the exchange it is an answer that is waited for: both ranks are in the call. */
  CHECK(which == EXCHANGE || strstr(grove_last_error(), "rank 1 has not come"), "who? '%s'",
        grove_last_error());
  CHECK(strstr(grove_last_error(), which == EXCHANGE ? "; ranks 0, 1 are in grove_forest_set_up"
                                                     : "; rank 1 is in no collective call"),
        "where? '%s'", grove_last_error());
}

/* Collective calls of all kinds are refused, and wait for nobody. */
static void is_broken(pair *k)
{
  grove_forest *other = make_forest(&k->p, 1);
  grove_op *op = NULL;
  int x = 0, y = 0;
  CHECK_STATUS(grove_forest_set_up(other), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_set_up(k->late), GROVE_ERR_STATE);
  CHECK_STATUS(grove_bcast_init(k->forest, MPI_INT, &x, &y, MPI_REPLACE, &op), GROVE_ERR_STATE);
  CHECK_STATUS(grove_reduce(k->forest, MPI_INT, &x, &y, MPI_MAX), GROVE_ERR_STATE);
  CHECK_STATUS(grove_context_set(k->p.ctx, "timeout", "0"), GROVE_ERR_STATE);
  CHECK(strstr(grove_last_error(), "timed out") != NULL, "why? '%s'", grove_last_error());
  CHECK(op == NULL, "an output was set by a call that failed");
  CHECK_OK(grove_forest_free(&other));
}

/* What MPI has not sent yet must still be there: memory that was freed is used again. */
static void use_memory(void)
{
  enum { BLOCKS = 16, BYTES = 4 * LEAVES };
  char *block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    block[i] = need(BYTES);
    memset(block[i], 0xab, BYTES);
  }
  for (int i = 0; i < BLOCKS; i++) free(block[i]);
}

/* Operations that were made in time need no agreement. */
static void operation_goes_on(pair *k)
{
  int other = 10 + 1 - k->p.rank;
  grove_status status;
  CHECK_OK(grove_start(k->before));
  do status = grove_wait(k->before); /* a slow machine may need more than one timeout */
  while (status == GROVE_ERR_TIMEOUT);
  CHECK_OK(status);
  CHECK(k->y == other, "received %d, not %d", k->y, other);
}

static void pair_free(pair *k, int owners_first)
{
  if (owners_first) {
    place_free(&k->p);
    CHECK_OK(grove_forest_free(&k->forest));
  }
  CHECK_OK(grove_forest_free(&k->late));
  CHECK_OK(grove_op_free(&k->before));
  CHECK_OK(grove_forest_free(&k->forest));
  if (!owners_first) place_free(&k->p);
}

int main(int argc, char **argv)
{
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 16); /* large memory that is freed is gone, not just free */
#endif
  test_begin(&argc, &argv, "context/collective_timeout");
  int last = world_size() - 1, is_last = world_rank() == last;
  if (last == 0) return test_skip("one rank waits for nobody");
  hold_create(last);
  pair *all = need((size_t)last * sizeof *all);
  int first = is_last ? 0 : world_rank(), end = is_last ? last : first + 1;
  for (int i = 0; i < last; i++) {
    MPI_Comm comm = split(i >= first && i < end ? 0 : MPI_UNDEFINED);
    if (comm != MPI_COMM_NULL) pair_create(&all[i], comm, (call)(i % CALLS));
  }
  hold.armed = is_last;
  polite_barrier(MPI_COMM_WORLD);
  timed_out(make_call(&all[first]), all[first].stuck); /* the last rank's is the exchange */
  is_broken(&all[first]);
  use_memory();
  if (first == 0) *hold.released = 1;
  polite_barrier(MPI_COMM_WORLD);
  for (int i = first; i < end; i++) operation_goes_on(&all[i]);
  for (int i = first; i < end; i++) pair_free(&all[i], i % 2);
  free(all);
  hold_free();
  return test_end();
}
