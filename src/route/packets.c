#include "route/packets.h"

#include <stdlib.h>

void grove_packets_free(grove_packets *packets)
{
  for (int i = 0; i < packets->noutgoing; i++) free(packets->outgoing[i].words);
  free(packets->outgoing);
  grove_groups_free(&packets->ranks);
  grove_packet_list_free(packets->ncame, packets->came);
  free(packets->own.data);
  *packets = (grove_packets){0};
}

/* Begins the packet to a rank that has none yet. */
static grove_status begin_packet(grove_packets *packets, int rank)
{
  if (!packets->ranks.slots) GROVE_PASS(grove_groups_create(&packets->ranks));
  GROVE_PASS_GROW(packets->outgoing, packets->noutgoing, 1);
  GROVE_PASS(grove_groups_add(&packets->ranks, rank));
  packets->outgoing[packets->noutgoing++] = (grove_outgoing){0};
  return GROVE_OK;
}

grove_status grove_packets_write(grove_packets *packets, int rank, int64_t n, int64_t **words)
{
  int i = packets->noutgoing > 0 ? grove_groups_find(&packets->ranks, rank) : -1;
  if (i < 0) {
    i = packets->noutgoing;
    GROVE_PASS(begin_packet(packets, rank));
  }
  grove_outgoing *packet = &packets->outgoing[i];
  GROVE_PASS_GROW(packet->words, packet->count, n);
  *words = packet->words + packet->count;
  packet->count += n;
  return GROVE_OK;
}

/* A rank's packet to itself stays here. */
static grove_status pass_outgoing(grove_context *ctx, grove_packets *packets,
                                  grove_packet_exchange *exchange)
{
  GROVE_PASS_ROOM(exchange->sent, packets->noutgoing);
  for (int i = 0; i < packets->noutgoing; i++) {
    grove_outgoing *written = &packets->outgoing[i];
    grove_packet packet = {.peer = packets->ranks.keys[i],
                           .bytes = written->count * (int64_t)sizeof *written->words,
                           .data = written->words};
    written->words = NULL;
    *(packet.peer == ctx->rank ? &packets->own : &exchange->sent[exchange->nsent++]) = packet;
  }
  return GROVE_OK;
}

grove_status grove_packets_exchange(grove_context *ctx, grove_status mine, grove_packets *packets)
{
  grove_packet_exchange exchange = {0};
  if (mine == GROVE_OK) mine = pass_outgoing(ctx, packets, &exchange);
  grove_status status = grove_context_exchange(ctx, mine, NULL, 0, &exchange);
  packets->ncame = exchange.ncame;
  packets->came = exchange.came;
  while (packets->lower < packets->ncame && packets->came[packets->lower].peer < ctx->rank)
    packets->lower++;
  grove_packet_list_free(exchange.nsent,
                         exchange.sent); /* NULL after a timeout: MPI may still read them */
  return status;
}

grove_reader grove_packets_read(const grove_packets *packets, int packet)
{
  int own = packets->own.data != NULL && packet == packets->lower;
  int later = packets->own.data != NULL && packet > packets->lower;
  const grove_packet *p = own ? &packets->own : &packets->came[packet - later];
  const int64_t *words = p->data;
  return (grove_reader){
    .from = p->peer, .at = words, .end = words + p->bytes / (int64_t)sizeof *words};
}
