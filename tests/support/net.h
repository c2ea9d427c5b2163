/* Who sends to whom in which stage of an operation, and thus which values may travel together. For
 * forests in which each target has one source (itself: none): who sends to whom then determines the
 * way of its values. For programs linked with the static library. */
#ifndef TEST_NET_H
#define TEST_NET_H

#include "places.h"

enum { NET_RANKS = 16, NET_STAGES = 8 };

typedef struct net {
  int n;
  unsigned char sends[NET_STAGES][NET_RANKS][NET_RANKS]; /* from, to */
} net;

/* The net of an operation, which has one field. Collective. */
net net_of(const place *p, grove_op *op);

/* Whether the letter of stage s from a to b may lie on the way from source to target. */
int net_is_on_way(const net *x, int source, int target, int s, int a, int b);

/* Whether that letter may hold values of one of these targets. */
int net_shares_letter(const net *x, const int *source, int s, int a, int b,
                      const unsigned char *held);

/* Adds to the delayed targets those whose values may share a letter with theirs; and, if `late` is
 * a rank, those whose values may come from it or through it. */
void net_spread(const net *x, const int *source, int late, unsigned char *held);

#endif
