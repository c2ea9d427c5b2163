/* The links of a node, as a page and as JSON: who reaches whom, and how fast. */
#include "grove/machine/links.h"

#include "grove/command.h"

#include <math.h>
#include <stdint.h>

/* The ends that exist, the host last. */
static int list_ends(const grove_links *l, int *ends)
{
  int n = 0;
  for (int d = 0; d < l->devices; d++) ends[n++] = d;
  ends[n++] = GROVE_HOST;
  return n;
}

static void print_grid(const grove_links *l, const char *what, double (*value)(grove_link_cost))
{
  int ends[GROVE_ENDS], n = list_ends(l, ends);
  char name[8];
  printf("  %-10s", what);
  for (int j = 0; j < n; j++) printf(" %7s", grove_end_name(ends[j], name));
  printf("\n");
  for (int i = 0; i < n; i++) {
    printf("  %10s", grove_end_name(ends[i], name));
    for (int j = 0; j < n; j++)
      if (grove_link_is_there(l, ends[i], ends[j]))
        printf(" %7.4g", value(l->link[ends[i]][ends[j]]));
      else
        printf(" %7s", i == j ? "." : "-");
    printf("\n");
  }
}

static double in_gigabytes(grove_link_cost c)
{
  return 1e-9 * c.rate;
}

static double in_microseconds(grove_link_cost c)
{
  return 1e6 * c.alpha;
}

static void print_ends(const grove_links *l)
{
  static const char *const ports[GROVE_PORT_WAYS][GROVE_PORT_KINDS] = {{"out, peers", "out, all"},
                                                                       {"in, peers", "in, all"}};
  int ends[GROVE_ENDS], n = list_ends(l, ends);
  printf("  %-10s", "epsilon us");
  for (int j = 0; j < n; j++) printf(" %7.4g", 1e6 * l->epsilon[ends[j]]);
  printf("\n");
  for (int way = 0; way < GROVE_PORT_WAYS; way++)
    for (int kind = 0; kind < GROVE_PORT_KINDS; kind++) {
      int any = 0;
      for (int d = 0; d < l->devices; d++) any |= !isnan(l->port[way][kind][d]);
      if (!any) continue;
      printf("  %-10s", ports[way][kind]);
      for (int d = 0; d < l->devices; d++)
        if (isnan(l->port[way][kind][d]))
          printf(" %7s", "-");
        else
          printf(" %7.4g", 1e-9 * l->port[way][kind][d]);
      printf("  a port's GB/s\n");
    }
}

/* "0-host 1-host": all links that cross it. */
static void print_thing(const grove_links *l, const grove_shared_thing *thing)
{
  int ends[GROVE_ENDS], n = list_ends(l, ends);
  char a[8], b[8];
  printf("  %-10s %7.4g GB/s for", thing->name, 1e-9 * thing->rate);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if ((thing->crossed[ends[i]] >> ends[j] & 1) && grove_link_is_there(l, ends[i], ends[j]))
        printf(" %s-%s", grove_end_name(ends[i], a), grove_end_name(ends[j], b));
  printf("\n");
}

void print_links(const grove_links *l)
{
  print_grid(l, "GB/s", in_gigabytes);
  print_grid(l, "alpha us", in_microseconds);
  print_ends(l);
  for (int i = 0; i < l->nshared; i++) print_thing(l, &l->shared[i]);
}

/* ---- JSON ---- */

static void print_end(const char *name, int end)
{
  if (end == GROVE_HOST)
    printf("\"%s\": \"host\"", name);
  else
    printf("\"%s\": %d", name, end);
}

static void print_number(const char *name, double value)
{
  printf(", \"%s\": ", name);
  print_json_number(value);
}

static void print_crossed(const grove_links *l, const grove_shared_thing *thing)
{
  int ends[GROVE_ENDS], n = list_ends(l, ends), first = 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      if (!(thing->crossed[ends[i]] >> ends[j] & 1)) continue;
      if (!grove_link_is_there(l, ends[i], ends[j])) continue;
      printf(first ? "{" : ", {");
      print_end("from", ends[i]);
      printf(", ");
      print_end("to", ends[j]);
      printf("}");
      first = 0;
    }
}

static void print_ports(const grove_links *l)
{
  int first = 1;
  for (int way = 0; way < GROVE_PORT_WAYS; way++)
    for (int kind = 0; kind < GROVE_PORT_KINDS; kind++)
      for (int d = 0; d < l->devices; d++) {
        if (isnan(l->port[way][kind][d])) continue;
        printf("%s\n  {\"gpu\": %d, \"way\": \"%s\", \"links\": \"%s\"", first ? "" : ",", d,
               way == GROVE_PORT_OUT ? "out" : "in", kind == GROVE_PORT_PEERS ? "peers" : "all");
        print_number("bytes_per_second", l->port[way][kind][d]);
        printf("}");
        first = 0;
      }
}

void print_links_json(const grove_links *l)
{
  int ends[GROVE_ENDS], n = l->devices > 0 ? list_ends(l, ends) : 0, first = 1;
  printf(",\n \"links\": [");
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      if (!grove_link_is_there(l, ends[i], ends[j])) continue;
      printf(first ? "\n  {" : ",\n  {");
      print_end("from", ends[i]);
      printf(", ");
      print_end("to", ends[j]);
      print_number("alpha_seconds", l->link[ends[i]][ends[j]].alpha);
      print_number("bytes_per_second", l->link[ends[i]][ends[j]].rate);
      printf("}");
      first = 0;
    }
  printf("],\n \"stops\": [");
  for (int i = 0; i < n; i++) {
    printf(i > 0 ? ", {" : "{");
    print_end("at", ends[i]);
    print_number("epsilon_seconds", l->epsilon[ends[i]]);
    printf("}");
  }
  printf("],\n \"ports\": [");
  print_ports(l);
  printf("],\n \"link_shares\": [");
  for (int i = 0; i < l->nshared; i++) {
    printf(i > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ");
    print_json_text(stdout, l->shared[i].name);
    print_number("bytes_per_second", l->shared[i].rate);
    printf(", \"links\": [");
    print_crossed(l, &l->shared[i]);
    printf("]}");
  }
  printf("]");
}
