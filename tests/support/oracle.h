/* What the operations mean, said serially, with the whole graph and all ranks' arrays at hand. */
#ifndef TEST_ORACLE_H
#define TEST_ORACLE_H

#include "arrays.h"

/* leaf = leaf o root, for every leaf of every rank. */
void oracle_bcast(const graph *g, const unit *u, const reduction *r, arrays *a);

/* root = ((root o l1) o l2) ..., by leaf rank, then by position in that rank's leaf list. */
void oracle_reduce(const graph *g, const unit *u, const reduction *r, arrays *a);

#endif
