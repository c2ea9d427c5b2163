/* Applies the rows of a profile about the links of a node. They come sorted, the general before the
 * special, so that a later row replaces an earlier one. */
#include "model/digest_row.h"

#include <math.h>
#include <string.h>

static int is_pair(const grove_row_place *p)
{
  return p->link == GROVE_TERM_LINK_ALPHA || p->link == GROVE_TERM_LINK_BETA ||
         p->link == GROVE_TERM_LINK_SHARE;
}

/* The last row about each link, for error messages. */
typedef struct link_rows {
  int row[GROVE_ENDS][GROVE_ENDS];
} link_rows;

/* The number of GPUs: by the row `gpus`, else by the highest number in a link. */
static grove_status count_devices(grove_machine *m, const grove_row_place *places, int n,
                                  grove_fault *fault)
{
  int highest = -1, any = 0;
  for (int i = 0; i < n; i++) {
    if (places[i].link < 0) continue;
    any = 1;
    const int ends[2] = {grove_ends_from(places[i].locality), grove_ends_to(places[i].locality)};
    int pair = is_pair(&places[i]);
    for (int k = 0; k < 1 + pair; k++) {
      if (m->gpus > 0 && ends[k] < GROVE_DEVICES && ends[k] >= m->gpus)
        return grove_digest_blame(fault, places[i].row, GROVE_COLUMN_LOCALITY,
                                  "there is no GPU %d: the node has %d, from 0 on", ends[k],
                                  m->gpus);
      if (ends[k] < GROVE_DEVICES && ends[k] > highest) highest = ends[k];
    }
    if (m->gpus > GROVE_DEVICES)
      return grove_digest_blame(fault, places[i].row, GROVE_COLUMN_TERM,
                                "links are known of nodes with up to %d GPUs, and this one has %d",
                                GROVE_DEVICES, m->gpus);
  }
  for (int i = 0; i < n && highest < 0 && m->gpus == 0; i++)
    if (places[i].link >= 0)
      return grove_digest_blame(fault, places[i].row, GROVE_COLUMN_LOCALITY,
                                "no row 'gpus' says how many GPUs that are");
  m->links.devices = !any ? 0 : m->gpus > 0 ? m->gpus : highest + 1;
  return GROVE_OK;
}

/* Bytes per second: as written, if they were written so. */
static double rate_of(const grove_machine *m, const grove_row_place *p)
{
  const grove_row *row = &m->rows[p->row];
  return strcmp(row->unit, "B/s") == 0 ? row->value : 1 / p->value;
}

/* Does the row mean the link from a to b? */
static int means_link(const grove_row_place *p, int a, int b)
{
  return a != b && grove_end_means(grove_ends_from(p->locality), a) &&
         grove_end_means(grove_ends_to(p->locality), b);
}

static void put_link(grove_machine *m, const grove_row_place *p, link_rows *from)
{
  grove_links *l = &m->links;
  for (int a = 0; a < GROVE_ENDS; a++)
    for (int b = 0; b < GROVE_ENDS; b++) {
      if (!means_link(p, a, b)) continue;
      if ((a >= l->devices && a != GROVE_HOST) || (b >= l->devices && b != GROVE_HOST)) continue;
      *(p->link == GROVE_TERM_LINK_ALPHA ? &l->link[a][b].alpha : &l->link[a][b].rate) =
        p->link == GROVE_TERM_LINK_ALPHA ? p->value : rate_of(m, p);
      from->row[a][b] = p->row;
    }
}

