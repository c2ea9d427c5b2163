/* Opening and closing a fabric, its endpoints, and the addresses of others. */
#ifdef GROVE_LIBFABRIC

#include "transport/ofi_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- endpoints ---- */

static void close_end(grove_fabric_end *e)
{
  if (e->ep) fi_close(&e->ep->fid);
  if (e->cq) fi_close(&e->cq->fid);
  grove_fabric_unregister_at(&e->mr);
  free(e->ops);
  free(e->buffers);
}

static grove_status make_ops(grove_fabric_end *e)
{
  int nout = GROVE_FABRIC_DEEP + GROVE_FABRIC_NOTES;
  size_t data = e->fabric->about.manner == GROVE_FABRIC_MESSAGE ? GROVE_FABRIC_PIECE : 0;
  e->nops = nout + GROVE_FABRIC_RECEIVES;
  e->buffer_bytes = sizeof(grove_fabric_note) + data;
  GROVE_PASS_NEW(e->ops, e->nops);
  GROVE_PASS_NEW(e->buffers, (size_t)e->nops * e->buffer_bytes);
  for (int i = 0; i < e->nops; i++) {
    grove_fabric_op *op = &e->ops[i];
    op->end = e;
    op->buffer = e->buffers + (size_t)i * e->buffer_bytes;
    grove_fabric_push(i < GROVE_FABRIC_DEEP ? &e->writes : i < nout ? &e->notes : &e->unposted, op);
  }
  return GROVE_OK;
}

static grove_status open_end(grove_fabric *f, grove_fabric_end *e)
{
  struct fi_cq_attr about = {.format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_NONE};
  e->fabric = f;
  GROVE_PASS(make_ops(e));
  GROVE_FABRIC_PASS(f, fi_endpoint(f->domain, f->info, &e->ep, e));
  GROVE_FABRIC_PASS(f, fi_cq_open(f->domain, &about, &e->cq, e));
  GROVE_FABRIC_PASS(f, fi_ep_bind(e->ep, &f->av->fid, 0));
  GROVE_FABRIC_PASS(f, fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV));
  GROVE_FABRIC_PASS(f, fi_enable(e->ep));
  if (f->about.registers_sources) {
    GROVE_PASS(grove_fabric_register_at(f, e, e->buffers, (size_t)e->nops * e->buffer_bytes,
                                        FI_SEND | FI_RECV, &e->mr));
    e->describes = fi_mr_desc(e->mr);
  }
  return grove_fabric_post_receives(e);
}

/* ---- addresses ---- */

/* Some are texts, and of different lengths. */
static grove_status name_end(grove_fabric *f, int i)
{
  size_t bytes = GROVE_FABRIC_ADDRESS_BYTES;
  int code = fi_getname(&f->ends[i].ep->fid, f->address.of[i], &bytes);
  GROVE_PASS_CHECK(code != -FI_ETOOSMALL && bytes <= GROVE_FABRIC_ADDRESS_BYTES,
                   GROVE_ERR_UNSUPPORTED, "libfabric's %s: an address of %zu bytes is too long",
                   f->about.provider, bytes);
  GROVE_FABRIC_PASS(f, code);
  f->address.endpoints = i + 1;
  return GROVE_OK;
}

void grove_fabric_tell_address(const grove_fabric *f, grove_fabric_address *out)
{
  *out = f->address;
}

static int is_same_address(const grove_fabric_address *a, const grove_fabric_address *b)
{
  return a->endpoints == b->endpoints &&
         memcmp(a->of, b->of, (size_t)a->endpoints * sizeof a->of[0]) == 0;
}

static grove_status check_address(const grove_fabric *f, const grove_fabric_address *address)
{
  GROVE_PASS_CHECK(strcmp(address->provider, f->about.provider) == 0, GROVE_ERR_UNSUPPORTED,
                   "libfabric's %s here, and %.63s there: they do not reach each other",
                   f->about.provider, address->provider);
  GROVE_PASS_CHECK(address->endpoints > 0 && address->endpoints <= GROVE_FABRIC_MOST_ENDPOINTS,
                   GROVE_ERR_ARG, "an address of libfabric's %s with %lld endpoints",
                   f->about.provider, (long long)address->endpoints);
  return GROVE_OK;
}

