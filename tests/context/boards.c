/* Boards: every rank gets the maxima, step after step, whatever the order in which ranks begin and
 * look, some of them a step ahead; with one host or many, and seats enough for a tree of three
 * levels. A process is a host, and plays all its seats. */
#include "check.h"
#include "context/board.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SEATS = 300, STEPS = 12 };

/* ---- hosts and seats ---- */

typedef struct hosts {
  int nranks;
  int *seats; /* of each host */
  grove_place *place;
} hosts;

/* Seats 0 have the numbers of their hosts, since they send; the others follow. */
static hosts draw_hosts(rng *r)
{
  int n = world_size();
  hosts h = {.seats = need((size_t)n * sizeof *h.seats)};
  for (int i = 0; i < n; i++) {
    int most = rng_one_in(r, 8) ? MOST_SEATS : rng_one_in(r, 2) ? 3 : 18;
    h.seats[i] = (int)rng_between(r, 1, most);
    h.nranks += h.seats[i];
  }
  h.place = need((size_t)h.nranks * sizeof *h.place);
  for (int i = 0, rank = n; i < n; i++) {
    h.place[i] = (grove_place){.domain = i, .seat = 0};
    for (int k = 1; k < h.seats[i]; k++) h.place[rank++] = (grove_place){.domain = i, .seat = k};
  }
  return h;
}

static void free_hosts(hosts *h)
{
  free(h->seats);
  free(h->place);
}

/* ---- the seats of this host ---- */

typedef struct player {
  grove_board board;
  int rank;
  int step, begun;
} player;

static player *open_boards(const hosts *h, void *memory)
{
  int mine = world_rank(), n = 0;
  player *p = need((size_t)h->seats[mine] * sizeof *p);
  for (int r = 0; r < h->nranks; r++) {
    if (h->place[r].domain != mine) continue;
    const grove_topo topo = {
      .nranks = h->nranks, .rank = r, .domain_size = h->seats[mine], .place = h->place};
    p[n] = (player){.rank = r};
    grove_board_open(&p[n++].board, memory, &topo, MPI_COMM_WORLD, 7);
  }
  return p;
}

/* What rank `rank` says in a step: negative numbers too. */
static int64_t say(uint64_t seed, int step, int rank, int i)
{
  return (int64_t)mix2(seed + (uint64_t)(step * GROVE_BOARD_VALUES + i), (uint64_t)rank);
}

static void begin(uint64_t seed, player *p)
{
  int64_t values[GROVE_BOARD_VALUES];
  for (int i = 0; i < GROVE_BOARD_VALUES; i++) values[i] = say(seed, p->step, p->rank, i);
  grove_board_begin(&p->board, values);
  p->begun = 1;
}

static void check_maxima(const hosts *h, uint64_t seed, const player *p)
{
  for (int i = 0; i < GROVE_BOARD_VALUES; i++) {
    int64_t most = INT64_MIN;
    for (int r = 0; r < h->nranks; r++)
      if (say(seed, p->step, r, i) > most) most = say(seed, p->step, r, i);
    CHECK(p->board.values[i] == most, "rank %d of %d, step %d: number %d is %lld, not %lld",
          p->rank, h->nranks, p->step, i, (long long)p->board.values[i], (long long)most);
  }
}

/* Steps that all seats of this host have begun. */
static int begun_here(const player *p, int n)
{
  int least = STEPS;
  for (int k = 0; k < n; k++)
    if (p[k].step + p[k].begun < least) least = p[k].step + p[k].begun;
  return least;
}

/* One move of a seat among n; true when it is through with its last step. */
static int move(const hosts *h, uint64_t seed, const player *all, int n, player *p)
{
  int done = 0;
  if (p->step == STEPS) return 0;
  if (!p->begun) {
    begin(seed, p);
    return 0;
  }
  CHECK_OK(grove_board_test(&p->board, &done));
  if (!done) return 0;
  CHECK(p->step < begun_here(all, n), "rank %d is through with step %d, which not all have begun",
        p->rank, p->step);
  check_maxima(h, seed, p);
  CHECK_OK(grove_board_test(&p->board, &done));
  CHECK(done, "a step that was done is not any more");
  p->begun = 0;
  return ++p->step == STEPS;
}

static void play(const hosts *h, uint64_t seed, rng *mine)
{
  int n = h->seats[world_rank()];
  void *memory = aligned_alloc(128, (size_t)grove_board_bytes(n));
  CHECK(memory, "no memory");
  memset(memory, 0, (size_t)grove_board_bytes(n));
  player *p = open_boards(h, memory);
  for (int through = 0; through < n;) {
    through += move(h, seed, p, n, &p[rng_below(mine, n)]);
    if (rng_one_in(mine, 2 * n)) linger(0); /* other hosts want their turn */
  }
  polite_barrier(MPI_COMM_WORLD);
  free(p);
  free(memory);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/boards");
  for (int64_t i = 0; i < test_samples(25); i++) {
    test_case(i);
    rng all = rng_from(test_seed(), (uint64_t)i), mine = all;
    hosts h = draw_hosts(&all);
    mine.state += (uint64_t)world_rank();
    play(&h, test_seed() + 1000 * (uint64_t)i, &mine);
    free_hosts(&h);
  }
  return test_end();
}
