#include "pingpong.h"

#include "kit/need.h"
#include "meeting.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 4 << 20, ROUNDS = 4, STREAM_BYTES = 1 << 20, TAG = 10 };

static void wait(MPI_Request request)
{
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  for (; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) sched_yield();
}

static void send(char *data, int bytes, int peer)
{
  MPI_Request request;
  MPI_Isend(data, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request);
  wait(request);
}

static void receive(char *data, int bytes, int peer)
{
  MPI_Request request;
  MPI_Irecv(data, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request);
  wait(request);
}

/* Rank 0 and `peer`; seconds one way. */
static double bounce(char *data, int bytes, int rank, int peer)
{
  double since = MPI_Wtime();
  for (int k = 0; k < ROUNDS; k++) {
    if (rank == 0) send(data, bytes, peer);
    receive(data, bytes, rank == 0 ? peer : 0);
    if (rank == peer) send(data, bytes, 0);
  }
  return (MPI_Wtime() - since) / (2 * ROUNDS);
}

static void bounce_all(const char *where, int peer, int rank, char *data)
{
  for (int bytes = 1; bytes <= LARGEST; bytes *= 2) {
    scale_meet();
    double seconds = rank == 0 || rank == peer ? bounce(data, bytes, rank, peer) : 0;
    if (rank == 0) printf("pingpong %s %d %.9g\n", where, bytes, seconds);
  }
}

/* All ranks of the first node send to those of the second. */
static void stream(int node_size, int rank, char *data)
{
  int size;
  double since = scale_meet();
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank < node_size)
    send(data, STREAM_BYTES, rank + node_size);
  else if (rank < 2 * node_size)
    receive(data, STREAM_BYTES, rank - node_size);
  double seconds = MPI_Wtime() - since;
  meeting_combine(size, &seconds, 1, NULL, 0);
  if (rank == 0) printf("injection %d %d %.9g\n", node_size, STREAM_BYTES, seconds);
}

void pingpong_run(int node_size, int socket_size)
{
  int rank;
  char *data = bench_alloc(LARGEST, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bounce_all("on-socket", 1, rank, data);
  bounce_all("on-node", socket_size, rank, data);
  bounce_all("off-node", node_size, rank, data);
  stream(node_size, rank, data);
  free(data);
}
