/* Results for programs. The manual page lists the fields that others rely on.
 */
#include "grove/bench/bench.h"
#include "grove/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_text(const char *name, const char *text)
{
  printf("\"%s\": ", name);
  print_json_text(stdout, text);
}

/* A number that may be unknown: JSON has no NaN. */
static void print_seconds(const char *name, double seconds)
{
  if (isnan(seconds))
    printf(", \"%s\": null", name);
  else
    printf(", \"%s\": %.9g", name, seconds);
}

static void print_times(const bench_result *r)
{
  print_seconds("median_seconds", r->seconds);
  print_seconds("low_seconds", r->low);
  print_seconds("high_seconds", r->high);
  print_seconds("setup_seconds", r->setup_seconds);
}

static void print_counts(const bench_result *r)
{
  printf(", \"on_node_messages\": %.0f, \"on_node_bytes\": %.0f", r->on_node_messages,
         r->on_node_bytes);
  printf(", \"off_node_messages\": %.0f, \"off_node_bytes\": %.0f", r->off_node_messages,
         r->off_node_bytes);
}

/* The prediction by term, in seconds. */
static void print_price(const bench_result *r)
{
  printf(", \"price\": ");
  if (isnan(r->predicted_seconds)) {
    printf("null");
    return;
  }
  for (int t = 0; t < GROVE_TERMS; t++)
    printf("%s\"%s\": %.9g", t > 0 ? ", " : "{", grove_term_names[t], r->term[t]);
  printf("}");
}

/* `back`: the result of the same entrant, or NULL. */
static void print_route(const char *edges, const char *options, const bench_result *r,
                        const bench_result *back)
{
  printf("{");
  print_text("route", r->route);
  if (options) {
    printf(", ");
    print_text("options", options);
  }
  printf(", ");
  print_text("edges", edges);
  printf(", ");
  print_text("transport", r->transport);
  print_times(r);
  print_seconds("predicted_seconds", r->predicted_seconds);
  print_price(r);
  if (back) {
    print_seconds("reduce_median_seconds", back->seconds);
    print_seconds("reduce_predicted_seconds", back->predicted_seconds);
  }
  print_counts(r);
  printf(", \"verified\": %s}", r->verified && (!back || back->verified) ? "true" : "false");
}

static void print_baseline(const bench_entrant *e)
{
  printf("{");
  print_text("name", e->name);
  print_times(&e->result);
  printf(", \"verified\": %s}", e->result.verified ? "true" : "false");
}

/* The available entrants of a role, as a list. */
static void print_role(const char *name, bench_role role, const char *edges,
                       const bench_field *field, const bench_field *back)
{
  int n = 0;
  printf(",\n \"%s\": [", name);
  for (int i = 0; i < field->n; i++) {
    const bench_entrant *e = &field->entrants[i];
    if (e->role != role || !e->result.served) continue;
    printf("%s", n++ ? ",\n  " : "");
    if (role == BENCH_BASELINE)
      print_baseline(e);
    else
      print_route(edges, e->options, &e->result, back ? &back->entrants[i].result : NULL);
  }
  printf("]");
}

static void print_auto(const char *edges, const bench_field *field)
{
  for (int i = 0; i < field->n; i++)
    if (field->entrants[i].role == BENCH_AUTO) {
      printf(",\n \"auto\": ");
      print_route(edges, NULL, &field->entrants[i].result, NULL);
      printf(",\n ");
      print_text("why", field->entrants[i].result.why);
      return;
    }
  printf(",\n \"auto\": null");
}

/* The mean size of the standard route's messages between nodes; null without that route. */
static void print_mean_message(const bench_field *field)
{
  const bench_entrant *e = &field->entrants[0];
  const bench_result *r = &e->result;
  int known =
    e->role == BENCH_ROUTE && strcmp(e->name, "standard") == 0 && r->off_node_messages > 0;
  print_seconds("mean_message_bytes", known ? r->off_node_bytes / r->off_node_messages : NAN);
}

static void print_field(const char *edges, const bench_field *field, const bench_field *back)
{
  print_text("operation", field->task.reduce ? "reduce" : "bcast");
  print_mean_message(field);
  print_role("routes", BENCH_ROUTE, edges, field, back);
  print_auto(edges, field);
  print_role("variants", BENCH_VARIANT, edges, field, NULL);
  print_role("baselines", BENCH_BASELINE, edges, field, NULL);
}

static void print_flows(const char *name, const bench_traffic *t)
{
  printf(", \"%s\": [", name);
  for (int i = 0; i < t->count; i++) {
    const bench_flow *f = &t->flows[i];
    printf("%s[%d,%d,%lld,%lld]", i > 0 ? "," : "", f->from, f->to, (long long)f->messages,
           (long long)f->bytes);
  }
  printf("]");
}

static void print_traffic(const bench *b, const bench_traffic *ranks)
{
  bench_traffic nodes;
  bench_traffic_of_nodes(ranks, &nodes);
  printf(" \"traffic\": {\"node_of_rank\": [");
  for (int r = 0; r < b->size; r++) printf("%s%d", r > 0 ? "," : "", ranks->node[r]);
  printf("]");
  print_flows("by_rank", ranks);
  print_flows("by_node", &nodes);
  printf("},\n ");
  bench_traffic_free(&nodes);
}

static void print_setting(const bench *b, const bench_results *r)
{
  printf("{");
  print_text("pattern", b->set.pattern);
  printf(", \"ranks\": %d, \"nodes\": %d, \"unit_bytes\": %lld, \"size\": %lld,\n", b->size,
         b->nnodes, (long long)b->set.unit_bytes, (long long)b->set.size);
  if (b->set.by_rows) {
    printf(" ");
    print_text("partition", b->set.partition);
    printf(",\n");
  }
  printf(" \"rounds\": %lld, \"deduplicated_off_node_bytes\": %.0f,\n ", (long long)b->set.rounds,
         r->deduplicated_bytes);
  print_text("machine", r->rows[0].bcast.machine);
  printf(",\n");
  bench_print_json_place(b, r->rows[0].bcast.machine);
  print_traffic(b, &r->traffic);
}

void bench_print_json(const bench *b, const bench_results *r)
{
  const char *edges = r->rows[0].edges;
  print_setting(b, r);
  print_field(edges, r->bcast, r->reduce);
  printf(",\n \"parts\": [");
  for (int i = 1; i < r->nrows; i++) {
    const bench_row *row = &r->rows[i];
    printf("%s", i > 1 ? ",\n  " : "");
    print_route(row->edges, NULL, &row->bcast, b->set.reduce ? &row->reduce : NULL);
  }
  printf("]");
  if (r->reduce) {
    printf(",\n \"reduce\": {");
    print_field(edges, r->reduce, NULL);
    printf("}");
  }
  printf("}\n");
}
