/* Registered memory. Keys are the provider's choice, or are counted. Where a region belongs to an
 * endpoint, there is a registration for each of them, and so a key for each.
 */
#ifdef GROVE_LIBFABRIC

#include "transport/ofi_parts.h"

#include <stdlib.h>

static int64_t registered; /* atomic */

int64_t grove_fabric_regions(void)
{
  return __atomic_load_n(&registered, __ATOMIC_RELAXED);
}

grove_status grove_fabric_register_at(grove_fabric *f, grove_fabric_end *end, void *memory,
                                      size_t bytes, uint64_t access, struct fid_mr **out)
{
  struct fid_mr *mr = NULL;
  int per_endpoint = end && f->about.per_endpoint;
  GROVE_FABRIC_PASS(f, fi_mr_reg(f->domain, memory, bytes, access, 0, f->next_key++, 0, &mr, NULL));
  int code = per_endpoint ? fi_mr_bind(mr, &end->ep->fid, 0) : 0;
  if (code == 0 && per_endpoint) code = fi_mr_enable(mr);
  if (code != 0) fi_close(&mr->fid);
  GROVE_FABRIC_PASS(f, code);
  __atomic_fetch_add(&registered, 1, __ATOMIC_RELAXED);
  *out = mr;
  return GROVE_OK;
}

void grove_fabric_unregister_at(struct fid_mr **mr)
{
  if (!*mr) return;
  fi_close(&(*mr)->fid);
  *mr = NULL;
  __atomic_fetch_sub(&registered, 1, __ATOMIC_RELAXED);
}

static void drop_region(grove_fabric_region *r)
{
  for (int i = 0; i < r->n; i++) grove_fabric_unregister_at(&r->mr[i]);
  free(r);
}

static grove_status register_all(grove_fabric *f, grove_fabric_region *r, void *memory,
                                 int64_t bytes, int is_target)
{
  int n = f->about.per_endpoint ? f->n : 1;
  for (int i = 0; i < n; i++) {
    GROVE_PASS(grove_fabric_register_at(f, &f->ends[i], memory, (size_t)bytes,
                                        is_target ? FI_REMOTE_WRITE : FI_WRITE, &r->mr[i]));
    r->n++;
  }
  return GROVE_OK;
}

grove_status grove_fabric_register(grove_fabric *f, void *memory, int64_t bytes, int is_target,
                                   grove_fabric_region **out)
{
  grove_fabric_region *r = NULL;
  *out = NULL;
  if (bytes == 0 || f->about.manner == GROVE_FABRIC_MESSAGE) return GROVE_OK;
  if (!is_target && !f->about.registers_sources) return GROVE_OK;
  GROVE_PASS_NEW(r, 1);
  r->base = f->about.by_address ? (uint64_t)(uintptr_t)memory : 0;
  grove_status status = register_all(f, r, memory, bytes, is_target);
  if (status != GROVE_OK) {
    drop_region(r);
    return status;
  }
  r->next = &f->regions;
  r->previous = f->regions.previous;
  r->previous->next = r->next->previous = r;
  *out = r;
  return GROVE_OK;
}

void grove_fabric_unregister(grove_fabric *f, grove_fabric_region **region)
{
  grove_fabric_region *r = *region;
  (void)f;
  *region = NULL;
  if (!r) return;
  r->previous->next = r->next;
  r->next->previous = r->previous;
  drop_region(r);
}

void grove_fabric_tell_region(const grove_fabric_region *region, grove_fabric_target *out)
{
  *out = (grove_fabric_target){0};
  if (!region) return;
  out->base = region->base;
  out->nkeys = region->n;
  for (int i = 0; i < region->n; i++) out->keys[i] = fi_mr_key(region->mr[i]);
}

#endif
