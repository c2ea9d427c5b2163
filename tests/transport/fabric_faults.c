/* Channels over libfabric when something is not as it should be: an unknown provider, a
 * registration that is refused, a queue that is full, a provider that fails in the middle, a peer
 * that is gone. Each is a status with a sentence, nothing hangs with the option `timeout`, and no
 * registration is left. */
#include "transport/ofi_desk.h"

#include "channel.h"
#include "check.h"

#include <string.h>

#ifndef GROVE_LIBFABRIC

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/fabric_faults");
  place p = place_create(split(0));
  grove_op *op = NULL;
  place_set(&p, "transport_parts", "ofi");
  CHECK_STATUS(grove_psend_init(p.ctx, NULL, 0, 0, MPI_INT, 0, 0, &op), GROVE_ERR_UNSUPPORTED);
  CHECK(strstr(grove_last_error(), "libfabric"), "%s", grove_last_error());
  place_free(&p);
  return test_end();
}

#else

#include "transport/ofi_parts.h"

enum { PARTS = 40, COUNT = 500 };

static place fresh_place(const char *provider)
{
  place p = place_create(split(0));
  place_set(&p, "transport_parts", "ofi");
  place_set(&p, "fabric", provider);
  place_set(&p, "aggregator", "none");
  return p;
}

static channel end_of(const place *p, const units *types)
{
  channel c = {.ctx = p->ctx, .sends = p->rank == 0, .peer = 1 - p->rank, .tag = 3};
  c.parts = PARTS;
  c.count = COUNT;
  c.u = units_find(types, "MPI_INT");
  c.seed = test_seed();
  return c;
}

static void nothing_is_registered(void)
{
  CHECK(grove_fabric_regions() == 0, "%lld regions are left", (long long)grove_fabric_regions());
}

/* ---- a provider that is not there ---- */

static void unknown_provider(const units *types)
{
  place p = fresh_place("nosuch;provider");
  channel c = end_of(&p, types);
  channel_dress(&c);
  c.sends = 1;
  CHECK_STATUS(channel_init(&c), GROVE_ERR_UNSUPPORTED);
  CHECK(strstr(grove_last_error(), "nosuch;provider"), "%s", grove_last_error());
  place_set(&p, "fabric", "tcp;ofi_rxm@lo"); /* and then one that is */
  c.sends = p.rank == 0;
  CHECK_OK(channel_init(&c));
  for (int i = 0; i < 2; i++) channel_run(&c);
  channel_close(&c);
  place_free(&p);
  nothing_is_registered();
}

/* ---- a registration that is refused ---- */

static int refuse(struct fid *fid, const void *memory, size_t bytes, uint64_t access,
                  uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
  (void)fid, (void)memory, (void)bytes, (void)access, (void)offset;
  (void)key, (void)flags, (void)mr, (void)context;
  return -FI_EACCES;
}

/* At the receiver: it knows why, and the sender knows who does. */
static void refused_region(const units *types)
{
  place p = fresh_place("tcp;ofi_rxm@lo");
  grove_fabric *f = NULL;
  CHECK_OK(grove_fabric_of(p.ctx, 1 - p.rank, NULL, &f));
  struct fi_ops_mr *real = f->domain->mr, refusing = *f->domain->mr;
  refusing.reg = refuse;
  f->domain->mr = &refusing;
  channel c = end_of(&p, types);
  channel_open(&c);
  channel_start(&c);
  if (c.sends) channel_ready(&c, 0, PARTS);
  CHECK_STATUS(grove_wait(c.op), GROVE_ERR_SYSTEM);
  CHECK(strstr(grove_last_error(), c.sends ? "rank 1" : "fi_mr_reg"), "%s", grove_last_error());
  CHECK(c.sends || strstr(grove_last_error(), "Permission denied"), "%s", grove_last_error());
  CHECK_STATUS(grove_start(c.op), GROVE_ERR_ARG); /* it cannot be started again */
  polite_barrier(p.comm);
  f->domain->mr = real;
  channel_abandon(&c);
  place_free(&p);
  nothing_is_registered();
}

/* ---- a queue that is full, and a provider that fails ---- */

static struct fi_ops_rma *real_writes, other_writes;
static int write_calls, write_code; /* what writes return but for every fourth; or, if 0, ... */
static int fails_always;

static ssize_t write_sometimes(struct fid_ep *ep, const void *from, size_t bytes, void *describes,
                               uint64_t data, fi_addr_t to, uint64_t at, uint64_t key,
                               void *context)
{
  if (fails_always || ++write_calls % 4 != 0) return write_code;
  return real_writes->writedata(ep, from, bytes, describes, data, to, at, key, context);
}

/* From now on; 0: as it should be. */
static void let_writes_fail(const place *p, int code, int always)
{
  grove_fabric *f = NULL;
  CHECK_OK(grove_fabric_of(p->ctx, 1 - p->rank, NULL, &f));
  struct fid_ep *ep = f->ends[0].ep;
  if (!real_writes) {
    real_writes = ep->rma;
    other_writes = *real_writes;
    other_writes.writedata = write_sometimes;
  }
  write_code = code;
  fails_always = always;
  ep->rma = code ? &other_writes : real_writes;
}

