#include "context/board.h"

#include "base/segment.h"

#include <string.h>

/* How many rows a rank reads: on one host those of all ranks, in a tree those below it. */
enum { MOST_READ = 16 };

enum { GATHERING, CROSSING, WAITING, DONE };

typedef union row {
  struct {
    uint64_t step; /* which the values are for: atomic */
    int64_t values[GROVE_BOARD_VALUES];
  };
  char apart[GROVE_APART];
} row;

enum { STAND_WORDS = GROVE_STAND_BYTES / sizeof(uint64_t) };

typedef struct grove_board_seat {
  row up[2]; /* of odd and of even steps */
  row down;  /* written when all ranks are in this step, and so have finished the last one */
  union {
    uint64_t words[STAND_WORDS]; /* a text: atomic */
    char apart[GROVE_APART];
  } stand;
} seat_rows;

int64_t grove_board_bytes(int seats)
{
  return seats * (int64_t)sizeof(seat_rows);
}

/* ---- rows ---- */

static void put_up(grove_board *b, row *own)
{
  memcpy(own->values, b->values, sizeof own->values);
  __atomic_store_n(&own->step, b->step, __ATOMIC_RELEASE);
}

static int is_up(const grove_board *b, const row *theirs)
{
  return __atomic_load_n(&theirs->step, __ATOMIC_ACQUIRE) == b->step;
}

static void take_maximum(grove_board *b, const int64_t *values)
{
  for (int i = 0; i < GROVE_BOARD_VALUES; i++)
    if (values[i] > b->values[i]) b->values[i] = values[i];
}

static row *up_row(const grove_board *b, int seat)
{
  return &b->seats[seat].up[b->step % 2];
}

static int has_seats_below(const grove_board *b)
{
  return !b->all && b->seat * MOST_READ + 1 < b->nseats;
}

/* ---- opening ---- */

/* A circle of hosts. */
static void find_partners(const grove_topo *topo, grove_rounds *out)
{
  int hosts = 0, mine = topo->place[topo->rank].domain;
  for (int r = 0; r < topo->nranks; r++) hosts += topo->place[r].seat == 0;
  out->count = grove_rounds_needed(hosts);
  for (int r = 0; r < topo->nranks; r++) {
    if (topo->place[r].seat != 0) continue;
    int ahead = (topo->place[r].domain - mine + hosts) % hosts;
    for (int k = 0; k < out->count; k++) {
      if (ahead == 1 << k) out->to[k] = r;
      if (ahead == hosts - (1 << k)) out->from[k] = r;
    }
  }
}

void grove_board_open(grove_board *b, void *memory, const grove_topo *topo, MPI_Comm comm, int tag)
{
  *b = (grove_board){.seats = memory,
                     .nseats = topo->domain_size,
                     .seat = topo->place[topo->rank].seat,
                     .phase = DONE,
                     .hosts = {.comm = comm, .tag = tag, .n = GROVE_BOARD_VALUES}};
  find_partners(topo, &b->hosts);
  b->all = b->hosts.count == 0 && b->nseats <= MOST_READ;
}

/* ---- a step ---- */

void grove_board_begin(grove_board *b, const int64_t *values)
{
  int first_below = b->seat * MOST_READ + 1, end_below = first_below + MOST_READ;
  memcpy(b->values, values, sizeof b->values);
  b->step++;
  b->phase = GATHERING;
  b->next = b->all ? 0 : first_below;
  b->end = b->all || end_below > b->nseats ? b->nseats : end_below;
  if (b->all) put_up(b, up_row(b, b->seat));
}

static int gather_rows(grove_board *b)
{
  for (; b->next < b->end; b->next++) {
    const row *theirs = up_row(b, b->next);
    if (!is_up(b, theirs)) return 0;
    take_maximum(b, theirs->values);
  }
  return 1;
}

static grove_status cross_hosts(grove_board *b, int *done)
{
  GROVE_PASS(grove_rounds_test(&b->hosts, done));
  if (*done) memcpy(b->values, b->hosts.known, sizeof b->values);
  return GROVE_OK;
}

static grove_status look_up_rows(grove_board *b, int *done)
{
  const row *theirs = &b->seats[(b->seat - 1) / MOST_READ].down;
  *done = is_up(b, theirs);
  if (*done) memcpy(b->values, theirs->values, sizeof b->values);
  return GROVE_OK;
}

/* All below this rank have come: goes on to the next phase. */
static grove_status leave_gathering(grove_board *b)
{
  b->phase = b->all ? DONE : b->seat == 0 ? CROSSING : WAITING;
  if (b->phase == WAITING) put_up(b, up_row(b, b->seat));
  if (b->phase != CROSSING) return GROVE_OK;
  memcpy(b->hosts.known, b->values, sizeof b->values);
  return grove_rounds_begin(&b->hosts);
}

grove_status grove_board_test(grove_board *b, int *done)
{
  int moved = 0;
  *done = 0;
  if (b->phase == GATHERING) {
    if (!gather_rows(b)) return GROVE_OK;
    GROVE_PASS(leave_gathering(b));
  }
  if (b->phase != DONE) {
    GROVE_PASS(b->phase == CROSSING ? cross_hosts(b, &moved) : look_up_rows(b, &moved));
    if (!moved) return GROVE_OK;
    if (has_seats_below(b)) put_up(b, &b->seats[b->seat].down);
    b->phase = DONE; /* a further test says the same */
  }
  *done = 1;
  return GROVE_OK;
}

int grove_board_lacks(const grove_board *b, int seat)
{
  return b->seats && b->all && b->phase == GATHERING && !is_up(b, up_row(b, seat));
}

/* ---- where ranks are ---- */

void grove_board_stand(grove_board *b, const char *call)
{
  union {
    uint64_t words[STAND_WORDS];
    char text[GROVE_STAND_BYTES];
  } stand = {{0}};
  if (!b->seats) return;
  grove_copy_text(stand.text, sizeof stand.text, call);
  for (int i = 0; i < STAND_WORDS; i++)
    __atomic_store_n(&b->seats[b->seat].stand.words[i], stand.words[i], __ATOMIC_RELAXED);
}

void grove_board_find(const grove_board *b, int seat, char out[GROVE_STAND_BYTES])
{
  for (int i = 0; i < STAND_WORDS; i++) {
    uint64_t word = __atomic_load_n(&b->seats[seat].stand.words[i], __ATOMIC_RELAXED);
    memcpy(out + (size_t)i * sizeof word, &word, sizeof word);
  }
  out[GROVE_STAND_BYTES - 1] = '\0';
}
