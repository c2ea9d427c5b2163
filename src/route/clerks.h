/* Letters (post.h) to clerks: the first ranks of nodes, who decide for them.
 *
 *     mine = grove_post_write(&post, grove_clerk(topo, node), 2, &words);
 *     GROVE_TRY(grove_clerks_exchange(ctx, &mine, &post));      collective
 *     ... grove_post_read(&post, i) ...
 *
 * To a clerk would come as many letters as ranks have something for its node, which may be all that
 * the ranks of the node have as neighbours, and it would answer one after the other. So where there
 * are many ranks a letter for another node goes to its deputy there, the rank with the place that
 * the writer has in its own node, and from there, with the others, to the clerk: where nodes are
 * alike, a rank gets no more letters than there are neighbouring nodes, and a clerk besides those
 * one from each rank of its node.
 */
#ifndef GROVE_ROUTE_CLERKS_H
#define GROVE_ROUTE_CLERKS_H

#include "route/post.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int grove_clerk(const grove_topo *topo, int node)
{
  return grove_topo_node_rank(topo, node, 0);
}

/* Delivers all letters, which must be to clerks, as grove_post_exchange does. Agreed by all, but
 * for `mine`: of a clerk that could not read what came, to be agreed upon in the next collective
 * step. */
grove_status grove_clerks_exchange(grove_context *ctx, grove_status *mine, grove_post *post);

/* The same by deputies, however few ranks there are. */
grove_status grove_deputies_exchange(grove_context *ctx, grove_status *mine, grove_post *post);

#ifdef __cplusplus
}
#endif

#endif
