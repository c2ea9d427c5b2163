/* Operations on forests over libfabric when something is not as it should be: a queue that is full,
 * a provider that fails in the middle, a registration that is refused, a peer that is gone. Each is
 * a status with a sentence, nothing hangs with the option `timeout`, and no registration is left.
 */
#include "transport/ofi_desk.h"
#include "transport/ofi_tagged.h"

#include "check.h"
#include "ring.h"

#include <rdma/fi_tagged.h>
#include <string.h>

enum { CHUNKS = 8 };

static place fresh_place(grove_fabric **f)
{
  place p = place_create(split(0));
  place_set(&p, "node_size", "1");
  place_set(&p, "transport_off_node", "ofi");
  place_set(&p, "fabric", "tcp;ofi_rxm@lo");
  CHECK_OK(grove_fabric_of_all(p.ctx, f));
  return p;
}

static void nothing_is_registered(void)
{
  CHECK(grove_fabric_regions() == 0, "%lld regions are left", (long long)grove_fabric_regions());
}

static void run_round(ring *x, int round)
{
  ring_fill(x, round);
  CHECK_OK(grove_start(x->op));
  CHECK_OK(grove_wait(x->op));
  ring_check(x, round);
}

/* ---- a queue that is full, and a provider that fails ---- */

static struct fi_ops_tagged *real_calls, other_calls;
static int calls, code; /* what the calls return, but for every fourth one, or, if: */
static int fails_always;

static int is_let_through(void)
{
  return !fails_always && ++calls % 4 == 0;
}

static ssize_t send_sometimes(struct fid_ep *ep, const void *from, size_t bytes, void *describes,
                              fi_addr_t to, uint64_t tag, void *context)
{
  if (!is_let_through()) return code;
  return real_calls->send(ep, from, bytes, describes, to, tag, context);
}

static ssize_t receive_sometimes(struct fid_ep *ep, void *into, size_t bytes, void *describes,
                                 fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
  if (!is_let_through()) return code;
  return real_calls->recv(ep, into, bytes, describes, from, tag, ignore, context);
}

/* From now on; 0: as it should be. */
static void let_calls_fail(const grove_fabric *f, int with, int always)
{
  struct fid_ep *ep = f->ends[0].ep;
  if (!real_calls) {
    real_calls = ep->tagged;
    other_calls = *real_calls;
    other_calls.send = send_sometimes;
    other_calls.recv = receive_sometimes;
  }
  code = with;
  fails_always = always;
  ep->tagged = with ? &other_calls : real_calls;
}

/* Pieces leave later, in their order; if none ever leaves, the timeout says so, and the wait may go
 * on. */
static void queue_is_full(op_kind k)
{
  grove_fabric *f = NULL;
  place p = fresh_place(&f);
  place_set(&p, "chunk", "65536");
  ring x = ring_open(&p, CHUNKS * 8192, RING_NOBODY, k);
  ring_init(&x);
  run_round(&x, 1);
  let_calls_fail(f, -FI_EAGAIN, 0);
  calls = 0;
  for (int round = 2; round < 5; round++) run_round(&x, round);
  CHECK(calls > 3 * CHUNKS, "only %d calls", calls);
  place_set(&p, "timeout", test_timeout());
  let_calls_fail(f, -FI_EAGAIN, 1);
  ring_fill(&x, 5);
  CHECK_OK(grove_start(x.op));
  CHECK_STATUS(grove_wait(x.op), GROVE_ERR_TIMEOUT);
  CHECK_NUMBER_IN(grove_last_error(), 1 - p.rank);
  polite_barrier(p.comm);
  let_calls_fail(f, 0, 0);
  place_set(&p, "timeout", "0");
  CHECK_OK(grove_wait(x.op));
  ring_check(&x, 5);
  ring_close(&x);
  place_free(&p);
  real_calls = NULL;
  nothing_is_registered();
}

