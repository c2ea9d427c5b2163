/* transport_off_node=ofi: reports name it, large messages go in chunks, a rank that is late is
 * named by the timeout. A provider that is not here is the same failure on every rank, and
 * afterwards the context works by other transports. Without libfabric the transport is refused
 * likewise.
 */
#include "check.h"
#include "ring.h"

#include <string.h>

static void refused(const place *p, const char *word)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  op_call c = ring_call(&x);
  grove_status status = call_init(&c, &x.op);
  CHECK(status == GROVE_ERR_UNSUPPORTED, "%s", grove_status_name(status));
  CHECK_SAME_ERROR(p->comm, status);
  CHECK(strstr(grove_last_error(), word), "no '%s' in '%s'", word, grove_last_error());
  CHECK(!x.op, "an output was set by a call that failed");
  place_set(p, "transport_off_node", "auto");
  ring_run(&x, 2);
  ring_close(&x);
}

#ifdef TEST_FABRIC

static void reports(const place *p)
{
  grove_report told = {.struct_size = sizeof told};
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, KIND_REDUCE);
  ring_init(&x);
  CHECK_OK(grove_op_report(x.op, &told));
  CHECK(strcmp(told.transport, "ofi") == 0, "'%s'", told.transport);
  ring_close(&x);
  place_set(p, "chunk", "100000");
  for (op_kind k = 0; k < OP_KINDS; k++) {
    ring y = ring_open(p, RING_LARGE, RING_NOBODY, k);
    ring_run(&y, 2);
    ring_close(&y);
  }
  place_set(p, "chunk", "1073741824");
}

/* Rank 0 starts when the others have given up. */
static void names_the_late(const place *p)
{
  ring x = ring_open(p, RING_MIDDLE, RING_NOBODY, KIND_BCAST);
  ring_init(&x);
  ring_fill(&x, 1);
  place_set(p, "timeout", "2");
  if (p->rank > 0) CHECK_OK(grove_start(x.op));
  if (p->rank == 1 || p->rank == p->size - 1) {
    grove_status status = p->rank > 0 ? grove_wait(x.op) : GROVE_ERR_TIMEOUT;
    CHECK(status == GROVE_ERR_TIMEOUT, "%s", grove_status_name(status));
    CHECK(number_in(grove_last_error(), 0), "'%s'", grove_last_error());
  }
  polite_barrier(p->comm);
  place_set(p, "timeout", "0");
  if (p->rank == 0) CHECK_OK(grove_start(x.op));
  CHECK_OK(grove_wait(x.op));
  ring_check(&x, 1);
  ring_close(&x);
}

#endif

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/over_fabric");
  place p = place_create(split(0));
  place_set(&p, "node_size", "1");
  place_set(&p, "transport_off_node", "ofi");
#ifdef TEST_FABRIC
  place_set(&p, "fabric", "pigeon");
  if (p.size > 1) refused(&p, "pigeon");
  place_set(&p, "transport_off_node", "ofi");
  place_set(&p, "fabric", "tcp;ofi_rxm");
  if (p.size > 1) names_the_late(&p);
  reports(&p);
#else
  refused(&p, "without libfabric");
#endif
  place_free(&p);
  return test_end();
}
