/* Messages as MPI point-to-point, one request each: made once and restarted (persistent), or posted
 * anew at every start (reposted), which lets buffers change from start to start. A message larger
 * than a limit goes in chunks of that many bytes, each a message for MPI, all with the same tag.
 *
 *     grove_p2p_create(comm, tag, persistent, chunk_limit, nreceives, nsends, &p);
 *     grove_p2p_bind(p, i, peer, buffer, bytes);      message i: receives first, then sends
 *     grove_p2p_start(p, i);
 *     grove_p2p_poll(p, &n, &which);                  until all that were started have come up
 *     grove_p2p_free(&p);
 *
 * Two sets with the same tag on one communicator match in the order in which they are started.
 */
#ifndef GROVE_TRANSPORT_MPI_P2P_H
#define GROVE_TRANSPORT_MPI_P2P_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_p2p grove_p2p;

/* `chunk_limit`: the most bytes that MPI gets at once; the same at both ends of a message. */
grove_status grove_p2p_create(MPI_Comm comm, int tag, int persistent, int chunk_limit,
                              int nreceives, int nsends, grove_p2p **out);

/* Gives message i its partner and memory; again with another buffer, for as many bytes, only where
 * not persistent. */
grove_status grove_p2p_bind(grove_p2p *p, int i, int peer, void *buffer, int64_t bytes);

grove_status grove_p2p_start(grove_p2p *p, int i);

/* The messages completed since the last call: their numbers, valid until the next call. */
grove_status grove_p2p_poll(grove_p2p *p, int *n, const int **which);

/* True while message i is started and not yet complete. */
int grove_p2p_pending(const grove_p2p *p, int i);

/* True while anything is. */
int grove_p2p_busy(const grove_p2p *p);

/* Takes back what has not come yet of message i, a receive under way; `withdrawn` says whether that
 * is anything. What is arriving is waited for, and stays in its buffer; GROVE_ERR_TIMEOUT after
 * `timeout` seconds (0: never), also where something was withdrawn. Where several sets with one tag
 * are under way, the latest is withdrawn from first. */
grove_status grove_p2p_withdraw(grove_p2p *p, int i, double timeout, int *withdrawn);

/* Posts what was withdrawn of a receive again: into its own buffer, or (`discard`) into memory of
 * the transport's, so that its sender is not held up while nobody wants the data. Of several sets
 * the earliest first. */
grove_status grove_p2p_repost(grove_p2p *p, int i, int discard);

/* Starts message i, a receive, for a sender whose data nobody wants. */
grove_status grove_p2p_discard(grove_p2p *p, int i);

/* Only when nothing is pending. */
void grove_p2p_free(grove_p2p **p);

#ifdef __cplusplus
}
#endif

#endif
