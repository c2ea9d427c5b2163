/* See ofi_tagged.h. Completions come by ofi_move.c, which knows these by their errand. */
#ifdef GROVE_LIBFABRIC

#include "transport/ofi_tagged.h"

#include <rdma/fi_tagged.h>

uint64_t grove_fabric_take_tag(grove_fabric *f)
{
  return ++f->last_tag;
}

static grove_status take_answer(const grove_fabric *f, const char *call, ssize_t code, int *taken)
{
  *taken = code == 0;
  if (code == 0 || code == -FI_EAGAIN) return GROVE_OK;
  return grove_fabric_error(f->about.provider, code, call, __FILE__, __LINE__);
}

grove_status grove_fabric_send(grove_fabric *f, const grove_fabric_peer *peer, uint64_t tag,
                               const void *from, int64_t bytes, void *describes,
                               grove_fabric_tagged *t, int *taken)
{
  t->op.errand = GROVE_ERRAND_TAGGED;
  return take_answer(
    f, "fi_tsend",
    fi_tsend(f->ends[0].ep, from, (size_t)bytes, describes, peer->to[0], tag, &t->op.room), taken);
}

grove_status grove_fabric_receive(grove_fabric *f, uint64_t tag, void *into, int64_t bytes,
                                  void *describes, grove_fabric_tagged *t, int *taken)
{
  t->op.errand = GROVE_ERRAND_TAGGED;
  return take_answer(
    f, "fi_trecv",
    fi_trecv(f->ends[0].ep, into, (size_t)bytes, describes, FI_ADDR_UNSPEC, tag, 0, &t->op.room),
    taken);
}

void grove_fabric_cancel(grove_fabric *f, grove_fabric_tagged *t)
{
  fi_cancel(&f->ends[0].ep->fid, &t->op.room);
}

void grove_fabric_tagged_ended(grove_fabric_op *op, int error, size_t bytes)
{
  grove_fabric_tagged *t = (grove_fabric_tagged *)op;
  t->ended(t, error, (int64_t)bytes);
}

#endif
