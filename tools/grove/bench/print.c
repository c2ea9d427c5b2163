/* Results for people.
 */
#include "grove/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void show_us(char room[16], double seconds)
{
  if (isnan(seconds))
    snprintf(room, 16, "?");
  else
    snprintf(room, 16, "%.2f", 1e6 * seconds);
}

static const char *show_verified(int verified)
{
  return verified ? "right" : "WRONG";
}

static void print_heading(const bench *b)
{
  const char *of =
    strcmp(b->set.pattern, "random") == 0 ? "leaves per rank" : "points along an edge";
  printf("%s, %d %s on %d %s, values of %lld bytes, %lld %s%s%s%s\n", b->set.pattern, b->size,
         b->size == 1 ? "rank" : "ranks", b->nnodes, b->nnodes == 1 ? "node" : "nodes",
         (long long)b->set.unit_bytes, (long long)b->set.size, b->set.matrix ? "rows" : of,
         b->set.by_rows ? ", partition " : "", b->set.by_rows ? b->set.partition : "",
         b->set.off_node ? ", edges between nodes only" : "");
}

/* ---- edges, by the first route ---- */

static void print_edges(const bench *b, const bench_results *r)
{
  printf("%-9s %-9s %21s %21s %8s %9s %9s %9s %9s  %s\n", "", "", "on node, all ranks",
         "off node, all ranks", "set-up", "bcast", "predicted", "reduce", "predicted", "every");
  printf("%-9s %-9s %8s %12s %8s %12s %8s %9s %9s %9s %9s  %s\n", "edges", "route", "messages",
         "bytes", "messages", "bytes", "us", "us", "us", "us", "us", "value");
  for (const bench_row *row = r->rows; row < r->rows + r->nrows; row++) {
    const bench_result *there = &row->bcast;
    char us[4][16] = {"", "", "-", "-"};
    show_us(us[0], there->seconds);
    show_us(us[1], there->predicted_seconds);
    if (b->set.reduce) {
      show_us(us[2], row->reduce.seconds);
      show_us(us[3], row->reduce.predicted_seconds);
    }
    int verified = there->verified && (!b->set.reduce || row->reduce.verified);
    printf("%-9s %-9s %8.0f %12.0f %8.0f %12.0f %8.0f %9s %9s %9s %9s  %s\n", row->edges,
           there->route, there->on_node_messages, there->on_node_bytes, there->off_node_messages,
           there->off_node_bytes, 1e6 * there->setup_seconds, us[0], us[1], us[2], us[3],
           show_verified(verified));
  }
}

/* ---- every entrant ---- */

static const bench_entrant *find(const bench_field *field, bench_role role)
{
  for (int i = 0; i < field->n; i++)
    if (field->entrants[i].role == role) return &field->entrants[i];
  return NULL;
}

static double best_baseline(const bench_field *field)
{
  double best = INFINITY;
  for (int i = 0; i < field->n; i++) {
    const bench_entrant *e = &field->entrants[i];
    if (e->role == BENCH_BASELINE && e->result.served) best = fmin(best, e->result.seconds);
  }
  return best;
}

/* If the choice is the standard route, that is one plan measured twice. */
static void name_entrant(const bench_entrant *e, int chosen, char *out, size_t room)
{
  int same = e->role == BENCH_AUTO && strcmp(e->result.route, "standard") == 0;
  snprintf(out, room, "%s %s%s%s%s", chosen ? "*" : " ", e->name, e->options ? "," : "",
           e->options ? e->options : "", same ? " (the plan of standard)" : "");
}

static void print_entrant(const bench_entrant *e, int chosen, double best)
{
  const bench_result *r = &e->result;
  char name[64], us[2][16] = {"", "-"}, interval[40], sent[2][24] = {"-", "-"};
  name_entrant(e, chosen, name, sizeof name);
  if (!r->served) {
    printf("%-32s cannot serve this\n", name);
    return;
  }
  show_us(us[0], r->seconds);
  snprintf(interval, sizeof interval, "%.2f - %.2f", 1e6 * r->low, 1e6 * r->high);
  if (e->method->report) {
    show_us(us[1], r->predicted_seconds);
    snprintf(sent[0], sizeof sent[0], "%.0f", r->off_node_messages);
    snprintf(sent[1], sizeof sent[1], "%.0f", r->off_node_bytes);
  }
  printf("%-32s %10s %22s %10s %9.0f %9s %12s %8.2f  %s\n", name, us[0], interval, us[1],
         1e6 * r->setup_seconds, sent[0], sent[1], r->seconds / best, show_verified(r->verified));
}

static void print_field(const bench_field *field)
{
  const bench_entrant *choice = find(field, BENCH_AUTO);
  double best = best_baseline(field);
  printf("\n%-32s %10s %22s %10s %9s %22s %8s  %s\n", "", "one", "95 % interval", "predicted",
         "set-up", "off node, all ranks", "/ best", "every");
  printf("%-32s %10s %22s %10s %9s %9s %12s %8s  %s\n", field->task.reduce ? "reduce" : "bcast",
         "us", "us", "us", "us", "messages", "bytes", "baseline", "value");
  for (int i = 0; i < field->n; i++) {
    const bench_entrant *e = &field->entrants[i];
    int chosen = e->role == BENCH_ROUTE && choice && strcmp(choice->result.route, e->name) == 0;
    print_entrant(e, chosen, best);
  }
}

void bench_print_tables(const bench *b, const bench_results *r)
{
  print_heading(b);
  printf("\n");
  print_edges(b, r);
  print_field(r->bcast);
  if (r->reduce) print_field(r->reduce);
  printf("\n");
  if (find(r->bcast, BENCH_AUTO)) printf("* what route=auto chose\n");
  if (bench_alone(b) && !b->set.only)
    printf("no other route than standard can help: %s\n", bench_alone(b));
  printf("predicted with the profile '%s'\n", r->rows[0].bcast.machine);
}
