/* A network whose numbers are known, over libfabric (tests/transport/known_network.c). The bytes go
 * as ever, but the clock is the network's: a message leaves a while after the one before it, and
 * arrives a latency later; waiting takes none of it. Between two ranks. */
#ifndef TEST_KNOWN_NETWORK_H
#define TEST_KNOWN_NETWORK_H

typedef struct known_network {
  double latency, gap, per_byte; /* seconds; per_byte: of all bytes but the first */
  int looks;                     /* after which who waits gives up; 0: never */
  int writes_left;               /* before it fails, on this rank; -1: it does not */
} known_network;

/* From now on, until the end. Collective. */
void known_network_begin(const known_network *n);
void known_network_end(void);

#endif
