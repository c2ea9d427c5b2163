/* What grove explain prints, for programs and for people. */
#include "grove/explain/explain.h"

#include "grove/command.h"
#include "grove/explain/picture.h"
#include "route/print.h"

#include <math.h>
#include <string.h>

enum { CELLS_SHOWN = 32 };

/* ---- for programs ---- */

static void print_number(FILE *file, const char *name, int64_t value, const char *end)
{
  fprintf(file, "\"%s\": %lld%s", name, (long long)value, end);
}

static void print_word(FILE *file, const char *name, const char *value, const char *end)
{
  fprintf(file, "\"%s\": ", name);
  print_json_text(file, value);
  fputs(end, file);
}

static void print_word_or_null(FILE *file, const char *name, const char *value, const char *end)
{
  if (value)
    print_word(file, name, value, end);
  else
    fprintf(file, "\"%s\": null%s", name, end);
}

static void print_json_pattern(const communication_counts *c, FILE *file)
{
  fprintf(file, " \"pattern\": {");
  print_number(file, "messages", c->messages, ", ");
  print_number(file, "off_node_messages", c->off_node_messages, ", ");
  print_number(file, "off_node_values", c->off_node_values, ", ");
  print_number(file, "off_node_values_dedup", c->off_node_values_dedup, ", ");
  print_number(file, "max_messages_per_rank", c->max_messages_per_rank, ", ");
  print_number(file, "max_off_node_messages_per_rank", c->max_off_node_messages_per_rank, ", ");
  print_number(file, "max_nodes_per_node", c->max_nodes_per_node, "},\n");
}

static void print_real(FILE *file, double value, const char *end)
{
  fprintf(file, isfinite(value) ? "%.9g" : "null", value);
  fputs(end, file);
}

static void print_json_price(const explanation *x, const grove_candidate *c, FILE *file)
{
  char lacks[GROVE_LACKS_BYTES];
  fprintf(file, "\"seconds\": ");
  print_real(file, c->seconds, ",\n   \"terms\": ");
  if (isnan(c->seconds)) {
    grove_choice_lacks(&x->choice, x->machine, lacks);
    fprintf(file, "null, ");
    print_word(file, "note", lacks, ",\n   ");
    return;
  }
  for (int t = 0; t < GROVE_TERMS; t++) {
    fprintf(file, "%s\"%s\": ", t > 0 ? ", " : "{", grove_term_names[t]);
    print_real(file, c->estimate.price.term[t], "");
  }
  fprintf(file, "},\n   ");
}

static void print_json_contention(const explanation *x, const grove_contended *c, FILE *file)
{
  fprintf(file, "\"contention\": ");
  if (!x->set.joined) {
    fprintf(file, "null,\n   ");
    return;
  }
  fprintf(file, "{\"link_bytes\": ");
  print_real(file, c->link_bytes, ", \"hops\": ");
  print_real(file, c->hops, "},\n   ");
}

static void print_json_candidate(const explanation *x, int i, FILE *file)
{
  const grove_candidate *c = &x->choice.candidates[i];
  const grove_estimate *e = &c->estimate;
  fprintf(file, "{");
  print_word(file, "route", c->route->name, ", ");
  print_json_price(x, c, file);
  print_json_contention(x, &x->route[i].contended, file);
  print_number(file, "stages", e->stages, ", ");
  print_number(file, "messages", e->messages[0] + e->messages[1], ", ");
  print_number(file, "bytes", e->bytes[0] + e->bytes[1], ", ");
  print_number(file, "on_node_messages", e->messages[0], ", ");
  print_number(file, "on_node_bytes", e->bytes[0], ", ");
  print_number(file, "off_node_messages", e->messages[1], ", ");
  print_number(file, "off_node_bytes", e->bytes[1], "}");
}

static void print_json_candidates(const explanation *x, const char *name, FILE *file)
{
  fprintf(file, " \"%s\": [", name);
  for (int i = 0; i < x->choice.n; i++) {
    if (i > 0) fprintf(file, ",\n  ");
    print_json_candidate(x, i, file);
  }
  fprintf(file, "],\n");
}

/* The name of a candidate that has a price; NULL: none has. */
static const char *name_of(const grove_choice *c, int i)
{
  return i < 0 || isnan(c->candidates[i].seconds) ? NULL : c->candidates[i].route->name;
}

static void print_json_choice(const explanation *x, FILE *file)
{
  const grove_choice *c = &x->choice;
  fputs(" ", file);
  print_word_or_null(file, "choice", name_of(c, c->chosen), ", ");
  print_word_or_null(file, "runner_up", name_of(c, c->runner_up), ", ");
  fprintf(file, "\"gain\": ");
  print_real(file, grove_choice_gain(c), ", \"gain_needed\": ");
  print_real(file, c->needed, ", ");
  fprintf(file, "\"measured\": %s,\n ", grove_machine_is_measured(x->machine) ? "true" : "false");
}

