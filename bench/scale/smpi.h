/* What SimGrid's MPI (SMPI 3.32) lacks or does differently, put right from outside. This header is
 * included before every file of the library and of the driver, whose code stays as it is.
 *
 * Messages between two ranks, and probes for them, are those of post.h. They are on SimGrid's
 * clock, but are not SMPI's, which take many times as much processor time.
 *
 * Waiting. All ranks are one thread of one process, and simulated time passes only while all sleep.
 * A rank of Grove polls and yields. Here, yielding is sleeping in simulated time until one of the
 * requests completes that were tested in vain since the last yield. So no poll costs time, and what
 * is measured does not depend on how often a rank looks.
 *
 * Collective steps. SMPI's MPI_Iallreduce sends a message from every rank to every other, and its
 * MPI_Ibarrier lets ranks go before all have come. Here a step takes log P rounds of messages, as
 * in the MPIs of real machines. The other calls that make a context are SMPI's own, and block.
 *
 * Memory. Counts the bytes that this rank has allocated: the linker wraps malloc and its like.
 */
#ifndef BENCH_SCALE_SMPI_H
#define BENCH_SCALE_SMPI_H

#define SMPI_HELPERS_INTERNAL_H /* keeps getopt's declarations out */
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int scale_test(MPI_Request *request, int *done, MPI_Status *status);
int scale_testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses);
int scale_testsome(int n, MPI_Request *requests, int *count, int *which, MPI_Status *statuses);
int scale_isend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Request *request);
int scale_irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Request *request);
int scale_iprobe(int source, int tag, MPI_Comm comm, int *found, MPI_Status *status);
int scale_iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, MPI_Request *request);
int scale_ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
                 MPI_Request *request);
int scale_comm_idup(MPI_Comm comm, MPI_Comm *out, MPI_Request *request);
int scale_iallgather(const void *in, int n, MPI_Datatype type, void *out, int m,
                     MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request);
int scale_yield(void);
int smpi_clock_gettime(clockid_t clock, struct timespec *now);

int64_t scale_allocated(void); /* bytes of this rank, now */
/* All ranks leave at the same simulated moment, which it returns, with nothing under way. */
double scale_meet(void);

#ifndef SCALE_ITSELF
#define MPI_Test                scale_test
#define MPI_Testall             scale_testall
#define MPI_Testsome            scale_testsome
#define MPI_Isend               scale_isend
#define MPI_Irecv               scale_irecv
#define MPI_Iprobe              scale_iprobe
#define MPI_Iallreduce          scale_iallreduce
#define MPI_Ibcast              scale_ibcast
#define MPI_Comm_idup           scale_comm_idup
#define MPI_Iallgather          scale_iallgather
#define sched_yield             scale_yield
#define clock_gettime(id, time) smpi_clock_gettime(id, time)
#endif

#endif
