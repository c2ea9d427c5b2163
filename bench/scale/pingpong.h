/* Does the simulated machine meet its tables? Two ranks send messages of 1 byte to 4 MiB to and
 * fro, on a socket, between sockets and between nodes; a node's ranks all send at once, for what
 * its interface lets through. */
#ifndef BENCH_SCALE_PINGPONG_H
#define BENCH_SCALE_PINGPONG_H

/* Rank 0 prints a line for each locality and size, one way: 'pingpong off-node BYTES SECONDS'; and
 * 'injection RANKS BYTES SECONDS'. Nodes have so many ranks, in sockets of so many. Collective. */
void pingpong_run(int node_size, int socket_size);

#endif
