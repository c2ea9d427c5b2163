/* Which providers libfabric has here, and which of them Grove can use. */
#include "grove/fabric/fabric.h"

#include "grove/command.h"

#include <stdlib.h>
#include <string.h>

const char *fabric_form(const fabric_row *row)
{
  if (!row->is_usable) return "not usable";
  switch (row->about.manner) {
  case GROVE_FABRIC_DATA: return "written with data";
  case GROVE_FABRIC_NOTE: return "write and note";
  default: return "two-sided";
  }
}

#ifdef GROVE_LIBFABRIC

static int out_of_memory(void)
{
  fprintf(stderr, "grove fabric: no memory for a list\n");
  return EXIT_FAILED;
}

/* Adds a provider that is not in the list yet. */
static int add_provider(fabric_row **rows, int *n, const char *provider)
{
  for (int i = 0; i < *n; i++)
    if (strcmp((*rows)[i].provider, provider) == 0) return EXIT_OK;
  fabric_row *grown = realloc(*rows, (size_t)(*n + 1) * sizeof *grown);
  if (!grown) return out_of_memory();
  *rows = grown;
  grown[*n] = (fabric_row){0};
  snprintf(grown[(*n)++].provider, sizeof grown->provider, "%s", provider);
  return EXIT_OK;
}

/* Why Grove cannot use it: the first of these that is so. */
static void find_reason(const struct fi_info *all, fabric_row *row)
{
  int datagrams = 0;
  for (const struct fi_info *at = all; at; at = at->next)
    if (strcmp(at->fabric_attr->prov_name, row->provider) == 0)
      datagrams |= at->ep_attr->type == FI_EP_RDM;
  snprintf(row->why, sizeof row->why, "%s",
           datagrams ? "its reliable datagrams ask for what Grove does not do"
                     : "it has no reliable datagrams (FI_EP_RDM)");
}

static void describe_provider(const struct fi_info *all, fabric_row *row)
{
  grove_fabric_about *list = NULL;
  int n = 0;
  if (grove_fabric_list(row->provider, &list, &n) != GROVE_OK || n == 0) {
    find_reason(all, row);
    return;
  }
  for (int i = 0; i < n; i++) {
    if (strcmp(list[i].provider, row->provider) != 0) continue;
    if (row->ndomains++ == 0) row->about = list[i];
  }
  row->is_usable = row->ndomains > 0;
  if (!row->is_usable)
    snprintf(row->why, sizeof row->why, "only as %s, which is listed too", list[0].provider);
  free(list);
}

int fabric_list(fabric_row **out, int *n)
{
  struct fi_info *all = NULL;
  int status = EXIT_OK;
  *out = NULL;
  *n = 0;
  if (grove_ofi_open() != GROVE_OK) {
    fprintf(stderr, "grove fabric: %s\n", last_sentence());
    return EXIT_BAD_INPUT;
  }
  int code = grove_ofi.fi_getinfo(GROVE_OFI_VERSION, NULL, NULL, 0, NULL, &all);
  if (code != 0) {
    fprintf(stderr, "grove fabric: libfabric finds no provider here: %s\n",
            grove_ofi.fi_strerror(-code));
    return EXIT_FAILED;
  }
  for (const struct fi_info *at = all; at && status == EXIT_OK; at = at->next)
    status = add_provider(out, n, at->fabric_attr->prov_name);
  for (int i = 0; i < *n; i++) describe_provider(all, &(*out)[i]);
  grove_ofi.fi_freeinfo(all);
  return status;
}

#else

int fabric_list(fabric_row **out, int *n)
{
  *out = NULL;
  *n = 0;
  fprintf(stderr, "grove fabric: this Grove was built without libfabric; install libfabric 1.14 or "
                  "newer with its headers, and build again\n");
  return EXIT_BAD_INPUT;
}

#endif
