/* What the operations mean, computed serially, with the whole graph and all ranks' arrays. The
 * leaves of a root are ordered by leaf rank, then by position in that rank's leaf list. */
#ifndef TEST_ORACLE_H
#define TEST_ORACLE_H

#include "arrays.h"

/* bcast    leaf = leaf o root
 * reduce   root = ((root o l1) o l2) ...
 * fetch    the same; update = the root as it was before this leaf
 * gather   the leaves side by side in `root`, those of root 0 first
 * scatter  from there back to the leaves */
void oracle_run(op_kind k, const graph *g, const unit *u, const reduction *r, arrays *a);

/* As the option `order` says; -1: as the environment has it. A test that sets the option says so
 * here, in the same thread, and takes it back. */
extern _Thread_local int oracle_own_first;

/* Where each leaf lies among the multiroots of its root's rank: place[i][j], leaf j of rank i. */
int64_t **oracle_places(const graph *g);
void oracle_places_free(const graph *g, int64_t **place);

#endif
