/* grove model: the time of each way to exchange irregular data, from six numbers.
 */
#include "grove/command.h"
#include "grove/model/figure.h"

#include "model/strategies.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: grove model --machine M --messages-per-proc m --bytes-per-proc s\n"
  "                   --bytes-per-node S --bytes-node-to-node N --nodes-per-proc p\n"
  "                   --messages-node-to-node q [OPTION...]\n"
  "       grove model figure NAME|all [-o FOLDER] [--machine M] [--as-published] [--json]\n"
  "       grove model figure --list [--json]\n"
  "\n"
  "Prices the ways to exchange irregular data between nodes by the papers' closed forms,\n"
  "without a graph and without MPI: standard; 3-step (gather a node's data for another\n"
  "node, send it once, spread it there); 2-step (send to a partner, spread there); split\n"
  "(spread over every core, then send). Staged: copied to the host and back; device:\n"
  "straight from GPU to GPU.\n"
  "\n"
  "  --machine M                 auto, a name of grove machine list, or a profile's file\n"
  "  --messages-per-proc m       messages that a process, or GPU, sends off node\n"
  "  --bytes-per-proc s          bytes that it sends off node\n"
  "  --bytes-per-node S          bytes that a node injects into the network\n"
  "  --bytes-node-to-node N      bytes from one node to one other\n"
  "  --nodes-per-proc p          nodes that a process sends to\n"
  "  --messages-node-to-node q   messages between two nodes once gathered (3-step): often 1\n"
  "                              (each is the largest of any process or node)\n"
  "  --ppn n                     processes per node that hold data (the GPUs of a node, else\n"
  "                              its ranks); split sends from all ranks of the machine\n"
  "  --gpus-per-socket g         (GPUs over sockets; without GPUs ppn over sockets)\n"
  "  --duplicates F              the fraction, 0 to 1, of the data that node-aware ways need\n"
  "                              not send: their s, S and N become 1 - F of what is given\n"
  "  --protocol P                short, eager or rend for every message; otherwise each term\n"
  "                              takes the protocol of its own message size\n"
  "  --as-published              Table 6 and eq. 4.5 to the letter: no copy in standard\n"
  "                              staged, H2D for what is sent and D2H for what is received\n"
  "  --json                      for programs; times in seconds\n"
  "\n"
  "Bytes may be written as 4096, 1e6 or 512KiB. 2-step-1 is the best case of 2-step, where\n"
  "one process has all the data for a node: it is shown, but does not win. A profile without\n"
  "GPUs has no device paths, no copies and no split-dd: staged then means from host memory.\n"
  "\n"
  "Figures (grove model figure): data, and with gnuplot a picture, of what the papers draw\n"
  "from their models. grove model figure --list says which. Lines for which the machine has\n"
  "no numbers are left out. A figure without any line is refused, or, of all, skipped with a\n"
  "sentence. --json lists the files that were made, and what was skipped.\n"
  "\n"
  "Examples:\n"
  "  grove model --machine lassen --messages-per-proc 64 --bytes-per-proc 64KiB \\\n"
  "    --bytes-per-node 256KiB --bytes-node-to-node 16KiB --nodes-per-proc 16 \\\n"
  "    --messages-node-to-node 1\n"
  "  grove model figure 4.3 -o pictures\n";

typedef struct settings {
  const char *machine;
  grove_exchange x;
  int json;
} settings;

/* ---- arguments ---- */

static int complain(const char *format, const char *what, const char *value)
{
  fprintf(stderr, "grove model: ");
  fprintf(stderr, format, what, value);
  fprintf(stderr, "; see grove model --help\n");
  return EXIT_BAD_INPUT;
}

/* The numbers of an exchange: bytes or counts, of which the first six are required. */
static const struct number {
  const char *flag;
  size_t offset;
  int is_bytes;
} numbers[] = {
  {"--messages-per-proc", offsetof(grove_exchange, messages_per_proc), 0},
  {"--bytes-per-proc", offsetof(grove_exchange, bytes_per_proc), 1},
  {"--bytes-per-node", offsetof(grove_exchange, bytes_per_node), 1},
  {"--bytes-node-to-node", offsetof(grove_exchange, bytes_node_to_node), 1},
  {"--nodes-per-proc", offsetof(grove_exchange, nodes_per_proc), 0},
  {"--messages-node-to-node", offsetof(grove_exchange, messages_node_to_node), 0},
  {"--ppn", offsetof(grove_exchange, ppn), 0},
  {"--gpus-per-socket", offsetof(grove_exchange, gpus_per_socket), 0},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers, REQUIRED = 6 };

