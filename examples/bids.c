/* Owners decide. Every rank bids for lots that other ranks own. Fetch gives each bid its place in
 * the lot's queue. Gather lays all bids for a lot side by side at its owner. The owner picks the
 * highest, or the earliest of equal ones. Scatter tells every bidder.
 *
 *     mpirun -n 4 bids
 */
#include "common.h"

enum { LOTS = 3, BIDS = 6 }; /* lots that a rank owns, bids that it makes */

/* Bid i of a rank is for this lot of this owner. */
static grove_root lot_of(int rank, int size, int i)
{
  return (grove_root){(rank + i * i) % size, (rank + i) % LOTS};
}

/* Answers each bid for one lot: 1 for the one that gets it, else 0. */
static void decide(int64_t n, const int *bid, int *won)
{
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (bid[i] > bid[best]) best = i;
  for (int64_t i = 0; i < n; i++) won[i] = i == best;
}

int main(int argc, char **argv)
{
  int rank, size, bid[BIDS], one[BIDS], place[BIDS], won[BIDS], bidders[LOTS] = {0};
  grove_root lot[BIDS];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < BIDS; i++) {
    lot[i] = lot_of(rank, size, i);
    bid[i] = (rank * 7 + i * 5) % 11;
    one[i] = 1;
  }
  grove_context *ctx;
  grove_forest *market;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  GROVE_MUST(grove_forest_create(ctx, &market));
  GROVE_MUST(grove_forest_set_graph(market, LOTS, BIDS, NULL, lot));
  GROVE_MUST(grove_forest_set_up(market));

  GROVE_MUST(grove_fetch(market, MPI_INT, bidders, one, place, MPI_SUM)); /* counts bidders too */

  int64_t degree[LOTS], n = 0;
  GROVE_MUST(grove_forest_degrees(market, degree));
  for (int i = 0; i < LOTS; i++) n += degree[i];
  int *bids = calloc((size_t)n + 1, sizeof *bids),
      *answers = calloc((size_t)n + 1, sizeof *answers);
  GROVE_MUST(grove_gather(market, MPI_INT, bid, bids));
  for (int64_t i = 0, at = 0; i < LOTS; at += degree[i++])
    if (degree[i] > 0) decide(degree[i], bids + at, answers + at);
  GROVE_MUST(grove_scatter(market, MPI_INT, answers, won));

  /* Every lot with bidders is sold once; the first in every queue has place 0. */
  int mine[2] = {0, 0}, all[2], sold = 0, lots = 0, wrong = 0;
  for (int i = 0; i < BIDS; i++) mine[0] += won[i], mine[1] += place[i] == 0;
  for (int i = 0; i < LOTS; i++) sold += degree[i] > 0, wrong += bidders[i] != degree[i];
  MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&sold, &lots, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  wrong += all[0] != lots || all[1] != lots;
  printf("rank %d: %d of %d bids won%s\n", rank, mine[0], BIDS, wrong ? ": WRONG" : "");
  free(bids);
  free(answers);
  GROVE_MUST(grove_forest_free(&market));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong > 0;
}
