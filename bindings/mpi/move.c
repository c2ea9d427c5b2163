/* One call along a pattern.
 *
 * Ranks need not make the same call as when the pattern was made, and a rank cannot know whether
 * the others do. But what is sent must have as many bytes as what is received: if a block has
 * others than in the pattern, its sender and its receiver both know, each by itself. So all ranks
 * move along the pattern, whatever their arguments are. A block that fits goes along the pattern.
 * One that does not goes as a message of MPI's between the two, and what the pattern moves in its
 * place is ignored. Nobody has to be asked.
 */
#include "requests.h"

#include <stdlib.h>

static char *block(const grove_pre_side *s, int i)
{
  return (char *)s->buffer + grove_pre_side_offset(s, i);
}

int grove_pre_stages(grove_pre_pattern *p)
{
  if (!p->output_stage) p->output_stage = calloc((size_t)p->output_span + 1, 1);
  if (!p->input_stage) p->input_stage = malloc((size_t)p->input_span + 1);
  return p->output_stage && p->input_stage;
}

void grove_pre_stages_free(grove_pre_pattern *p)
{
  free(p->output_stage);
  free(p->input_stage);
  p->output_stage = p->input_stage = NULL;
}

void grove_pre_pack(const grove_pre_pattern *p, const grove_pre_side *send, char *stage)
{
  for (int i = 0; i < send->n; i++) {
    int at = 0;
    int64_t bytes = grove_pre_side_bytes(send, i);
    if (bytes != p->output_bytes[i] || bytes == 0) continue;
    PMPI_Pack(block(send, i), grove_pre_side_count(send, i), grove_pre_side_type(send, i),
              stage + p->output_at[i], (int)p->output_bytes[i], &at, MPI_COMM_SELF);
  }
}

void grove_pre_unpack(const grove_pre_pattern *p, const grove_pre_side *receive, const char *stage)
{
  for (int i = 0; i < receive->n; i++) {
    int at = 0;
    int64_t bytes = grove_pre_side_bytes(receive, i);
    if (bytes != p->input_bytes[i] || bytes == 0 || p->input_rank[i] < 0) continue;
    PMPI_Unpack(stage + p->input_at[i], (int)p->input_bytes[i], &at, block(receive, i),
                grove_pre_side_count(receive, i), grove_pre_side_type(receive, i), MPI_COMM_SELF);
  }
}

/* ---- blocks that do not fit ---- */

int grove_pre_receive_others(grove_pre_held *h, const grove_pre_pattern *p, const grove_pre_side *s,
                             MPI_Request *requests)
{
  int n = 0;
  for (int i = 0; i < s->n; i++) {
    int64_t bytes = grove_pre_side_bytes(s, i);
    if (bytes == p->input_bytes[i] || bytes == 0 || p->input_rank[i] < 0) continue;
    PMPI_Irecv(block(s, i), grove_pre_side_count(s, i), grove_pre_side_type(s, i), p->input_rank[i],
               p->input_slot[i], h->own, &requests[n++]);
  }
  return n;
}

int grove_pre_send_others(grove_pre_held *h, const grove_pre_pattern *p, const grove_pre_side *s,
                          MPI_Request *requests)
{
  int n = 0;
  for (int i = 0; i < s->n; i++) {
    int64_t bytes = grove_pre_side_bytes(s, i);
    if (bytes == p->output_bytes[i] || bytes == 0) continue;
    PMPI_Isend(block(s, i), grove_pre_side_count(s, i), grove_pre_side_type(s, i),
               p->output_rank ? p->output_rank[i] : i, i, h->own, &requests[n++]);
  }
  return n;
}

/* Grove's wait calls MPI, and MPI's would not call Grove: so Grove's comes first. Its messages wait
 * for nothing but that others make this call too. */
static int move_others(grove_pre_held *h, grove_pre_pattern *p, const grove_pre_side *send,
                       const grove_pre_side *receive, const void *roots, void *leaves)
{
  MPI_Request *requests = malloc(((size_t)send->n + (size_t)receive->n + 1) * sizeof *requests);
  if (!requests) {
    fputs("libgrove_mpi: no memory for the requests of a call\n", stderr);
    PMPI_Abort(MPI_COMM_WORLD, 1); /* the others wait for this rank's blocks */
    return MPI_ERR_NO_MEM;
  }
  int n = grove_pre_receive_others(h, p, receive, requests);
  n += grove_pre_send_others(h, p, send, requests + n);
  int error = grove_pre_bcast(h, p, roots, leaves);
  for (int i = 0; i < n; i++) grove_pre_wait_between(&requests[i]);
  free(requests);
  return error;
}

int grove_pre_move(grove_pre_held *h, grove_pre_pattern *p, const grove_pre_side *send,
                   const grove_pre_side *receive, int *other)
{
  int send_plain = p->output && grove_pre_side_same(send, p->output);
  int receive_plain = p->input && grove_pre_side_same(receive, p->input);
  const void *roots = (const char *)send->buffer + p->output_low;
  void *leaves = (char *)receive->buffer + p->input_low;
  *other = 0;
  if (send_plain && receive_plain) return grove_pre_bcast(h, p, roots, leaves);
  *other = (p->output && !send_plain) || (p->input && !receive_plain) ||
           !grove_pre_side_same_bytes(send, p->output_bytes) ||
           !grove_pre_side_same_bytes(receive, p->input_bytes);
  if (!grove_pre_stages(p)) {
    fputs("libgrove_mpi: no memory to pack the blocks of a call\n", stderr);
    PMPI_Abort(MPI_COMM_WORLD, 1); /* the others wait for this rank's blocks */
    return MPI_ERR_NO_MEM;
  }
  if (!send_plain) grove_pre_pack(p, send, p->output_stage);
  int error = move_others(h, p, send, receive, send_plain ? roots : p->output_stage,
                          receive_plain ? leaves : p->input_stage);
  if (!receive_plain && error == MPI_SUCCESS) grove_pre_unpack(p, receive, p->input_stage);
  return error;
}
