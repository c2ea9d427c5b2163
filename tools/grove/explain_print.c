#include "grove/explain.h"

#include "grove/command.h"
#include "grove/picture.h"

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

static void print_json_price(const explanation *x, const explained_route *r, FILE *file)
{
  fprintf(file, "\"seconds\": ");
  print_real(file, r->price.seconds, ",\n   \"terms\": ");
  if (isnan(r->price.seconds)) {
    fprintf(file, "null, ");
    print_word(file, "note", x->lacks, ",\n   ");
  } else {
    for (int t = 0; t < GROVE_TERMS; t++) {
      fprintf(file, "%s\"%s\": ", t > 0 ? ", " : "{", grove_term_names[t]);
      print_real(file, r->price.term[t], "");
    }
    fprintf(file, "},\n   ");
  }
  fprintf(file, "\"contention\": ");
  if (x->set.joined) {
    fprintf(file, "{\"link_bytes\": ");
    print_real(file, r->contended.link_bytes, ", \"hops\": ");
    print_real(file, r->contended.hops, "},\n   ");
  } else {
    fprintf(file, "null,\n   ");
  }
}

static void print_json_route(const explanation *x, const explained_route *r, FILE *file)
{
  fprintf(file, "{");
  print_word(file, "route", r->about->name, ", ");
  if (!r->about->built) {
    fprintf(file, "\"built\": false, \"note\": \"not built yet\"}");
    return;
  }
  fprintf(file, "\"built\": true, ");
  print_json_price(x, r, file);
  print_number(file, "stages", r->manifest.nstages, ", ");
  print_number(file, "messages", r->messages, ", ");
  print_number(file, "bytes", r->units * x->set.unit_bytes, ", ");
  print_number(file, "on_node_messages", r->messages - r->off_node_messages, ", ");
  print_number(file, "on_node_bytes", (r->units - r->off_node_units) * x->set.unit_bytes, ", ");
  print_number(file, "off_node_messages", r->off_node_messages, ", ");
  print_number(file, "off_node_bytes", r->off_node_units * x->set.unit_bytes, "}");
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
  print_word_or_null(file, "topology", x->set.joined, ",\n");
  print_json_pattern(&x->counts, file);
  fprintf(file, " \"routes\": [");
  for (int i = 0; i < x->nroutes; i++) {
    if (i > 0) fprintf(file, ",\n  ");
    print_json_route(x, &x->route[i], file);
  }
  fprintf(file, "],\n ");
  print_word_or_null(file, "choice", x->choice < 0 ? NULL : x->route[x->choice].about->name, ", ");
  print_word(file, "on_node", x->shared_memory ? "shared memory" : "messages", "}\n");
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
  snprintf(words, sizeof words, "a message is all that one rank needs of another; %lld could be",
           (long long)(ranks * (ranks - 1)));
  print_row(file, "messages", c->messages, words);
  print_row(file, "  between nodes", c->off_node_messages, "the others stay inside their node");
  print_row(file, "values", c->values, "vector entries that a rank needs and does not own");
  print_row(file, "  between nodes", c->off_node_values, "counted for each rank that needs them");
  words[0] = '\0';
  if (c->off_node_values > 0)
    snprintf(words, sizeof words, "counted once a node: %.0f %% need not cross again",
             100.0 * (double)saved / (double)c->off_node_values);
  print_row(file, "  once a node", c->off_node_values_dedup, words);
  print_row(file, "most messages of a rank", c->max_messages_per_rank, "that it sends");
  print_row(file, "  between nodes", c->max_off_node_messages_per_rank, "perhaps of another rank");
  snprintf(words, sizeof words, "that one node sends to, of %lld", (long long)x->set.nodes - 1);
  print_row(file, "most other nodes", c->max_nodes_per_node, words);
}

/* ---- the routes ---- */

static void print_head(const explanation *x, FILE *file, const char *name)
{
  fprintf(file, "  %-26s", name);
  for (int i = 0; i < x->nroutes; i++)
    if (x->route[i].about->built) fprintf(file, " %12s", x->route[i].about->name);
  fprintf(file, "\n");
}

/* A line of the table: a number of each route that is built. */
static void print_line(const explanation *x, FILE *file, const char *name,
                       double (*number)(const explanation *x, const explained_route *r, int which),
                       int which)
{
  fprintf(file, "  %-26s", name);
  for (int i = 0; i < x->nroutes; i++) {
    if (!x->route[i].about->built) continue;
    double value = number(x, &x->route[i], which);
    if (isnan(value))
      fprintf(file, " %12s", "-");
    else
      fprintf(file, " %12.10g", value);
  }
  fprintf(file, "\n");
}

enum { MESSAGES, BYTES, OFF_MESSAGES, OFF_BYTES };

