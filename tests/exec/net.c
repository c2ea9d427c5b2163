/* See support/net.h. */
#include "net.h"

#include "check.h"
#include "exec/transfer.h"

/* Adds what every rank found to send in each stage. */
static void share(net *x, const place *p, unsigned char mine[NET_STAGES][NET_RANKS])
{
  unsigned char all[NET_RANKS][NET_STAGES][NET_RANKS];
  MPI_Request request;
  MPI_Iallgather(mine, sizeof all[0], MPI_BYTE, all, sizeof all[0], MPI_BYTE, p->comm, &request);
  polite_wait(&request);
  for (int s = 0; s < NET_STAGES; s++)
    for (int a = 0; a < p->size; a++)
      for (int b = 0; b < p->size; b++) x->sends[s][a][b] |= all[a][s][b];
}

net net_of(const place *p, grove_op *op)
{
  const grove_wiring *wiring = ((grove_transfer *)op)->wiring;
  unsigned char mine[NET_STAGES][NET_RANKS] = {{0}};
  net found = {.n = p->size};
  CHECK(p->size <= NET_RANKS && wiring->nstages <= NET_STAGES, "%d ranks, %d stages", p->size,
        wiring->nstages);
  for (int s = 0; s < wiring->nstages; s++)
    for (int i = wiring->stages[s].nreceives; i < wiring->stages[s].nletters; i++)
      mine[s][wiring->stages[s].letters[i].peer] = 1;
  share(&found, p, mine);
  return found;
}

/* By which stage a value can be where that `from` has before stage `first`; NET_STAGES: never. */
static void reach(const net *x, int from, int first, int *when)
{
  for (int r = 0; r < x->n; r++) when[r] = r == from ? first - 1 : NET_STAGES;
  for (int s = first; s < NET_STAGES; s++)
    for (int a = 0; a < x->n; a++)
      for (int b = 0; b < x->n; b++)
        if (x->sends[s][a][b] && when[a] < s && when[b] > s) when[b] = s;
}

int net_is_on_way(const net *x, int source, int target, int s, int a, int b)
{
  int to_a[NET_RANKS], from_b[NET_RANKS];
  if (!x->sends[s][a][b]) return 0;
  reach(x, source, 0, to_a);
  reach(x, b, s + 1, from_b);
  return to_a[a] < s && from_b[target] < NET_STAGES;
}

int net_shares_letter(const net *x, const int *source, int s, int a, int b,
                      const unsigned char *held)
{
  for (int t = 0; t < x->n; t++)
    if (held[t] && source[t] != t && net_is_on_way(x, source[t], t, s, a, b)) return 1;
  return 0;
}

static int is_held_up(const net *x, const int *source, int t, int late, const unsigned char *held)
{
  for (int s = 0; s < NET_STAGES; s++)
    for (int a = 0; a < x->n; a++)
      for (int b = 0; b < x->n; b++)
        if (net_is_on_way(x, source[t], t, s, a, b) &&
            (a == late || b == late || net_shares_letter(x, source, s, a, b, held)))
          return 1;
  return 0;
}

void net_spread(const net *x, const int *source, int late, unsigned char *held)
{
  for (int changed = 1; changed;) {
    changed = 0;
    for (int t = 0; t < x->n; t++)
      if (!held[t] && is_held_up(x, source, t, late, held)) held[t] = (unsigned char)(changed = 1);
  }
}
