/* Which provider, and what it can do. */
#ifdef GROVE_LIBFABRIC

#include "transport/ofi_parts.h"

#include <stdlib.h>
#include <string.h>

/* Those that reach other hosts, the best first. The last one is always there. */
static const char *const known[] = {"cxi", "efa", "verbs;ofi_rxm", "psm3", "opx", "tcp;ofi_rxm"};
static const char within[] = "shm";

enum { KNOWN = (int)(sizeof known / sizeof *known) };

const char *grove_fabric_manner_name(grove_fabric_manner manner)
{
  static const char *const names[] = {"auto", "data", "note", "message"};
  return names[manner];
}

grove_status grove_fabric_error(const char *provider, long long code, const char *call,
                                const char *file, int line)
{
  grove_status status = code == -FI_ENOMEM ? GROVE_ERR_MEMORY : GROVE_ERR_SYSTEM;
  return grove_error(status, file, line, "libfabric's %s: %.*s: %s", provider,
                     (int)strcspn(call, "("), call, grove_ofi.fi_strerror((int)-code));
}

/* ---- what is asked for ---- */

static struct fi_info *make_hints(const char *provider, uint64_t caps)
{
  struct fi_info *hints = grove_ofi.fi_dupinfo(NULL);
  if (!hints) return NULL;
  hints->caps = caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  if (caps & FI_TAGGED) hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  if (*provider) hints->fabric_attr->prov_name = strdup(provider);
  return hints;
}

static grove_status get_info(const char *provider, uint64_t caps, struct fi_info **out)
{
  GROVE_PASS(grove_ofi_open());
  struct fi_info *hints = make_hints(provider, caps);
  GROVE_PASS_CHECK(hints, GROVE_ERR_MEMORY, "no memory for what libfabric is asked");
  *out = NULL;
  int code = grove_ofi.fi_getinfo(GROVE_OFI_VERSION, NULL, NULL, 0, hints, out);
  grove_ofi.fi_freeinfo(hints);
  GROVE_PASS_CHECK(code == 0, code == -FI_ENOMEM ? GROVE_ERR_MEMORY : GROVE_ERR_UNSUPPORTED,
                   "libfabric has no '%s' with reliable datagrams that it can open here: %s",
                   *provider ? provider : "provider", grove_ofi.fi_strerror(-code));
  return GROVE_OK;
}

/* ---- what it can do ---- */

static const uint64_t writes = FI_RMA | FI_WRITE | FI_REMOTE_WRITE;

/* The number of a run is of 31 bits, and a key fits into a word. */
static grove_fabric_manner find_manner(const struct fi_info *info)
{
  if ((info->caps & writes) != writes || info->domain_attr->mr_key_size > sizeof(uint64_t))
    return GROVE_FABRIC_MESSAGE;
  return info->domain_attr->cq_data_size >= sizeof(uint32_t) ? GROVE_FABRIC_DATA
                                                             : GROVE_FABRIC_NOTE;
}

static int rank_of(const char *provider)
{
  for (int i = 0; i < KNOWN; i++)
    if (strcmp(provider, known[i]) == 0) return i;
  return strcmp(provider, within) == 0 ? KNOWN : -1;
}

static void tell_about(const struct fi_info *info, grove_fabric_about *out)
{
  int mode = info->domain_attr->mr_mode;
  *out = (grove_fabric_about){
    .manner = find_manner(info),
    .largest =
      info->ep_attr->max_msg_size < INT64_MAX ? (int64_t)info->ep_attr->max_msg_size : INT64_MAX,
    .data_bytes = (int64_t)info->domain_attr->cq_data_size,
    .most_endpoints = (int64_t)info->domain_attr->ep_cnt,
    .registers_sources = (mode & FI_MR_LOCAL) != 0,
    .by_address = (mode & FI_MR_VIRT_ADDR) != 0,
    .gives_keys = (mode & FI_MR_PROV_KEY) != 0,
    .per_endpoint = (mode & FI_MR_ENDPOINT) != 0,
    .takes_receives = (info->mode & FI_RX_CQ_DATA) != 0,
    .polled = info->domain_attr->data_progress != FI_PROGRESS_AUTO,
    .has_tags = (info->caps & FI_TAGGED) && (info->tx_attr->msg_order & FI_ORDER_SAS),
    .rank = rank_of(info->fabric_attr->prov_name),
  };
  grove_copy_text(out->provider, sizeof out->provider, info->fabric_attr->prov_name);
  grove_copy_text(out->domain, sizeof out->domain, info->domain_attr->name);
  grove_copy_text(out->network, sizeof out->network, info->fabric_attr->name);
  out->within_host = strcmp(out->provider, within) == 0;
}