static double count_of(const explanation *x, const explained_route *r, int which)
{
  int64_t unit = x->set.unit_bytes;
  const int64_t count[] = {[MESSAGES] = r->messages,
                           [BYTES] = r->units * unit,
                           [OFF_MESSAGES] = r->off_node_messages,
                           [OFF_BYTES] = r->off_node_units * unit};
  return (double)count[which];
}

/* Microseconds, rounded to a thousandth; GROVE_TERMS: the sum. */
static double price_of(const explanation *x, const explained_route *r, int which)
{
  (void)x;
  return round(1e9 * (which < GROVE_TERMS ? r->price.term[which] : r->price.seconds)) / 1e3;
}

/* How contention is counted, or why not. */
static void print_contention(const explanation *x, FILE *file)
{
  const grove_contended *c = &x->route[x->shown].contended;
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
  fprintf(file, "\nWhat an exchange of %lld-byte values costs on %s\n",
          (long long)x->set.unit_bytes, x->machine->name);
  print_head(x, file, "route");
  print_line(x, file, "messages", count_of, MESSAGES);
  print_line(x, file, "  between nodes", count_of, OFF_MESSAGES);
  print_line(x, file, "bytes", count_of, BYTES);
  print_line(x, file, "  between nodes", count_of, OFF_BYTES);
  print_line(x, file, "microseconds", price_of, GROVE_TERMS);
  for (int t = 0; t < GROVE_TERMS && x->choice >= 0; t++) {
    char name[40];
    snprintf(name, sizeof name, "  %s", grove_term_names[t]);
    for (char *c = name; *c; c++) *c = (char)(*c == '_' ? '-' : *c);
    print_line(x, file, name, price_of, t);
  }
  for (int i = 0; i < x->nroutes; i++)
    if (!x->route[i].about->built)
      fprintf(file, "  %-8s not built yet: %s\n", x->route[i].about->name,
              x->route[i].about->description);
  if (!x->shared_memory)
    fprintf(file,
            "Inside a node messages are priced as MPI's: the profile has no shared memory.\n");
  print_contention(x, file);
}

/* What binds, in words. */
static const char *const meaning[GROVE_TERMS] = {
  [GROVE_TERM_LATENCY] = "the number of messages between nodes: fewer of them would help most",
  [GROVE_TERM_BANDWIDTH] =
    "the bytes of the busiest rank: fewer, or better spread, would help most",
  [GROVE_TERM_INJECTION] = "the bytes that the ranks of a node push through one interface",
  [GROVE_TERM_QUEUE] = "the search for receives: a rank has too many messages at once",
  [GROVE_TERM_CONTENTION] = "a link that many messages share",
  [GROVE_TERM_ON_NODE] = "the number of messages inside nodes",
  [GROVE_TERM_COPY] = "the bytes copied inside nodes",
  [GROVE_TERM_CORES] = "the work of the ranks, which have too few cores for it",
};

static void print_choice(const explanation *x, FILE *file)
{
  if (x->choice < 0) {
    fprintf(file, "\nNo price, and so no choice: %s.\n", x->lacks);
    return;
  }
  const explained_route *r = &x->route[x->choice];
  int most = 0, built = 0;
  for (int t = 1; t < GROVE_TERMS; t++)
    if (r->price.term[t] > r->price.term[most]) most = t;
  for (int i = 0; i < x->nroutes; i++) built += x->route[i].about->built;
  fprintf(file, "\nThe choice: %s (%s), %s.\n", r->about->name, r->about->description,
          built > 1 ? "the cheapest" : "the only one that is built");
  if (r->price.seconds > 0)
    fprintf(file, "What binds, with %.0f %% of its price: %s.\n",
            100 * r->price.term[most] / r->price.seconds, meaning[most]);
  else
    fprintf(file, "There is nothing to send.\n");
}

/* ---- the picture ---- */

static void print_picture(const explanation *x, picture_of of, FILE *file)
{
  picture p = {0};
  if (picture_create(&x->route[x->shown].manifest, &x->topo, x->set.unit_bytes, of, CELLS_SHOWN,
                     &p) != GROVE_OK)
    return;
  picture_print(&p, file);
  picture_free(&p);
}

static void print_pictures(const explanation *x, FILE *file)
{
  if (x->counts.messages > 0) {
    fprintf(file, "\nWho sends to whom: senders down, receivers across\n");
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
  fprintf(file, "%lld nodes with %lld ranks each; rows in %s\n\n", (long long)x->set.nodes,
          (long long)x->set.ppn, metis ? "parts made by METIS" : "contiguous blocks");
  print_pattern(x, file);
  print_routes(x, file);
  print_choice(x, file);
  print_pictures(x, file);
}