/* What does not fit leaves later, in whatever order; if nothing ever fits, the timeout says so, and
 * the round may go on. */
static void queue_is_full(const units *types)
{
  place p = fresh_place("tcp;ofi_rxm@lo");
  channel c = end_of(&p, types);
  channel_open(&c);
  channel_run(&c);
  if (c.sends) let_writes_fail(&p, -FI_EAGAIN, 0);
  for (int i = 0; i < 3; i++) channel_run(&c);
  CHECK(!c.sends || write_calls > 3 * PARTS, "only %d writes", write_calls);
  place_set(&p, "timeout", test_timeout());
  channel_start(&c);
  if (c.sends) {
    let_writes_fail(&p, -FI_EAGAIN, 1);
    channel_ready(&c, 0, PARTS);
    CHECK_STATUS(grove_wait(c.op), GROVE_ERR_TIMEOUT);
    CHECK(strstr(grove_last_error(), "rank 1"), "%s", grove_last_error());
    let_writes_fail(&p, 0, 0);
  }
  polite_barrier(p.comm);
  place_set(&p, "timeout", "0");
  channel_wait(&c);
  channel_close(&c);
  place_free(&p);
  real_writes = NULL;
  nothing_is_registered();
}

/* It does no more of what is asked: the sender knows why, the receiver who is missing. */
static void provider_fails(const units *types)
{
  place p = fresh_place("tcp;ofi_rxm@lo");
  channel c = end_of(&p, types);
  channel_open(&c);
  channel_run(&c);
  place_set(&p, "timeout", test_timeout());
  if (c.sends) let_writes_fail(&p, -FI_ENODEV, 1);
  channel_start(&c);
  if (c.sends) channel_ready(&c, 0, PARTS);
  grove_status status = grove_wait(c.op);
  CHECK(status == (c.sends ? GROVE_ERR_SYSTEM : GROVE_ERR_TIMEOUT), "status %s",
        grove_status_name(status));
  CHECK(strstr(grove_last_error(), c.sends ? "No such device" : "rank 0"), "%s",
        grove_last_error());
  polite_barrier(p.comm);
  channel_abandon(&c);
  place_free(&p);
  real_writes = NULL;
  nothing_is_registered();
}

/* ---- freed within a round ---- */

static void freed_receiver(const units *types)
{
  place p = fresh_place("tcp;ofi_rxm@lo");
  grove_op *idle = place_idle(&p);
  channel c = end_of(&p, types);
  channel_open(&c);
  channel_run(&c);
  CHECK(grove_fabric_regions() == (c.sends ? 0 : 1), "%lld regions",
        (long long)grove_fabric_regions());
  channel_start(&c);
  if (c.sends) {
    channel_ready(&c, 0, PARTS / 2);
    place_meet(&p, idle);
    channel_ready(&c, PARTS / 2, PARTS / 2); /* nobody wants them */
    channel_wait(&c);
  } else {
    CHECK_OK(grove_op_free(&c.op));
    nothing_is_registered();
    place_meet(&p, idle);
  }
  place_meet(&p, idle);
  if (c.sends) CHECK_OK(grove_op_free(&c.op));
  CHECK_OK(grove_op_free(&idle));
  channel_abandon(&c);
  place_free(&p);
  nothing_is_registered();
}

/* ---- a peer that is gone ---- */

/* Rank 1 closes its endpoints between two rounds, and does nothing more. */
static void peer_is_gone(const units *types)
{
  place p = fresh_place("tcp;ofi_rxm@lo");
  grove_fabric *f = NULL;
  channel c = end_of(&p, types);
  channel_open(&c);
  channel_run(&c); /* connections may take longer */
  place_set(&p, "timeout", test_timeout());
  polite_barrier(p.comm);
  CHECK_OK(grove_fabric_of(p.ctx, 1 - p.rank, NULL, &f));
  if (!c.sends) {
    for (int i = 0; i < f->n; i++) fi_close(&f->ends[i].ep->fid);
    f->n = 0;
  }
  polite_barrier(p.comm);
  if (c.sends) {
    channel_start(&c);
    channel_ready(&c, 0, PARTS);
    grove_status status = grove_wait(c.op);
    CHECK(status == GROVE_ERR_TIMEOUT || status == GROVE_ERR_SYSTEM, "status %s",
          grove_status_name(status));
    CHECK(strstr(grove_last_error(), "rank 1"), "%s", grove_last_error());
    channel_abandon(&c);
  }
  polite_barrier(p.comm);
  place_free(&p); /* rank 1's lives as long as its channel, which is never freed */
  if (c.sends) nothing_is_registered();
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/fabric_faults");
  units *types = units_create();
  unknown_provider(types);
  refused_region(types);
  queue_is_full(types);
  provider_fails(types);
  freed_receiver(types);
  peer_is_gone(types);
  units_free(types);
  channels_sweep();
  return test_end();
}

#endif
