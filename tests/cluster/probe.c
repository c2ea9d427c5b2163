/* The program that the tests of tools/cluster run.
 *
 *   probe where              a line a rank, in order: rank, host name, ranks that share its memory
 *   probe send FROM TO BYTES one message; prints how long it took, in microseconds
 *   probe sh COMMAND         a shell command on every rank: after a program that never calls MPI
 *                            the launcher of Open MPI 5 sometimes does not end
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void where(int rank, int size)
{
  int length, sharing;
  char name[MPI_MAX_PROCESSOR_NAME] = "", line[MPI_MAX_PROCESSOR_NAME + 32] = "";
  char *lines = malloc((size_t)size * sizeof line);
  MPI_Comm node;

  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &sharing);
  MPI_Get_processor_name(name, &length);
  snprintf(line, sizeof line, "%d %s %d", rank, name, sharing);
  MPI_Gather(line, sizeof line, MPI_CHAR, lines, sizeof line, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; i++) puts(lines + (size_t)i * sizeof line);
  MPI_Comm_free(&node);
  free(lines);
}

/* The receiver answers when all has arrived: the time is of the transfer, not of buffering it. */
static void send_one(int rank, int from, int to, int bytes)
{
  char *data = malloc((size_t)bytes);
  char answer = 1;
  double start;

  memset(data, rank, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  if (rank == from) {
    MPI_Send(data, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_CHAR, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%.0f\n", (MPI_Wtime() - start) * 1e6);
  } else if (rank == to) {
    MPI_Recv(data, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; i++)
      if (data[i] != (char)from) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Send(&answer, 1, MPI_CHAR, from, 1, MPI_COMM_WORLD);
  }
  free(data);
}

int main(int argc, char **argv)
{
  int rank, size, failed = 0;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc == 2 && strcmp(argv[1], "where") == 0)
    where(rank, size);
  else if (argc == 5 && strcmp(argv[1], "send") == 0)
    send_one(rank, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
  else if (argc == 3 && strcmp(argv[1], "sh") == 0)
    failed = system(argv[2]) != 0;
  else
    MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Finalize();
  return failed;
}