/* EXIT_OK and *found if argv[*i] is one of the numbers, correctly written. */
static int read_exchange_number(int argc, char **argv, int *i, grove_exchange *x, int *given,
                                int *found)
{
  *found = 0;
  for (int k = 0; k < NUMBERS && !*found; k++) {
    const char *value = flag_value(argc, argv, i, numbers[k].flag);
    int64_t number = 0;
    if (!value) continue;
    *found = 1;
    int bad = numbers[k].is_bytes ? read_bytes(value, &number) : read_count(value, &number);
    if (bad || (k >= REQUIRED && number == 0))
      return complain(numbers[k].is_bytes
                        ? "%s is '%s', and must be a number of bytes such as 4096 or 512KiB"
                      : k < REQUIRED ? "%s is '%s', and must be a whole number, 0 or more"
                                     : "%s is '%s', and must be a whole number, 1 or more",
                      numbers[k].flag, value);
    *(double *)(void *)((char *)x + numbers[k].offset) = (double)number;
    given[k] = 1;
  }
  return EXIT_OK;
}

static int read_other(int argc, char **argv, int *i, settings *s)
{
  const char *flag = argv[*i], *value = NULL;
  if (strcmp(flag, "--json") == 0)
    s->json = 1;
  else if (strcmp(flag, "--as-published") == 0)
    s->x.as_published = 1;
  else if ((value = flag_value(argc, argv, i, "--machine")))
    s->machine = value;
  else if ((value = flag_value(argc, argv, i, "--duplicates"))) {
    if (read_real(value, 0, 1, &s->x.duplicates))
      return complain("%s is '%s', and must be a fraction from 0 to 1", "--duplicates", value);
  } else if ((value = flag_value(argc, argv, i, "--protocol"))) {
    if (read_word(value, grove_protocol_names, GROVE_PROTOCOLS, &s->x.protocol))
      return complain("%s is '%s', and must be short, eager or rend", "--protocol", value);
  } else
    return refuse_flag("model", flag, help);
  return EXIT_OK;
}

static int read_settings(int argc, char **argv, settings *out)
{
  settings s = {.x = {.protocol = GROVE_BY_SIZE}};
  int given[NUMBERS] = {0};
  for (int i = 1; i < argc; i++) {
    int found = 0;
    int status = read_exchange_number(argc, argv, &i, &s.x, given, &found);
    if (status == EXIT_OK && !found) status = read_other(argc, argv, &i, &s);
    if (status) return status;
  }
  if (!s.machine) return complain("%s is missing: it must be %s", "--machine", MACHINE_NEEDS);
  for (int k = 0; k < REQUIRED; k++)
    if (!given[k])
      return complain("%s is missing: it must be %s", numbers[k].flag,
                      numbers[k].is_bytes ? "a number of bytes such as 4096 or 512KiB"
                                          : "a whole number, 0 or more");
  *out = s;
  return EXIT_OK;
}

/* ---- comments on the result ---- */

enum { NOTES = 5, NOTE_BYTES = 240 };
typedef struct notes {
  int n;
  char text[NOTES][NOTE_BYTES];
} notes;

static int is_left_out(const grove_strategy *list, const char *route, const char *path)
{
  for (int i = 0; i < GROVE_STRATEGIES; i++)
    if (strcmp(list[i].route, route) == 0 && strcmp(list[i].path, path) == 0)
      return list[i].left_out != NULL;
  return 0;
}

static notes gather_notes(const grove_machine *m, const grove_exchange *x,
                          const grove_strategy *list)
{
  notes out = {0};
  int replaced = 0;
  for (int i = 0; i < GROVE_STRATEGIES; i++) replaced += list[i].replaced;
  if (replaced)
    snprintf(out.text[out.n++], NOTE_BYTES,
             "devices have no %s protocol on %s: the next that they have is used there",
             grove_protocol_names[x->protocol], m->name);
  if (is_left_out(list, "standard", "device"))
    snprintf(out.text[out.n++], NOTE_BYTES,
             "%s has no times of messages between GPUs: device paths are left out", m->name);
  if (is_left_out(list, "split-dd", "staged"))
    snprintf(out.text[out.n++], NOTE_BYTES,
             "%s has no copies between host and GPU: staged is from host memory, without copies, "
             "and split-dd is left out",
             m->name);
  if (isnan(m->injection[GROVE_CPU][GROVE_REND]))
    snprintf(out.text[out.n++], NOTE_BYTES, "%s does not tell its injection limit: none is applied",
             m->name);
  if (m->standing == GROVE_ASSUMED)
    snprintf(out.text[out.n++], NOTE_BYTES,
             "the numbers of %s are assumptions, of no particular machine", m->name);
  return out;
}

/* The largest part of a strategy's time, in words, and its share. */
static const char *what_binds(const grove_strategy *s, double *share)
{
  const struct {
    const char *name;
    double seconds;
  } parts[] = {
    {"the latency of messages between nodes", s->latency},
    {s->injection ? "bytes waiting for the node's network interface"
                  : "bytes of a process on their way between nodes",
     s->off_node - s->latency},
    {"messages on the node", s->on_node},
    {"copies between host and device", s->copy},
  };
  int most = 0;
  for (int i = 1; i < 4; i++)
    if (parts[i].seconds > parts[most].seconds) most = i;
  *share = s->seconds > 0 ? parts[most].seconds / s->seconds : 0;
  return parts[most].name;
}