grove_status grove_fabric_reach(grove_fabric *f, const grove_fabric_address *address,
                                grove_fabric_peer **out)
{
  grove_fabric_peer *p = f->peers;
  GROVE_PASS(check_address(f, address));
  while (p && !is_same_address(&p->address, address)) p = p->next;
  *out = p;
  if (p) return GROVE_OK;
  GROVE_PASS_NEW(p, 1);
  p->next = f->peers; /* the list owns it, whatever follows */
  f->peers = p;
  for (int i = 0; i < address->endpoints; i++) {
    int added = fi_av_insert(f->av, address->of[i], 1, &p->to[i], 0, NULL);
    GROVE_PASS_CHECK(added == 1, GROVE_ERR_SYSTEM,
                     "libfabric's %s: fi_av_insert: endpoint %d of another process: %s",
                     f->about.provider, i, added < 0 ? grove_ofi.fi_strerror(-added) : "refused");
  }
  p->address = *address; /* now it can be found */
  p->n = address->endpoints < f->n ? (int)address->endpoints : f->n;
  *out = p;
  return GROVE_OK;
}

/* ---- all of it ---- */

static grove_status open_domain(grove_fabric *f)
{
  struct fi_av_attr about = {.type = f->info->domain_attr->av_type};
  if (about.type == FI_AV_UNSPEC) about.type = FI_AV_TABLE;
  GROVE_FABRIC_PASS(f, grove_ofi.fi_fabric(f->info->fabric_attr, &f->fabric, f));
  GROVE_FABRIC_PASS(f, fi_domain(f->fabric, f->info, &f->domain, f));
  GROVE_FABRIC_PASS(f, fi_av_open(f->domain, &about, &f->av, f));
  return GROVE_OK;
}

static int64_t count_ends(const grove_fabric *f, const grove_fabric_wish *wish)
{
  int64_t n = wish->endpoints;
  if (n > GROVE_FABRIC_MOST_ENDPOINTS) n = GROVE_FABRIC_MOST_ENDPOINTS;
  if (n > f->about.most_endpoints && f->about.most_endpoints > 0) n = f->about.most_endpoints;
  return n < 1 ? 1 : n;
}

static grove_status open_ends(grove_fabric *f, int n)
{
  GROVE_PASS_NEW(f->ends, n);
  grove_copy_text(f->address.provider, sizeof f->address.provider, f->about.provider);
  f->n = n;
  for (int i = 0; i < n; i++) {
    GROVE_PASS(open_end(f, &f->ends[i]));
    GROVE_PASS(name_end(f, i));
  }
  return GROVE_OK;
}

grove_status grove_fabric_open(const grove_fabric_wish *wish, grove_fabric **out)
{
  grove_status status = GROVE_OK;
  grove_fabric *f = NULL;
  GROVE_NEW(f, 1);
  f->regions.next = f->regions.previous = &f->regions;
  GROVE_TRY(grove_fabric_choose(wish, &f->info, &f->about));
  GROVE_TRY(open_domain(f));
  GROVE_TRY(open_ends(f, (int)count_ends(f, wish)));
  *out = f;
  return GROVE_OK;
fail:
  grove_fabric_close(&f);
  return status;
}

void grove_fabric_close(grove_fabric **fabric)
{
  grove_fabric *f = *fabric;
  if (!f) return;
  while (f->regions.next != &f->regions) {
    grove_fabric_region *r = f->regions.next;
    grove_fabric_unregister(f, &r);
  }
  for (int i = 0; f->ends && i < f->n; i++) close_end(&f->ends[i]);
  if (f->av) fi_close(&f->av->fid);
  if (f->domain) fi_close(&f->domain->fid);
  if (f->fabric) fi_close(&f->fabric->fid);
  if (f->info) grove_ofi.fi_freeinfo(f->info);
  while (f->peers) {
    grove_fabric_peer *p = f->peers;
    f->peers = p->next;
    free(p);
  }
  while (f->kept) {
    grove_fabric_kept *k = f->kept;
    f->kept = k->next;
    free(k);
  }
  free(f->listeners);
  free(f->ends);
  free(f);
  *fabric = NULL;
}

const grove_fabric_about *grove_fabric_describe(const grove_fabric *f)
{
  return &f->about;
}

int grove_fabric_endpoints(const grove_fabric *f)
{
  return f->n;
}

int64_t grove_fabric_writes(const grove_fabric *f, int endpoint)
{
  return f->ends[endpoint].writes_begun;
}

int grove_fabric_peer_endpoints(const grove_fabric_peer *peer)
{
  return peer->n;
}

#endif