/* Rank 0's does no more of what is asked: rank 0 knows why, rank 1 who is missing. */
static void provider_fails(void)
{
  grove_fabric *f = NULL;
  place p = fresh_place(&f);
  ring x = ring_open(&p, RING_MIDDLE, RING_NOBODY, KIND_BCAST);
  ring_init(&x);
  run_round(&x, 1);
  place_set(&p, "timeout", test_timeout());
  ring_fill(&x, 2);
  if (p.rank == 0) let_calls_fail(f, -FI_ENODEV, 1);
  grove_status status = grove_start(x.op);
  if (status == GROVE_OK) status = grove_wait(x.op);
  CHECK(status == (p.rank == 0 ? GROVE_ERR_SYSTEM : GROVE_ERR_TIMEOUT), "status %s: %s",
        grove_status_name(status), grove_last_error());
  if (p.rank == 0)
    CHECK(strstr(grove_last_error(), "No such device"), "%s", grove_last_error());
  else
    CHECK_NUMBER_IN(grove_last_error(), 0);
  polite_barrier(p.comm);
  CHECK_STATUS(grove_op_free(&x.op), status == GROVE_ERR_TIMEOUT ? GROVE_OK : status);
  CHECK(!x.op, "it was not freed");
  place_free(&p);
  ring_close(&x);
  real_calls = NULL;
  nothing_is_registered();
}

/* ---- a registration that is refused ---- */

static struct fi_ops_mr *real_regions;
static int regions_left; /* so many are allowed */

static int refuse_later(struct fid *fid, const void *memory, size_t bytes, uint64_t access,
                        uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr,
                        void *context)
{
  if (regions_left-- <= 0) return -FI_EACCES;
  return real_regions->reg(fid, memory, bytes, access, offset, key, flags, mr, context);
}

/* A provider that must know what it sends from, as verbs, and refuses rank 1 the region number
 * `allowed`: making the operation fails on every rank. If none is refused it works. */
static void refused_region(int allowed, int of)
{
  grove_fabric *f = NULL;
  place p = fresh_place(&f);
  real_regions = f->domain->mr;
  struct fi_ops_mr counting = *real_regions;
  counting.reg = refuse_later;
  f->about.registers_sources = 1;
  f->domain->mr = &counting;
  regions_left = p.rank == 1 ? allowed : of;
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_REDUCE);
  op_call c = ring_call(&x);
  grove_status status = call_init(&c, &x.op);
  if (allowed < of) {
    CHECK(status == GROVE_ERR_SYSTEM, "%s", grove_status_name(status));
    CHECK_SAME_ERROR(p.comm, status);
    CHECK(strstr(grove_last_error(), "Permission denied"), "%s", grove_last_error());
    CHECK(!x.op, "an output was set by a call that failed");
  } else {
    CHECK(regions_left == 0, "%d regions fewer were asked for", regions_left);
    CHECK(grove_fabric_regions() > 0, "no region is there");
    for (int round = 1; round < 4; round++) run_round(&x, round);
  }
  ring_close(&x);
  f->domain->mr = real_regions;
  f->about.registers_sources = 0;
  place_free(&p);
  nothing_is_registered();
}

/* ---- a peer that is gone ---- */

/* Rank 1 closes its endpoint between two rounds, and does nothing more. */
static void peer_is_gone(void)
{
  grove_fabric *f = NULL;
  place p = fresh_place(&f);
  place_set(&p, "timeout", test_timeout());
  ring x = ring_open(&p, RING_MIDDLE, RING_NOBODY, KIND_BCAST);
  ring_init(&x);
  run_round(&x, 1);
  polite_barrier(p.comm);
  if (p.rank == 1) fi_close(&f->ends[0].ep->fid);
  polite_barrier(p.comm);
  if (p.rank == 0) {
    ring_fill(&x, 2);
    grove_status status = grove_start(x.op);
    if (status == GROVE_OK) status = grove_wait(x.op);
    CHECK(status == GROVE_ERR_TIMEOUT || status == GROVE_ERR_SYSTEM, "status %s",
          grove_status_name(status));
    CHECK_NUMBER_IN(grove_last_error(), 1);
    nothing_is_registered();
  }
  polite_barrier(p.comm);
  f->n = 0; /* it is not closed again; both processes end here */
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/letters_faults");
  for (op_kind k = 0; k < OP_KINDS; k++) queue_is_full(k);
  provider_fails();
  test_case(1);
  refused_region(0, 3); /* the hello */
  test_case(2);
  refused_region(1, 3); /* what is received into */
  refused_region(3, 3);
  peer_is_gone();
  return test_end();
}
