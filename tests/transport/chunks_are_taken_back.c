/* Messages in chunks, at the level of the transport. Chunks of a receive that have come stay where
 * they are when it is taken back, the others go where they are told to; what is meant for a later
 * set with the same tag still finds it, also where a chunk comes just while they are taken back:
 * this program has a MPI_Cancel of its own, which lets one come. */
#include "check.h"
#include "random.h"
#include "transport/mpi_p2p.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 5, CALL = 6, ANSWER = 7 };
enum { CHUNK = 64, NCHUNKS = 4, BYTES = NCHUNKS * CHUNK - 10, SETS = 3, UNTOUCHED = 0xee };

static unsigned char value(int set, int64_t i)
{
  return (unsigned char)(mix2((uint64_t)set, (uint64_t)i) % 200);
}

static void fill(unsigned char *buffer, int set, int64_t bytes)
{
  for (int64_t i = 0; i < bytes; i++) buffer[i] = value(set, i);
}

static grove_context *ctx;

/* One message, a receive or a send. */
typedef struct post {
  grove_carriage *carriage;
  grove_carrier *carrier;
} post;

static post open_set(int persistent, int sends, int peer, void *buffer, int64_t bytes)
{
  post one = {NULL, NULL};
  const grove_carried message = {peer, bytes};
  const grove_carriage_request about = {.kind = &grove_carrier_p2p,
                                        .tag = TAG,
                                        .persistent = persistent,
                                        .chunk = CHUNK,
                                        .nreceives = !sends,
                                        .nsends = sends,
                                        .messages = &message};
  CHECK_OK(grove_carriage_create(ctx, &about, &one.carriage));
  CHECK_OK(grove_carrier_create(one.carriage, &one.carrier));
  CHECK_OK(grove_carrier_bind(one.carrier, 0, buffer));
  return one;
}

static void close_set(post *one)
{
  grove_carrier_free(&one->carrier);
  grove_carriage_free(&one->carriage);
}

/* Message 0 of the set is reported once, and nothing else. */
static void finish(grove_carrier *p, int expected)
{
  int reported = 0;
  const int *which = NULL;
  while (reported < expected) {
    int n = 0;
    CHECK_OK(grove_carrier_poll(p, &n, &which));
    for (int k = 0; k < n; k++) CHECK(which[k] == 0, "message %d is reported", which[k]);
    reported += n;
    if (n == 0) linger(0);
  }
  CHECK(reported == expected && !grove_carrier_busy(p) && !grove_carrier_pending(p, 0),
        "%d reports, and %s", reported, grove_carrier_busy(p) ? "still busy" : "not busy");
}

/* ---- every size ---- */

/* Rank 0 sends to rank 1 in several rounds, with what the sizes make of chunks. */
static void pass(int persistent, int64_t bytes)
{
  int sends = world_rank() == 0;
  unsigned char *buffer = need((size_t)bytes + 1);
  post one = open_set(persistent, sends, 1 - world_rank(), buffer, bytes);
  grove_carrier *p = one.carrier;
  for (int round = 0; round < 3; round++) {
    memset(buffer, UNTOUCHED, (size_t)bytes + 1);
    if (sends) fill(buffer, round, bytes);
    CHECK_OK(grove_carrier_start(p, 0));
    CHECK(grove_carrier_busy(p) && grove_carrier_pending(p, 0), "started, and not pending");
    finish(p, 1);
    for (int64_t i = 0; i < bytes; i++)
      CHECK(buffer[i] == value(round, i), "byte %lld of %lld is %d", (long long)i, (long long)bytes,
            buffer[i]);
    CHECK(buffer[bytes] == UNTOUCHED, "a byte behind %lld is written", (long long)bytes);
  }
  close_set(&one);
  free(buffer);
}

/* ---- a chunk that comes in between ---- */

static int cancels_before = -1; /* so many, then one comes; -1: none does */

/* Asks rank 0 for a chunk, or tells it that no more is wanted. */
static void call_sender(int wanted)
{
  MPI_Request request;
  MPI_Isend(&wanted, 1, MPI_INT, 0, CALL, MPI_COMM_WORLD, &request);
  polite_wait(&request);
  if (!wanted) return;
  MPI_Irecv(NULL, 0, MPI_INT, 0, ANSWER, MPI_COMM_WORLD, &request);
  polite_wait(&request);
}

int MPI_Cancel(MPI_Request *request)
{
  if (cancels_before >= 0 && cancels_before-- == 0) call_sender(1);
  return PMPI_Cancel(request);
}

/* ---- taking back ---- */

typedef struct receiver {
  post set;
  unsigned char buffer[BYTES];
} receiver;

/* Rank 0: chunk c of all that will be sent, set after set. */
static void begin_chunk(unsigned char data[BYTES], int c, int found, MPI_Request *request)
{
  int at = c % NCHUNKS * CHUNK, bytes = BYTES - at < CHUNK ? BYTES - at : CHUNK;
  fill(data, c / NCHUNKS, BYTES);
  if (found) /* through only when its receive has been found */
    MPI_Issend(data + at, bytes, MPI_BYTE, 1, TAG, ctx->comm, request);
  else
    MPI_Isend(data + at, bytes, MPI_BYTE, 1, TAG, ctx->comm, request);
}

