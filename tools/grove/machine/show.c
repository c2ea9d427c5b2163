/* grove machine show: one machine, for people. Times in microseconds, rates in GB/s. After each
 * number stands that of its source; the sources are listed at the end. */
#include "grove/machine/links.h"
#include "grove/machine/machine.h"
#include "grove/machine/own.h"

#include "model/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: grove machine show NAME|FILE|auto [--json]\n"
  "\n"
  "Everything known about a machine: the shape of a node; what messages cost, by where\n"
  "the data is, how far it goes and how MPI sends it; what a node can inject; queues,\n"
  "contention, copies, shared memory, LogGP; the links inside a node; what is missing; and\n"
  "where each number comes from.\n"
  "\n"
  "  NAME      a machine that comes with Grove: grove machine list\n"
  "  FILE      a profile; docs/machines.md has the format\n"
  "  auto      the machine at hand: your profile of it, else a published one of its kind\n"
  "  --json    for programs: seconds, bytes and seconds per byte; null where nothing is known\n"
  "\n"
  "Examples:\n"
  "  grove machine show bluewaters\n"
  "  grove machine show ./ours.machine --json\n";

/* ---- sources ---- */

/* The sources used so far, in the order of their first use. */
typedef struct notes {
  const grove_machine *m;
  int n;
  const char **text;
} notes;

static int note(notes *s, const char *text)
{
  int i = 0;
  while (i < s->n && strcmp(s->text[i], text) != 0) i++;
  if (i == s->n) s->text[s->n++] = text;
  return i + 1;
}

static int stands_for(const char *word, const char *wanted, int *general)
{
  *general = strcmp(word, "any") == 0;
  return *general || strcmp(word, wanted) == 0;
}

/* The row that gave a number. As in the digest, memory counts before locality, and locality before
 * range. A size matches the beginning of its range. */
static const grove_row *row_of(const grove_machine *m, const char *term, const char *memory,
                               const char *locality, const char *range)
{
  const grove_row *best = NULL;
  int least = 8;
  for (int i = 0; i < m->nrows; i++) {
    const grove_row *row = &m->rows[i];
    int a = 0, b = 0, c = 0;
    if (!row->known || strcmp(row->term, term) != 0) continue;
    if (!stands_for(row->memory, memory, &a) || !stands_for(row->locality, locality, &b)) continue;
    int same_size = strtoll(row->range, NULL, 10) == strtoll(range, NULL, 10);
    if (strstr(row->range, "..") ? !same_size : !stands_for(row->range, range, &c)) continue;
    if (4 * a + 2 * b + c >= least) continue;
    least = 4 * a + 2 * b + c;
    best = row;
  }
  return best;
}

/* "[3]" or "[3, 4]": the sources of these terms; the list ends with NULL. */
static void print_notes(notes *s, const char *const *terms, const char *memory,
                        const char *locality, const char *range)
{
  int seen[8] = {0}, n = 0;
  for (; *terms; terms++) {
    const grove_row *row = row_of(s->m, *terms, memory, locality, range);
    if (!row) continue;
    seen[n] = note(s, row->source);
    int i = 0;
    while (seen[i] != seen[n]) i++;
    if (i < n) continue;
    printf("%s%d", n > 0 ? ", " : "  [", seen[n]);
    n++;
  }
  printf(n > 0 ? "]\n" : "\n");
}

#define TERMS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- numbers ---- */

static void print_us(double seconds)
{
  if (isnan(seconds))
    printf(" %9s", "-");
  else
    printf(" %9.3f", 1e6 * seconds);
}

static void print_rate(double seconds_per_byte)
{
  if (isnan(seconds_per_byte))
    printf(" %9s", "-");
  else if (seconds_per_byte == 0)
    printf(" %9s", "no limit");
  else
    printf(" %9.3f", 1e-9 / seconds_per_byte);
}

/* ---- parts of the page ---- */

