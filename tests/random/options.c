/* The options that programs set, and their values. `N` and `MAP` stand for numbers and lists that
 * depend on the ranks. */
#include "program.h"

#include <string.h>

enum { MOST_VALUES = 8 };

/* Values that come more often stand there more often. */
static const struct {
  const char *name;
  const char *value[MOST_VALUES];
} option[] = {
  {"node_map", {"MAP", "MAP", "MAP", ""}},
  {"node_map", {"MAP", "MAP", "MAP", ""}},
  {"node_size", {"N", "N", "1", "0"}},
  {"route", {"auto", "standard", "2-step", "3-step", "split"}},
  {"route", {"2-step", "3-step", "split"}},
  {"route", {"auto", "2-step", "3-step", "split"}},
  {"message_cap", {"auto", "0", "64", "1000"}},
  {"effort", {"estimate", "measure"}},
  {"transport_on_node", {"shm", "mpi"}},
#ifdef TEST_FABRIC
  {"transport_off_node", {"p2p", "ofi", "neighbor", "rma"}},
#else
  {"transport_off_node", {"p2p", "p2p", "neighbor", "rma"}},
#endif
  {"p2p", {"persistent", "reposted"}},
  {"chunk", {"64", "256", "4096", "1073741824"}},
  {"deterministic", {"off", "on"}},
  {"check", {"off", "on"}},
  {"aggregator", {"auto", "none", "ploggp", "timer", "adaptive"}},
  {"socket_size", {"0", "1", "2"}},
  {"spin", {"auto", "0", "1", "200"}},
  {"progress", {"calls", "thread"}},
  {"progress", {"thread", "calls"}},
  {"timeout", {"0", "500"}},
  {"machine", {"auto", "lassen", "summit", "tcp-10g"}},
};

int options_count(void)
{
  return (int)(sizeof option / sizeof *option);
}

int option_values(int i)
{
  int n = 0;
  while (n < MOST_VALUES && option[i].value[n] != NULL) n++;
  return n;
}

const char *option_name(int i)
{
  return option[i].name;
}

const char *option_text(int i, int value)
{
  return option[i].value[value];
}

int option_needs_threads(int i, int value)
{
  return strcmp(option[i].value[value], "thread") == 0;
}

/* Few nodes or many, not all of the same size. */
static void draw_map(const program *p, const step *st, char text[OPTION_TEXT])
{
  uint64_t labels = 1 + mix(st->seed) % (uint64_t)p->drawn_for;
  size_t used = 0;
  for (int i = 0; i < p->nranks; i++)
    used += (size_t)snprintf(text + used, OPTION_TEXT - used, "%s%d", i > 0 ? "," : "",
                             (int)(mix2(st->seed, (uint64_t)i) % labels));
}

const char *option_value(const program *p, const step *st, char text[OPTION_TEXT])
{
  const char *value = option[st->way].value[st->detail];
  if (strcmp(value, "MAP") == 0)
    draw_map(p, st, text);
  else if (strcmp(value, "N") == 0)
    snprintf(text, OPTION_TEXT, "%d", 1 + (int)(mix(st->seed) % (uint64_t)p->drawn_for));
  else
    snprintf(text, OPTION_TEXT, "%s", value);
  return text;
}

const char *machine_name(const step *st)
{
  static const char *const name[] = {"lassen", "tcp-10g", "summit", NULL};
  return name[st->seed % 4];
}