/* Adds the links that cross a named thing, which is new or has the same rate. */
static grove_status put_share(grove_machine *m, const grove_row_place *p, grove_fault *fault)
{
  grove_links *l = &m->links;
  const char *name = m->rows[p->row].range;
  int i = 0;
  while (i < l->nshared && strcmp(l->shared[i].name, name) != 0) i++;
  if (i == GROVE_SHARED_THINGS)
    return grove_digest_blame(fault, p->row, GROVE_COLUMN_RANGE, "more than %d names",
                              GROVE_SHARED_THINGS);
  grove_shared_thing *thing = &l->shared[i];
  if (i == l->nshared) {
    l->nshared++;
    thing->rate = rate_of(m, p);
    memcpy(thing->name, name, strlen(name) + 1);
  } else if (thing->rate != rate_of(m, p)) {
    return grove_digest_blame(fault, p->row, GROVE_COLUMN_VALUE,
                              "'%s' has the rate %g B/s in another row, and %g here", name,
                              thing->rate, rate_of(m, p));
  }
  for (int a = 0; a < GROVE_ENDS; a++)
    for (int b = 0; b < GROVE_ENDS; b++)
      if (means_link(p, a, b)) thing->crossed[a] |= (uint32_t)1 << b;
  return GROVE_OK;
}

static void put_end(grove_machine *m, const grove_row_place *p)
{
  grove_links *l = &m->links;
  for (int a = 0; a < GROVE_ENDS; a++) {
    if (!grove_end_means(grove_ends_from(p->locality), a)) continue;
    if (a >= l->devices && a != GROVE_HOST) continue;
    if (p->link == GROVE_TERM_LINK_EPSILON)
      l->epsilon[a] = p->value;
    else
      l->port[p->link == GROVE_TERM_PORT_OUT ? GROVE_PORT_OUT : GROVE_PORT_IN]
             [p->all_links == 0 ? GROVE_PORT_PEERS : GROVE_PORT_ALL][a] = rate_of(m, p);
  }
}

static grove_status check_link_row(const grove_row_place *p, grove_fault *fault)
{
  int host = grove_ends_from(p->locality) == GROVE_HOST;
  if ((p->link == GROVE_TERM_PORT_OUT || p->link == GROVE_TERM_PORT_IN) && host)
    return grove_digest_blame(fault, p->row, GROVE_COLUMN_LOCALITY,
                              "ports are of GPUs; what the host's links share is a link-share");
  if (p->link != GROVE_TERM_LINK_ALPHA && p->link != GROVE_TERM_LINK_EPSILON && isinf(1 / p->value))
    return grove_digest_blame(fault, p->row, GROVE_COLUMN_VALUE,
                              "the rate of a link must be finite");
  return GROVE_OK;
}

grove_status grove_digest_links(grove_machine *m, const grove_row_place *places, int n,
                                grove_fault *fault)
{
  grove_links *l = &m->links;
  link_rows from = {{{0}}};
  grove_links_clear(l);
  grove_status status = GROVE_OK;
  for (int i = 0; i < n && status == GROVE_OK; i++)
    if (places[i].link >= 0) status = check_link_row(&places[i], fault);
  if (status == GROVE_OK) status = count_devices(m, places, n, fault);
  for (int i = 0; i < n && status == GROVE_OK; i++) {
    const grove_row_place *p = &places[i];
    if (p->link < 0) continue;
    if (p->link == GROVE_TERM_LINK_ALPHA || p->link == GROVE_TERM_LINK_BETA)
      put_link(m, p, &from);
    else if (p->link == GROVE_TERM_LINK_SHARE)
      status = put_share(m, p, fault);
    else
      put_end(m, p);
  }
  for (int a = 0; a < GROVE_ENDS && status == GROVE_OK; a++)
    for (int b = 0; b < GROVE_ENDS && status == GROVE_OK; b++)
      if (isnan(l->link[a][b].alpha) != isnan(l->link[a][b].rate)) {
        char x[8], y[8];
        status =
          grove_digest_blame(fault, from.row[a][b], GROVE_COLUMN_LOCALITY,
                             "the link %s-%s has no %s", grove_end_name(a, x), grove_end_name(b, y),
                             isnan(l->link[a][b].alpha) ? "link-alpha" : "link-beta");
      }
  return status;
}