void explain_print_json(const explanation *x, FILE *file)
{
  fprintf(file, "{");
  print_word(file, "matrix", x->set.file, ", ");
  print_number(file, "rows", x->rows, ", ");
  print_number(file, "entries", x->entries, ", ");
  print_number(file, "values", x->counts.values, ",\n ");
  print_word(file, "machine", x->machine->name, ", ");
  print_number(file, "nodes", x->set.nodes, ", ");
  print_number(file, "ppn", x->set.ppn, ", ");
  print_number(file, "ranks", x->topo.nranks, ", ");
  print_word(file, "partition", x->set.partition, ", ");
  print_number(file, "unit_bytes", x->set.unit_bytes, ", ");
  print_word(file, "memory", x->set.memory, ", ");
  print_word_or_null(file, "topology", x->set.joined, ",\n");
  print_json_pattern(&x->counts, file);
  print_json_candidates(x, "candidates", file);
  print_json_candidates(x, "routes", file); /* their former name */
  print_json_choice(x, file);
  int shared = grove_machine_has_shared(x->machine);
  print_word(file, "on_node", shared ? "shared memory" : "messages", "}\n");
}

/* ---- for people: the pattern ---- */

static void print_row(FILE *file, const char *name, int64_t number, const char *words)
{
  fprintf(file, "  %-26s %12lld  %s\n", name, (long long)number, words);
}

static void print_pattern(const explanation *x, FILE *file)
{
  const communication_counts *c = &x->counts;
  char words[160];
  int64_t ranks = x->topo.nranks, saved = c->off_node_values - c->off_node_values_dedup;
  fprintf(file, "What the ranks must tell each other\n");
  snprintf(words, sizeof words, "all that one rank needs of another is one message; at most %lld",
           (long long)(ranks * (ranks - 1)));
  print_row(file, "messages", c->messages, words);
  print_row(file, "  between nodes", c->off_node_messages, "the others stay inside their node");
  print_row(file, "values", c->values, "vector entries that a rank needs and does not own");
  print_row(file, "  between nodes", c->off_node_values, "counted for each rank that needs them");
  snprintf(words, sizeof words, "counted once for each node that needs them");
  if (c->off_node_values > 0)
    snprintf(words, sizeof words, "counted once for each node that needs them: %.0f %% less",
             100.0 * (double)saved / (double)c->off_node_values);
  print_row(file, "  once per node", c->off_node_values_dedup, words);
  print_row(file, "most messages of a rank", c->max_messages_per_rank, "that one rank sends");
  print_row(file, "  between nodes", c->max_off_node_messages_per_rank,
            "that one rank sends, perhaps another one");
  snprintf(words, sizeof words, "that one node sends to, of %lld", (long long)x->set.nodes - 1);
  print_row(file, "most other nodes", c->max_nodes_per_node, words);
}

/* ---- the routes ---- */

/* How contention is counted, or why it is not. */
static void print_contention(const explanation *x, FILE *file)
{
  const grove_contended *c = &x->route[x->choice.chosen].contended;
  if (x->counts.off_node_messages == 0) return;
  if (!x->set.joined) {
    fprintf(file, "Contention is not counted: it needs to be told how the nodes are joined "
                  "(--topology).\n");
    return;
  }
  fprintf(file, "%s: the busiest link carries %.0f bytes; a byte travels %.3g links on average.\n",
          x->set.topology.cube ? "Estimated on a cube of routers" : "On the torus", c->link_bytes,
          c->hops);
  if (isnan(x->machine->delta))
    fprintf(file, "What that costs is not counted: the profile has no delta.\n");
}

static void print_routes(const explanation *x, FILE *file)
{
  fputs("\n", file);
  grove_choice_print_table(&x->choice, x->machine, x->set.unit_bytes, file);
  if (!grove_machine_has_shared(x->machine))
    fprintf(file,
            "Inside a node messages are priced as MPI's: the profile has no shared memory.\n");
  if (strcmp(x->set.memory, "device") == 0) grove_choice_print_lifts(x->machine, file);
  print_contention(x, file);
  fputs("\n", file);
  grove_choice_print_reason(&x->choice, x->machine, x->alone, file);
  fputs("\n", file);
  grove_choice_print_inputs(x->machine, file);
}

/* ---- the picture ---- */

static void print_picture(const explanation *x, picture_of of, FILE *file)
{
  picture p = {0};
  if (picture_create(&x->route[x->choice.chosen].manifest, &x->topo, x->set.unit_bytes, of,
                     CELLS_SHOWN, &p) != GROVE_OK)
    return;
  picture_print(&p, file);
  picture_free(&p);
}

static void print_pictures(const explanation *x, FILE *file)
{
  if (x->counts.messages > 0) {
    fprintf(file, "\nWho sends to whom by the route %s: senders down, receivers across\n",
            x->choice.candidates[x->choice.chosen].route->name);
    print_picture(x, PICTURE_OF_RANKS, file);
    if (x->counts.off_node_messages > 0 && x->set.ppn > 1) print_picture(x, PICTURE_OF_NODES, file);
  }
  for (int i = 0; i < x->npictures; i++) fprintf(file, "%s%s\n", i > 0 ? "" : "\n", x->picture[i]);
}

void explain_print_text(const explanation *x, FILE *file)
{
  int metis = strcmp(x->set.partition, "metis") == 0;
  fprintf(file, "%s: %lld rows, %lld entries\n", x->set.file, (long long)x->rows,
          (long long)x->entries);
  fprintf(file, "%lld %s with %lld %s%s; rows in %s\n\n", (long long)x->set.nodes,
          x->set.nodes == 1 ? "node" : "nodes", (long long)x->set.ppn,
          x->set.ppn == 1 ? "rank" : "ranks", x->set.nodes == 1 ? "" : " each",
          metis ? "parts made by METIS" : "contiguous blocks");
  print_pattern(x, file);
  print_routes(x, file);
  print_pictures(x, file);
}