/* With as much of what Grove uses as there is. */
static grove_status get_most(const char *provider, struct fi_info **out)
{
  const uint64_t wanted[] = {FI_MSG | FI_TAGGED | writes, FI_MSG | writes, FI_MSG | FI_TAGGED,
                             FI_MSG};
  grove_status status = GROVE_ERR_UNSUPPORTED;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == GROVE_ERR_UNSUPPORTED; i++)
    status = get_info(provider, wanted[i], out);
  return status;
}

grove_status grove_fabric_list(const char *provider, grove_fabric_about **out, int *n)
{
  grove_status status = GROVE_OK;
  struct fi_info *found = NULL;
  grove_fabric_about *list = NULL;
  int count = 0;
  GROVE_TRY(get_most(provider, &found));
  for (const struct fi_info *at = found; at; at = at->next) {
    GROVE_GROW(list, count, 1);
    tell_about(at, &list[count++]);
  }
  grove_ofi.fi_freeinfo(found);
  *out = list;
  *n = count;
  return GROVE_OK;
fail:
  if (found) grove_ofi.fi_freeinfo(found);
  free(list);
  return status;
}

/* ---- the choice ---- */

/* Of one provider's interfaces: IPv4 before IPv6, whose first addresses reach no further than the
 * link; otherwise libfabric's order, where loopback is the last. Providers in layers do not look at
 * the name of a domain that they are asked for, so it is compared here. */
static const struct fi_info *best_interface(const struct fi_info *found, const char *domain)
{
  const struct fi_info *best = NULL;
  for (const struct fi_info *at = found; at; at = at->next) {
    if (*domain && strcmp(at->domain_attr->name, domain) != 0) continue;
    if (!best || (best->addr_format == FI_SOCKADDR_IN6 && at->addr_format != FI_SOCKADDR_IN6))
      best = at;
  }
  return best;
}

static grove_status choose_from(const char *provider, const char *domain, struct fi_info **out)
{
  struct fi_info *found = NULL;
  GROVE_PASS(get_most(provider, &found));
  const struct fi_info *best = best_interface(found, domain);
  *out = best ? grove_ofi.fi_dupinfo(best) : NULL;
  grove_ofi.fi_freeinfo(found);
  GROVE_PASS_CHECK(best, GROVE_ERR_UNSUPPORTED, "libfabric's %s has no domain '%s' here", provider,
                   domain);
  GROVE_PASS_CHECK(*out, GROVE_ERR_MEMORY, "no memory for what libfabric found");
  return GROVE_OK;
}

/* Of several, the last one's failure counts: it should always be there. */
static grove_status choose_known(int within_host, struct fi_info **out)
{
  grove_sentence before;
  grove_error_keep(&before);
  grove_status status = within_host ? choose_from(within, "", out) : GROVE_ERR_UNSUPPORTED;
  for (int i = 0; i < KNOWN && status == GROVE_ERR_UNSUPPORTED; i++)
    status = choose_from(known[i], "", out);
  if (status == GROVE_OK) grove_error_restore(&before);
  return status;
}

static grove_status check_manner(const grove_fabric_wish *wish, grove_fabric_about *about)
{
  if (wish->manner == GROVE_FABRIC_AUTO) return GROVE_OK;
  GROVE_PASS_CHECK(wish->manner >= about->manner, GROVE_ERR_UNSUPPORTED,
                   "libfabric's %s cannot write in the manner '%s', only by '%s'", about->provider,
                   grove_fabric_manner_name(wish->manner), grove_fabric_manner_name(about->manner));
  about->manner = wish->manner;
  return GROVE_OK;
}

grove_status grove_fabric_choose(const grove_fabric_wish *wish, struct fi_info **out,
                                 grove_fabric_about *about)
{
  char provider[GROVE_FABRIC_NAME_BYTES];
  GROVE_PASS(grove_ofi_open());
  if (!wish->provider || !*wish->provider || strcmp(wish->provider, "auto") == 0) {
    GROVE_PASS(choose_known(wish->within_host, out));
  } else {
    size_t length = strcspn(wish->provider, "@");
    const char *domain = wish->provider + length + (wish->provider[length] == '@');
    GROVE_PASS_CHECK(length < sizeof provider, GROVE_ERR_UNSUPPORTED,
                     "libfabric has no provider of so long a name: '%.80s'", wish->provider);
    memcpy(provider, wish->provider, length);
    provider[length] = '\0';
    GROVE_PASS(choose_from(provider, domain, out));
  }
  tell_about(*out, about);
  grove_status status = check_manner(wish, about);
  if (status != GROVE_OK) grove_ofi.fi_freeinfo(*out);
  return status;
}

#endif