static void print_shape(notes *s)
{
  static const char *const terms[] = {"sockets", "ranks", "cores", "gpus"};
  const double values[] = {s->m->sockets, s->m->ranks, s->m->cores, s->m->gpus};
  printf("a node\n");
  for (int i = 0; i < 4; i++) {
    if (!row_of(s->m, terms[i], "-", "node", "-")) continue;
    printf("  %-8s %6g", terms[i], values[i]);
    print_notes(s, TERMS(terms[i]), "-", "node", "-");
  }
}

static void print_message(notes *s, int memory, int l, int p)
{
  const char *const where = grove_locality_names[l];
  const grove_postal cost = s->m->postal[memory][l][p];
  int64_t from = s->m->from[memory][l][p];
  printf("  %-10s %-10s %-6s", grove_memory_names[memory], where, grove_protocol_names[p]);
  if (from == INT64_MAX)
    printf(" %10s", "never");
  else
    printf(" %10lld", (long long)from);
  print_us(cost.alpha);
  print_rate(cost.beta);
  print_notes(s, from > 0 ? TERMS("alpha", "beta", "from") : TERMS("alpha", "beta"),
              grove_memory_names[memory], where, grove_protocol_names[p]);
}

static void print_messages(notes *s)
{
  int any = 0;
  for (int i = 0; i < GROVE_MEMORIES; i++)
    for (int l = 0; l < GROVE_LOCALITIES; l++)
      for (int p = 0; p < GROVE_PROTOCOLS; p++) {
        const grove_postal cost = s->m->postal[i][l][p];
        if (isnan(cost.alpha) && isnan(cost.beta)) continue;
        if (!any++)
          printf("\nmessages\n  %-10s %-10s %-6s %10s %9s %9s\n", "memory", "locality", "by",
                 "from B", "alpha us", "GB/s");
        print_message(s, i, l, p);
      }
}

static void print_injection(notes *s)
{
  int any = 0;
  for (int i = 0; i < GROVE_MEMORIES; i++) {
    const double *rate = s->m->injection[i];
    int same = rate[0] == rate[1] && rate[1] == rate[2];
    for (int p = 0; p < (same ? 1 : GROVE_PROTOCOLS); p++) {
      if (isnan(rate[p])) continue;
      if (!any++) printf("\nwhat a node can inject%34s\n", "GB/s");
      printf("  %-10s %-10s %-6s %20s", grove_memory_names[i], "off-node",
             same ? "any" : grove_protocol_names[p], "");
      print_rate(rate[p]);
      print_notes(s, TERMS("injection"), grove_memory_names[i], "off-node",
                  grove_protocol_names[p]);
    }
  }
}

static void print_penalties(notes *s)
{
  if (!isnan(s->m->gamma)) {
    printf("\na step along a queue of receives (gamma) %13.2f ns", 1e9 * s->m->gamma);
    print_notes(s, TERMS("gamma"), "cpu", "any", "-");
  }
  if (!isnan(s->m->delta)) {
    printf("%sa byte of a contended link (delta) %19.4f ns", isnan(s->m->gamma) ? "\n" : "",
           1e9 * s->m->delta);
    print_notes(s, TERMS("delta"), "cpu", "off-node", "-");
  }
}

static void print_copies(notes *s)
{
  char range[16];
  int any = 0;
  for (int way = 0; way < GROVE_DIRECTIONS; way++)
    for (int i = 0; i < s->m->ncopies[way]; i++) {
      const grove_copy_rate *copy = &s->m->copies[way][i];
      if (!any++)
        printf("\ncopies between host and device\n  %-21s %-6s %10s %9s %9s\n", "direction", "",
               "processes", "alpha us", "GB/s");
      printf("  %-21s %-6s %10d", grove_direction_names[way], "", copy->processes);
      print_us(copy->cost.alpha);
      print_rate(copy->cost.beta);
      snprintf(range, sizeof range, "%d", copy->processes);
      print_notes(s, TERMS("copy-alpha", "copy-beta"), "gpu", grove_direction_names[way], range);
    }
}

