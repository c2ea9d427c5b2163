/* The alternatives without Grove: one message, sent by the last thread to be ready; one message per
 * part; MPI's own partitioned calls, where available. All need MPI_THREAD_MULTIPLE.
 */
#include "part_method.h"

#include "kit/need.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct mpi_end {
  bench_end about;
  int nrequests;
  MPI_Request *requests;
  atomic_int missing; /* parts of this round */
} mpi_end;

static mpi_end *make_end(const bench_end *about, int nrequests)
{
  mpi_end *e = bench_alloc(1, sizeof *e);
  e->about = *about;
  e->nrequests = nrequests;
  e->requests = bench_alloc((size_t)nrequests, sizeof(MPI_Request));
  for (int i = 0; i < nrequests; i++) e->requests[i] = MPI_REQUEST_NULL;
  return e;
}

static void close_end(void *end)
{
  mpi_end *e = end;
  for (int i = 0; i < e->nrequests; i++)
    if (e->requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&e->requests[i]);
  free(e->requests);
  free(e);
}

static void wait_all(void *end)
{
  mpi_end *e = end;
  MPI_Waitall(e->nrequests, e->requests, MPI_STATUSES_IGNORE);
}

static bench_told count_requests(void *end)
{
  return (bench_told){.messages = ((mpi_end *)end)->nrequests};
}

/* What one message of at most 2 GiB carries. */
static int size_of(int64_t bytes)
{
  bench_need(bytes <= INT32_MAX, "a message is too long for MPI");
  return (int)bytes;
}

static int is_last(mpi_end *e)
{
  return atomic_fetch_sub(&e->missing, 1) == 1;
}

/* Common to the methods that use messages. */
#define MESSAGES .wait = wait_all, .tell = count_requests, .close = close_end

/* ---- mpi-isend ---- */

static void *open_plain(const bench_end *about)
{
  return make_end(about, 1);
}

static void start_plain(void *end)
{
  mpi_end *e = end;
  const bench_end *a = &e->about;
  atomic_store(&e->missing, a->parts);
  if (!a->sends)
    MPI_Irecv(a->memory, size_of(a->parts * a->part_bytes), MPI_BYTE, a->peer, a->tag, a->comm,
              e->requests);
}

static void ready_plain(void *end, int part)
{
  mpi_end *e = end;
  const bench_end *a = &e->about;
  (void)part;
  if (is_last(e))
    MPI_Isend(a->memory, size_of(a->parts * a->part_bytes), MPI_BYTE, a->peer, a->tag, a->comm,
              e->requests);
}

const bench_part_method bench_mpi_isend = {
  .name = "mpi-isend",
  .about = "MPI_Isend and MPI_Irecv of the whole, when all parts are ready",
  .open = open_plain,
  .start = start_plain,
  .ready = ready_plain,
  MESSAGES,
};

/* ---- mpi-persistent, and one part of it ---- */

static void init_message(mpi_end *e, int request, int64_t first, int64_t count)
{
  const bench_end *a = &e->about;
  char *at = a->memory + first * a->part_bytes;
  int bytes = size_of(count * a->part_bytes);
  if (a->sends)
    MPI_Send_init(at, bytes, MPI_BYTE, a->peer, a->tag + request, a->comm, &e->requests[request]);
  else
    MPI_Recv_init(at, bytes, MPI_BYTE, a->peer, a->tag + request, a->comm, &e->requests[request]);
}

static void *open_whole(const bench_end *about)
{
  mpi_end *e = make_end(about, 1);
  init_message(e, 0, 0, about->parts);
  return e;
}

static void *open_last(const bench_end *about)
{
  mpi_end *e = make_end(about, 1);
  init_message(e, 0, about->parts - 1, 1);
  return e;
}

static void start_whole(void *end)
{
  mpi_end *e = end;
  atomic_store(&e->missing, e->about.parts);
  if (!e->about.sends) MPI_Start(e->requests);
}

static void ready_whole(void *end, int part)
{
  mpi_end *e = end;
  (void)part;
  if (is_last(e)) MPI_Start(e->requests);
}

const bench_part_method bench_mpi_persistent = {
  .name = "mpi-persistent",
  .about = "a persistent message of the whole, started when all parts are ready",
  .open = open_whole,
  .start = start_whole,
  .ready = ready_whole,
  MESSAGES,
};

const bench_part_method bench_mpi_limit = {
  .name = "limit",
  .about = "a persistent message of the last part alone, as if all others were there already",
  .sends_one = 1,
  .open = open_last,
  .start = start_whole,
  .ready = ready_whole,
  MESSAGES,
};

/* ---- mpi-parts ---- */

static void *open_parts(const bench_end *about)
{
  mpi_end *e = make_end(about, about->parts);
  for (int i = 0; i < about->parts; i++) init_message(e, i, i, 1);
  return e;
}

static void start_parts(void *end)
{
  mpi_end *e = end;
  if (!e->about.sends) MPI_Startall(e->nrequests, e->requests);
}

static void ready_part(void *end, int part)
{
  MPI_Start(&((mpi_end *)end)->requests[part]);
}

const bench_part_method bench_mpi_parts = {
  .name = "mpi-parts",
  .about = "a persistent message per part: what Open MPI's own partitioned calls do (part_persist)",
  .open = open_parts,
  .start = start_parts,
  .ready = ready_part,
  MESSAGES,
};

/* ---- mpi-psend ---- */

#ifdef BENCH_HAVE_PSEND
static void *open_psend(const bench_end *about)
{
  mpi_end *e = make_end(about, 1);
  if (about->sends)
    MPI_Psend_init(about->memory, about->parts, about->part_bytes, MPI_BYTE, about->peer,
                   about->tag, about->comm, MPI_INFO_NULL, e->requests);
  else
    MPI_Precv_init(about->memory, about->parts, about->part_bytes, MPI_BYTE, about->peer,
                   about->tag, about->comm, MPI_INFO_NULL, e->requests);
  return e;
}

static void start_psend(void *end)
{
  MPI_Start(((mpi_end *)end)->requests);
}

static void ready_psend(void *end, int part)
{
  MPI_Pready(part, *((mpi_end *)end)->requests);
}

static bench_told tell_nothing(void *end)
{
  (void)end;
  return (bench_told){0};
}

const bench_part_method bench_mpi_psend = {
  .name = "mpi-psend",
  .about = "MPI_Psend_init, MPI_Pready: this MPI's own partitioned calls",
  .open = open_psend,
  .start = start_psend,
  .ready = ready_psend,
  .wait = wait_all,
  .tell = tell_nothing,
  .close = close_end,
};
#endif
