/* grove aggregate --table: measured numbers of messages beside the model's predictions. */
#include "grove/aggregate/aggregate.h"

#include "grove/command.h"
#include "parts/table_file.h"

#include <math.h>

/* The model's view of an entry. */
typedef struct opinion {
  grove_part_choice chosen, best; /* with the table's number of messages; with the model's */
} opinion;

static opinion ask(const grove_machine *m, const aggregate_settings *s, const grove_part_entry *e)
{
  const grove_part_cut cut = {.where = (grove_locality)s->where,
                              .form = (grove_delay_form)s->form,
                              .bytes = e->bytes,
                              .parts = e->parts,
                              .most = e->parts,
                              .delay = s->delay};
  return (opinion){grove_loggp_price(m, &cut, e->messages), grove_loggp_best(m, &cut)};
}

static void print_json(const grove_machine *m, const aggregate_settings *s,
                       const grove_part_table *table)
{
  printf("{\"machine\": ");
  print_json_text(stdout, m->name);
  printf(", \"where\": \"%s\", \"delay\": %.17g, \"form\": \"%s\",\n \"table\": ",
         grove_locality_names[s->where], s->delay, grove_delay_form_names[s->form]);
  print_json_text(stdout, s->table);
  printf(",\n \"entries\": [");
  for (int64_t i = 0; i < table->n; i++) {
    const grove_part_entry *e = &table->entries[i];
    const opinion o = ask(m, s, e);
    printf("%s\n  {\"parts\": %lld, \"bytes\": %lld, \"transport_parts\": %lld", i > 0 ? "," : "",
           (long long)e->parts, (long long)e->bytes, (long long)e->messages);
    printf(", \"endpoints\": ");
    print_json_number(e->endpoints > 0 ? (double)e->endpoints : NAN);
    printf(", \"measured_seconds\": ");
    print_json_number(e->seconds);
    printf(", \"seconds\": ");
    print_json_number(o.chosen.seconds);
    printf(", \"best\": %lld, \"best_seconds\": ", (long long)o.best.messages);
    print_json_number(o.best.seconds);
    printf("}");
  }
  printf("]}\n");
}

/* Microseconds, or a dash. */
static void print_time(double seconds, int width)
{
  if (isnan(seconds))
    printf(" %*s", width, "-");
  else
    printf(" %*.2f", width, 1e6 * seconds);
}

/* A dash for 0. */
static void print_count(int64_t count, int width)
{
  if (count > 0)
    printf(" %*lld", width, (long long)count);
  else
    printf(" %*s", width, "-");
}

static void print_entries(const grove_machine *m, const aggregate_settings *s,
                          const grove_part_table *table)
{
  char bytes[32];
  int endpoints = grove_part_table_has_endpoints(table);
  int64_t same = 0;
  printf("%s, %s: %s, one part %.6g us late; form %s\n\n", m->name, grove_locality_names[s->where],
         s->table, 1e6 * s->delay, grove_delay_form_names[s->form]);
  printf("%8s %12s %10s%s %12s %12s %10s %12s\n", "parts", "bytes", "messages",
         endpoints ? "  endpoints" : "", "measured us", "model us", "its best", "model us");
  for (int64_t i = 0; i < table->n; i++) {
    const grove_part_entry *e = &table->entries[i];
    const opinion o = ask(m, s, e);
    same += o.best.messages == e->messages;
    printf("%8lld %12s %10lld", (long long)e->parts, show_bytes((double)e->bytes, bytes),
           (long long)e->messages);
    if (endpoints) print_count(e->endpoints, 10);
    print_time(e->seconds, 12);
    print_time(o.chosen.seconds - s->delay, 12);
    printf(" %10lld", (long long)o.best.messages);
    print_time(o.best.seconds - s->delay, 12);
    printf("\n");
  }
  printf("\nThe model is of the table's opinion in %lld of %lld entr%s.\n", (long long)same,
         (long long)table->n, table->n == 1 ? "y" : "ies");
}

int aggregate_table(const grove_machine *m, const aggregate_settings *s)
{
  grove_part_table table = {0};
  if (grove_part_table_open(s->table, &table) != GROVE_OK) {
    fprintf(stderr, "grove aggregate: %s\n", last_sentence());
    return EXIT_BAD_INPUT;
  }
  if (s->json)
    print_json(m, s, &table);
  else
    print_entries(m, s, &table);
  grove_part_table_free(&table);
  return EXIT_OK;
}
