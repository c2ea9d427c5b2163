/* What a message takes on a simulated machine, which a profile of Grove (machines/NAME.machine)
 * describes.
 *
 * So many sockets are a node, with one network interface that works both ways at once, takes one
 * message after the other at the rate R_N of the profile, and has a network behind it that is never
 * full. A message of s bytes takes alpha + beta s from end to end, by locality and protocol:
 *
 *     the sender is busy    o + (beta - 1/R_N) s      off node
 *                           o + beta s                on node, where nothing is shared
 *     the message travels   alpha - o, and s / R_N through both interfaces
 *
 * How much of alpha is the sender's overhead o decides what aggregation gains, and no table tells:
 * SCALE_OVERHEAD is "most" (all but 0.6 us between nodes, all of it inside) or "half".
 *
 *     SCALE_PROFILE   the profile        SCALE_NODES   how many nodes
 */
#ifndef BENCH_SCALE_COSTS_HPP
#define BENCH_SCALE_COSTS_HPP

#include <cstddef>

namespace scale {

int count_sockets();
int socket_of(int rank); /* ranks fill one after the other */

double sender_seconds(size_t bytes, int from, int to); /* sockets */

/* A message that starts now, until it is there: it waits for those that the interfaces at both ends
 * have still to do, and those that come later wait for it. */
double network_seconds(size_t bytes, int from, int to);

} // namespace scale

#endif