static void send_chunks(int first, int end)
{
  unsigned char data[BYTES];
  MPI_Request request;
  for (int c = first; c < end; c++) {
    begin_chunk(data, c, 1, &request);
    polite_wait(&request);
  }
}

/* Sends what the receiver calls for, chunks from `next` on; returns how many that were. */
static int answer_calls(int next)
{
  unsigned char data[BYTES];
  MPI_Request request, answer;
  for (int sent = 0;; sent++) {
    int wanted = 0;
    MPI_Irecv(&wanted, 1, MPI_INT, 1, CALL, MPI_COMM_WORLD, &request);
    polite_wait(&request);
    if (!wanted) return sent;
    begin_chunk(data, next + sent, 0, &request);
    MPI_Isend(NULL, 0, MPI_INT, 1, ANSWER, MPI_COMM_WORLD, &answer);
    polite_wait(&answer);
    polite_wait(&request);
  }
}

/* Whether chunk c of the set is all here, or nothing of it. */
static void check_chunk(const receiver *r, int set, int c, int here)
{
  for (int i = c * CHUNK; i < BYTES && i < (c + 1) * CHUNK; i++) {
    int expected = here ? value(set, i) : UNTOUCHED;
    CHECK(r->buffer[i] == expected, "byte %d of set %d is %d, not %d", i, set, r->buffer[i],
          expected);
  }
}

static void open_receivers(receiver *r, int persistent)
{
  for (int s = 0; s < SETS; s++) {
    memset(r[s].buffer, UNTOUCHED, BYTES);
    r[s].set = open_set(persistent && s == 0, 0, 0, r[s].buffer, BYTES);
    CHECK_OK(grove_carrier_start(r[s].set.carrier, 0));
  }
}

/* Takes all sets from `first` on back when `came` chunks have come, and gives the first up. Of the
 * one that comes meanwhile nobody knows whether it was in time. */
static void take_back(receiver *r, int first, int came, int between)
{
  static unsigned char elsewhere[BYTES];
  int withdrawn[SETS] = {0};
  for (int s = SETS - 1; s >= first; s--) {
    int expected = came < (s + 1) * NCHUNKS, late = between >= 0 && came == (s + 1) * NCHUNKS - 1;
    if (grove_carrier_pending(r[s].set.carrier, 0))
      CHECK_OK(grove_carrier_withdraw(r[s].set.carrier, 0, 0, &withdrawn[s]));
    CHECK(withdrawn[s] == expected || late, "set %d is %swithdrawn", s, expected ? "not " : "");
  }
  for (int s = first; s < SETS; s++)
    if (withdrawn[s]) {
      if (s == first) CHECK_OK(grove_carrier_bind(r[s].set.carrier, 0, elsewhere));
      CHECK_OK(grove_carrier_repost(r[s].set.carrier, 0));
    }
}

/* The chunk that came meanwhile is where it was meant to be, or was given up with the rest. */
static void check_all(const receiver *r, int dropped, int came, int between)
{
  for (int c = 0; c < SETS * NCHUNKS; c++) {
    int set = c / NCHUNKS, here = set != dropped || c < came;
    if (set == dropped && c == came && between >= 0)
      here = r[set].buffer[c % NCHUNKS * CHUNK] != UNTOUCHED;
    check_chunk(&r[set], set, c % NCHUNKS, here);
  }
}

static void receive(int persistent, int dropped, int came, int between)
{
  receiver r[SETS];
  open_receivers(r, persistent);
  polite_barrier(MPI_COMM_WORLD);
  polite_barrier(MPI_COMM_WORLD); /* what has come by now has */
  cancels_before = between;
  take_back(r, dropped, came, between);
  cancels_before = -1;
  call_sender(0);
  for (int s = 0; s < SETS; s++) finish(r[s].set.carrier, 1);
  check_all(r, dropped, came, between);
  for (int s = 0; s < SETS; s++) close_set(&r[s].set);
}

static void send(int came)
{
  polite_barrier(MPI_COMM_WORLD);
  send_chunks(0, came);
  polite_barrier(MPI_COMM_WORLD);
  send_chunks(came + answer_calls(came), SETS * NCHUNKS);
}

static void try(int persistent, int dropped, int came, int between)
{
  test_case(came);
  if (world_rank() == 0)
    send(came);
  else
    receive(persistent, dropped, came, between);
}

int main(int argc, char **argv)
{
  static const int64_t sizes[] = {0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 1000, 40000};
  test_begin(&argc, &argv, "transport/chunks_are_taken_back");
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  for (int persistent = 0; persistent < 2; persistent++)
    for (int i = 0; i < 8; i++) pass(persistent, sizes[i]);
  for (int persistent = 0; persistent < 2; persistent++)
    for (int dropped = 0; dropped < SETS; dropped++)
      for (int came = 0; came <= SETS * NCHUNKS; came++) {
        try(persistent, dropped, came, -1);
        for (int between = 0; came + between < SETS * NCHUNKS; between++)
          try(persistent, dropped, came, between);
      }
  CHECK_OK(grove_context_free(&ctx));
  return test_end();
}
