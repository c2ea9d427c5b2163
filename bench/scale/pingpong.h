/* Checks the simulated machine against its tables. Two ranks send messages of 1 byte to 4 MiB to
 * and fro, on a socket, between sockets and between nodes. All ranks of a node send at once, to
 * measure its interface. */
#ifndef BENCH_SCALE_PINGPONG_H
#define BENCH_SCALE_PINGPONG_H

/* Rank 0 prints one line per locality and size, one way: 'pingpong off-node BYTES SECONDS'; and
 * 'injection RANKS BYTES SECONDS'. The arguments are ranks per node and per socket. Collective. */
void pingpong_run(int node_size, int socket_size);

#endif
