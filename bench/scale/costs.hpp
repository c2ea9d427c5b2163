/* The time of a message on a simulated machine, which is described by a profile of Grove
 * (machines/NAME.machine).
 *
 * A node has a number of sockets and one network interface. The interface works both ways at once,
 * and takes one message after the other at the rate R_N of the profile. The network behind it is
 * never full. A message of s bytes takes alpha + beta s from end to end, by locality and protocol:
 *
 *     the sender is busy    o + (beta - 1/R_N) s      off node
 *                           o + beta s                on node, where nothing is shared
 *     the message travels   alpha - o, and s / R_N through both interfaces
 *
 * How much of alpha is the sender's overhead o decides what aggregation gains, and no table says
 * it: SCALE_OVERHEAD is "most" (all but 0.6 us between nodes, all of it inside) or "half".
 *
 *     SCALE_PROFILE   the profile        SCALE_NODES   how many nodes
 */
#ifndef BENCH_SCALE_COSTS_HPP
#define BENCH_SCALE_COSTS_HPP

#include <cstddef>

namespace scale {

int count_sockets();
int socket_of(int rank); /* ranks fill sockets one after the other */

double sender_seconds(size_t bytes, int from, int to); /* from, to: sockets */

/* The time of a message that starts now until it arrives. It waits for the messages that the
 * interfaces at both ends still have to carry, and later ones wait for it. */
double network_seconds(size_t bytes, int from, int to);

} // namespace scale

#endif
