#include "pingpong.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 4 << 20, ROUNDS = 4, STREAM_BYTES = 1 << 20, TAG = 10 };

static void send(char *data, int bytes, int peer)
{
  MPI_Request request;
  MPI_Isend(data, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Rank 0 and `peer`; seconds one way. */
static double bounce(char *data, int bytes, int rank, int peer)
{
  double since = MPI_Wtime();
  for (int k = 0; k < ROUNDS; k++) {
    if (rank == 0) send(data, bytes, peer);
    MPI_Recv(data, bytes, MPI_BYTE, rank == 0 ? peer : 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
  MPI_Request request = MPI_REQUEST_NULL;
  double since = scale_meet(), seconds, most = 0;
  if (rank < node_size)
    MPI_Isend(data, STREAM_BYTES, MPI_BYTE, rank + node_size, TAG, MPI_COMM_WORLD, &request);
  else if (rank < 2 * node_size)
    MPI_Irecv(data, STREAM_BYTES, MPI_BYTE, rank - node_size, TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  seconds = MPI_Wtime() - since;
  MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("injection %d %d %.9g\n", node_size, STREAM_BYTES, most);
}

void pingpong_run(int node_size, int socket_size)
{
  int rank;
  char *data = calloc(LARGEST, 1);
  if (!data) abort();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bounce_all("on-socket", 1, rank, data);
  bounce_all("on-node", socket_size, rank, data);
  bounce_all("off-node", node_size, rank, data);
  stream(node_size, rank, data);
  free(data);
}