/* ---- output ---- */

static void print_json(const settings *s, const grove_machine *m, const grove_strategy *list,
                       const notes *said)
{
  const grove_strategy *best = &list[grove_strategies_best(list, 0)];
  printf("{\"machine\": ");
  print_json_text(stdout, m->name);
  printf(",\n \"ppn\": %.17g, \"gpus_per_socket\": %.17g, \"duplicates\": %.17g,\n", s->x.ppn,
         s->x.gpus_per_socket, s->x.duplicates);
  printf(" \"protocol\": \"%s\", \"as_published\": %s,\n",
         s->x.protocol == GROVE_BY_SIZE ? "by size" : grove_protocol_names[s->x.protocol],
         s->x.as_published ? "true" : "false");
  printf(" \"best\": {\"route\": \"%s\", \"path\": \"%s\"},\n \"notes\": [", best->route,
         best->path);
  for (int i = 0; i < said->n; i++) {
    if (i > 0) printf(", ");
    print_json_text(stdout, said->text[i]);
  }
  printf("],\n \"strategies\": [");
  for (int i = 0, n = 0; i < GROVE_STRATEGIES; i++) {
    const grove_strategy *t = &list[i];
    if (t->left_out) continue;
    printf("%s\n  {\"route\": \"%s\", \"path\": \"%s\", \"seconds\": ", n++ > 0 ? "," : "",
           t->route, t->path);
    print_json_number(t->seconds);
    printf(",\n   \"terms\": {\"off_node\": ");
    print_json_number(t->off_node);
    printf(", \"on_node\": ");
    print_json_number(t->on_node);
    printf(", \"copy\": ");
    print_json_number(t->copy);
    printf("}}");
  }
  printf("\n]}\n");
}

static int by_seconds(const void *a, const void *b)
{
  const grove_strategy *x = a, *y = b;
  return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static void print_table(const settings *s, const grove_machine *m, grove_strategy *list,
                        const notes *said)
{
  const grove_strategy best = list[grove_strategies_best(list, 0)];
  double share = 0;
  char a[32], b[32], c[32];
  printf("%s: %.0f messages and %s per process to %.0f nodes; %s per node; %s between two nodes\n",
         m->name, s->x.messages_per_proc, show_bytes(s->x.bytes_per_proc, a), s->x.nodes_per_proc,
         show_bytes(s->x.bytes_per_node, b), show_bytes(s->x.bytes_node_to_node, c));
  printf("\n%-10s %-7s %12s %12s %12s %12s\n", "", "", "total", "off node", "on node", "copy");
  printf("%-10s %-7s %12s %12s %12s %12s\n", "route", "path", "us", "us", "us", "us");
  qsort(list, GROVE_STRATEGIES, sizeof *list, by_seconds);
  for (int i = 0; i < GROVE_STRATEGIES; i++) {
    const grove_strategy *t = &list[i];
    int wins = strcmp(t->route, best.route) == 0 && strcmp(t->path, best.path) == 0;
    if (t->left_out) continue;
    printf("%-10s %-7s %12.2f %12.2f %12.2f %12.2f%s\n", t->route, t->path, 1e6 * t->seconds,
           1e6 * t->off_node, 1e6 * t->on_node, 1e6 * t->copy,
           wins           ? "  <- fastest"
           : t->best_case ? "  (best case)"
                          : "");
  }
  const char *part = what_binds(&best, &share);
  printf("\n%s %s is the fastest; %.0f %% of its time is %s.\n", best.route, best.path, 100 * share,
         part);
  for (int i = 0; i < said->n; i++) printf("Note: %s.\n", said->text[i]);
}

static int run(int argc, char **argv)
{
  settings s;
  grove_machine *m = NULL;
  grove_strategy list[GROVE_STRATEGIES];
  if (argc > 1 && strcmp(argv[1], "figure") == 0) return model_figure(argc - 1, argv + 1);
  int status = read_settings(argc, argv, &s);
  if (status == EXIT_OK) status = open_machine("model", s.machine, &m);
  if (status) return status;
  if (grove_exchange_complete(m, &s.x) != GROVE_OK ||
      grove_strategies_price(m, &s.x, list) != GROVE_OK) {
    fprintf(stderr, "grove model: %s\n", last_sentence());
    status = EXIT_BAD_INPUT;
  } else {
    notes said = gather_notes(m, &s.x, list);
    if (s.json)
      print_json(&s, m, list, &said);
    else
      print_table(&s, m, list, &said);
  }
  grove_machine_free(&m);
  return status;
}

const command command_model = {
  .name = "model",
  .summary = "the time of every way to exchange data, by closed forms; no MPI needed",
  .help = help,
  .run = run,
};