static void print_launches(notes *s)
{
  char range[32];
  for (int i = 0; i < s->m->nlaunches; i++) {
    if (i == 0) printf("\nwhat a kernel adds to a copy\n  %-39s %9s\n", "processes", "us");
    printf("  %-39d", s->m->launches[i].processes);
    print_us(s->m->launches[i].cost.alpha);
    snprintf(range, sizeof range, "%d", s->m->launches[i].processes);
    print_notes(s, TERMS("launch"), "gpu", "any", range);
  }
  for (int i = 0; i < s->m->ndevice_pack; i++) {
    if (i == 0) printf("\npacking values of 8 bytes on a device\n");
    printf("  from %-15lld B %14s %9s", (long long)s->m->device_pack[i].from_bytes, "GB/s", "");
    print_rate(s->m->device_pack[i].beta);
    snprintf(range, sizeof range, "%lld..", (long long)s->m->device_pack[i].from_bytes);
    print_notes(s, TERMS("pack"), "gpu", "any", range);
  }
}

static void print_packing(notes *s)
{
  char range[32];
  for (int i = 0; i < s->m->npack; i++) {
    if (i == 0) printf("\npacking values of 8 bytes\n");
    printf("  from %-15lld B %14s %9s", (long long)s->m->pack[i].from_bytes, "GB/s", "");
    print_rate(s->m->pack[i].beta);
    snprintf(range, sizeof range, "%lld..", (long long)s->m->pack[i].from_bytes);
    print_notes(s, TERMS("pack"), "cpu", "any", range);
  }
}

static void print_crowd(notes *s)
{
  int any = 0;
  for (int i = 0; i < 2; i++) {
    const grove_crowd *c = &s->m->crowd[i];
    const char *where = grove_locality_names[GROVE_ON_NODE + i];
    if (isnan(c->turn) && isnan(c->message) && isnan(c->byte)) continue;
    if (!any++)
      printf("\nan exchange of ranks that outnumber cores\n  %-21s %9s %9s %9s\n", "", "turn us",
             "message", "GB/s");
    printf("  %-21s", where);
    print_us(c->turn);
    print_us(c->message);
    print_rate(c->byte);
    print_notes(s, TERMS("crowd-turn", "crowd-message", "crowd-byte"), "cpu", where, "-");
  }
}

static void print_factors(notes *s)
{
  int any = 0;
  for (int i = 0; i < GROVE_FACTORS; i++) {
    if (!row_of(s->m, "factor", "cpu", "any", grove_term_names[i])) continue;
    if (!any++) printf("\nby exchanges of all ranks, prices multiply\n");
    printf("  %-39s %9.3f", grove_term_names[i], s->m->factor[i]);
    print_notes(s, TERMS("factor"), "cpu", "any", grove_term_names[i]);
  }
}

static void print_shared(notes *s)
{
  char range[16];
  const double *flag = s->m->flag_seconds;
  if (isnan(flag[0]) && isnan(flag[1]) && s->m->nshared == 0) return;
  printf("\nshared memory\n");
  for (int l = GROVE_ON_SOCKET; l <= GROVE_ON_NODE; l++) {
    if (isnan(flag[l])) continue;
    printf("  flag, %-21s %10s", grove_locality_names[l], "us");
    print_us(flag[l]);
    print_notes(s, TERMS("flag"), "cpu", grove_locality_names[l], "-");
  }
  for (int i = 0; i < s->m->nshared; i++) {
    printf("  copies by %3d ranks at once %10s %9s", s->m->shared[i].processes, "GB/s", "");
    print_rate(s->m->shared[i].cost.beta);
    snprintf(range, sizeof range, "%d", s->m->shared[i].processes);
    print_notes(s, TERMS("shared"), "cpu", "on-node", range);
  }
}

static void print_loggp(notes *s)
{
  char range[32];
  int any = 0;
  for (int l = 0; l < GROVE_LOGGP_LISTS; l++)
    for (int i = 0; i < s->m->nloggp[l]; i++) {
      const grove_loggp *p = &s->m->loggp[l][i];
      int fabric = l == GROVE_OVER_FABRIC;
      if (!any++)
        printf("\nLogGP\n  %-10s %10s %9s %9s %9s %9s %9s\n", "locality", "from B", "L us",
               "o_s us", "o_r us", "g us", "G GB/s");
      printf("  %-10s %10lld", fabric ? "libfabric" : grove_locality_names[l],
             (long long)p->from_bytes);
      print_us(p->L);
      print_us(p->o_s);
      print_us(p->o_r);
      print_us(p->g);
      print_rate(p->G);
      snprintf(range, sizeof range, "%lld..", (long long)p->from_bytes);
      if (fabric)
        print_notes(s, TERMS("fabric-L", "fabric-g", "fabric-G"), "cpu", "off-node", range);
      else
        print_notes(s, TERMS("L", "o_s", "o_r", "g", "G"), "cpu", grove_locality_names[l], range);
    }
}

/* Names the sources of all link rows together. */
static void print_node_links(notes *s)
{
  int seen[64] = {0}, n = 0;
  if (s->m->links.devices == 0) return;
  for (int i = 0; i < s->m->nrows && n < 64; i++) {
    const grove_row *row = &s->m->rows[i];
    if (strncmp(row->term, "link-", 5) != 0 && strncmp(row->term, "port-", 5) != 0) continue;
    int number = note(s, row->source), k = 0;
    while (k < n && seen[k] != number) k++;
    if (k == n) seen[n++] = number;
  }
  printf("\nlinks inside a node, from the left to the top");
  for (int i = 0; i < n; i++) printf("%s%d", i > 0 ? ", " : "  [", seen[i]);
  printf("]\n");
  print_links(&s->m->links);
}

static void print_rest(notes *s)
{
  char missing[500];
  int any = 0;
  for (int i = 0; i < s->m->nrows; i++) {
    const grove_row *row = &s->m->rows[i];
    if (row->known) continue;
    if (!any++) printf("\nrows that no formula knows\n");
    printf("  %s %s %s %s %g %s  [%d]\n", row->term, row->memory, row->locality, row->range,
           row->value, row->unit, note(s, row->source));
  }
  grove_machine_missing(s->m, missing, sizeof missing);
  printf("\nmissing: %s\n", *missing ? missing : "nothing");
  if (s->n > 0) printf("\nsources\n");
  for (int i = 0; i < s->n; i++) printf("  [%d] %s\n", i + 1, s->text[i]);
}

int print_machine_page(const grove_machine *m)
{
  notes s = {.m = m, .text = malloc(((size_t)m->nrows + 1) * sizeof *s.text)};
  if (!s.text) return EXIT_FAILED;
  printf("%s (%s)\n", m->name, grove_standing_names[m->standing]);
  if (*m->about) printf("%s\n", m->about);
  printf("\n");
  print_shape(&s);
  print_messages(&s);
  print_injection(&s);
  print_penalties(&s);
  print_copies(&s);
  print_launches(&s);
  print_shared(&s);
  print_packing(&s);
  print_crowd(&s);
  print_factors(&s);
  print_loggp(&s);
  print_node_links(&s);
  print_rest(&s);
  free(s.text);
  return EXIT_OK;
}

static int show(int argc, char **argv)
{
  const char *name = NULL;
  char path[OWN_PATH_BYTES];
  grove_machine *m = NULL;
  int json = 0, status = read_machine_arguments(argc, argv, "machine show", 1, &name, &json);
  if (status == EXIT_OK) name = own_resolve("machine show", name, path);
  if (status == EXIT_OK) status = open_machine("machine show", name, &m);
  if (status != EXIT_OK) return status;
  status = json ? print_machine_json(m, name) : print_machine_page(m);
  grove_machine_free(&m);
  return status;
}

const command machine_show = {
  .name = "show",
  .summary = "all that is known about one machine, and where each number comes from",
  .help = help,
  .run = show,
};
