/* grove aggregate: into how many messages a partitioned transfer should be cut.
 */
#include "grove/aggregate/aggregate.h"

#include "grove/aggregate/arrivals.h"
#include "grove/command.h"

#include <math.h>
#include <string.h>

static const char help[] =
  "usage: grove aggregate --machine M --bytes B --parts N --delay S [OPTION...]\n"
  "       grove aggregate --machine M --table FILE --delay S [OPTION...]\n"
  "       grove aggregate --arrivals TRACE [-o FILE.svg] [--channel N] [--machine M] [--json]\n"
  "       mpirun -n RANKS grove aggregate --try -o FILE [--parts N,...] [--bytes B,...]\n"
  "                                              [--delay S] [--json]\n"
  "\n"
  "N threads fill a buffer of B bytes, one part each, and one of them is late by S seconds.\n"
  "If it is sent as one message, everything waits for the late thread. If it is sent as N\n"
  "messages, each part costs one. This finds the best number of messages up to N by LogGP, and\n"
  "prices it and the powers of two. Parts stay whole: the late one is in the largest message.\n"
  "\n"
  "  --machine M     auto, a name of grove machine list, or a profile's file, with LogGP rows,\n"
  "                  or at least alpha and beta: then L and g are alpha, and G is beta\n"
  "  --bytes B       bytes of the whole buffer: 4194304, 512KiB, 4MiB\n"
  "  --parts N       the parts that the program marks ready, 1 or more\n"
  "  --delay S       how late the last one is: 0.004, 4ms, 100us\n"
  "  --where W       off-node (the default), on-node or on-socket: how far it goes\n"
  "  --form F        hidden (the default): the early parts' bytes travel during the delay,\n"
  "                    D + o_s + (n-1) max(g, o_s, o_r) + (B/n - 1) G + L + o_r\n"
  "                  drained: the last part also waits until they have left,\n"
  "                    max{(n-1) [(B/n - 1) G + max(g, o_s)], D} + o_s + (B/n - 1) G + L + n o_r\n"
  "                  covered: as hidden, but only for bytes that fit into the delay,\n"
  "                    max{(n-1) (B/n - 1) G, D} + o_s + (n-1) max(g, o_s, o_r) + (B/n - 1) G\n"
  "                      + L + o_r; channels are cut by this one (GROVE_AGGREGATOR=ploggp)\n"
  "  --table FILE    instead: what the model says of each entry of a table of the option\n"
  "                  part_table, beside what was measured; times are those after the delay\n"
  "  --json          for programs; times in seconds, with the delay\n"
  "\n"
  "Parameters are those of a message of B/n bytes, which is what travels; those shown are of\n"
  "the best choice.\n"
  "\n"
  "--arrivals reads a file of the option trace. For each channel that sends, it tells how far\n"
  "its parts are apart. The least useful delta (aggregator=timer) is the time from the first\n"
  "part of a round to the last but one. -o draws the parts of one channel, row N of the table\n"
  "(1): until when each is computed, and how long its communication would take, by the machine\n"
  "or, without one, by the quickest part of the trace.\n"
  "\n"
  "--try tries numbers of messages over a channel from rank 0 to the last rank, for every\n"
  "number of parts (4,16,64) and of bytes in all (4KiB,32KiB,256KiB,2MiB,16MiB). One thread\n"
  "marks the parts, the last of them S late (0). It writes the table of the option part_table:\n"
  "the smallest of all numbers within 2 % of the fastest. Nothing else should be running.\n"
  "With GROVE_TRANSPORT_PARTS=ofi it also tries 1, 2, 4, 8, 16 endpoints of libfabric, as many\n"
  "as are open (GROVE_ENDPOINTS, and what the provider has), and the table tells them.\n"
  "--tune is the same; the mpirun of Open MPI complains about that word, and goes on.\n"
  "\n"
  "Examples:\n"
  "  grove aggregate --machine niagara --bytes 4MiB --parts 32 --delay 4ms\n"
  "  grove aggregate --machine tukey --bytes 64MiB --parts 128 --delay 0.001 --form drained\n"
  "  grove aggregate --machine lassen --where on-node --bytes 1MiB --parts 12 --delay 50us\n"
  "  grove aggregate --machine niagara --table parts.table --delay 0\n"
  "  GROVE_TRACE=trace.json mpirun -n 2 ./program; grove aggregate --arrivals trace.json -o a.svg\n"
  "  mpirun -n 2 grove aggregate --try --parts 8,32 --bytes 64KiB,1MiB -o parts.table\n"
  "  GROVE_TRANSPORT_PARTS=ofi GROVE_ENDPOINTS=8 mpirun -n 2 grove aggregate --try -o ofi.table\n";

typedef aggregate_settings settings;

static int complain(const char *format, const char *what, const char *value)
{
  fprintf(stderr, "grove aggregate: ");
  fprintf(stderr, format, what, value);
  fprintf(stderr, "; see grove aggregate --help\n");
  return EXIT_BAD_INPUT;
}

#define BYTES_NEEDS "a number of bytes such as 4096 or 512KiB"
#define DELAY_NEEDS "a time such as 0.004 or 4ms"

static int read_settings(int argc, char **argv, settings *out)
{
  settings s = {.bytes = -1, .parts = -1, .delay = -1, .where = GROVE_OFF_NODE};
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL, *needs = NULL;
    if (strcmp(flag, "--json") == 0)
      s.json = 1;
    else if ((value = flag_value(argc, argv, &i, "--machine")))
      s.machine = value;
    else if ((value = flag_value(argc, argv, &i, "--bytes")))
      needs = read_bytes(value, &s.bytes) ? BYTES_NEEDS : NULL;
    else if ((value = flag_value(argc, argv, &i, "--parts")))
      needs =
        read_number(value, 1, INT32_MAX, &s.parts) ? "a whole number from 1 to 2147483647" : NULL;
    else if ((value = flag_value(argc, argv, &i, "--delay")))
      needs = read_seconds(value, &s.delay) ? DELAY_NEEDS : NULL;
    else if ((value = flag_value(argc, argv, &i, "--table")))
      s.table = value;
    else if ((value = flag_value(argc, argv, &i, "--where")))
      needs = read_word(value, grove_locality_names, GROVE_LOCALITIES, &s.where)
                ? "off-node, on-node or on-socket"
                : NULL;
    else if ((value = flag_value(argc, argv, &i, "--form")))
      needs = read_word(value, grove_delay_form_names, GROVE_DELAY_FORMS, &s.form)
                ? "hidden, drained or covered"
                : NULL;
    else
      return refuse_flag("aggregate", flag, help);
    if (needs) {
      fprintf(stderr, "grove aggregate: %.*s is '%s', and must be %s; see grove aggregate --help\n",
              (int)strcspn(flag, "="), flag, value, needs);
      return EXIT_BAD_INPUT;
    }
  }
  if (!s.machine) return complain("%s is missing: it must be %s", "--machine", MACHINE_NEEDS);
  if (s.table && (s.bytes >= 0 || s.parts >= 0))
    return complain("a table has bytes and parts: %s%s", "leave out --bytes and --parts", "");
  if (!s.table && s.bytes < 0)
    return complain("%s is missing: it must be %s", "--bytes", BYTES_NEEDS);
  if (!s.table && s.parts < 0)
    return complain("%s is missing: it must be %s", "--parts", "a whole number, 1 or more");
  if (s.delay < 0) return complain("%s is missing: it must be %s", "--delay", DELAY_NEEDS);
  *out = s;
  return EXIT_OK;
}

int aggregate_is_derived(const grove_machine *m, const aggregate_settings *s, double bytes)
{
  const grove_loggp *row = grove_machine_loggp(m, (grove_locality)s->where, (int64_t)bytes);
  return !row || isnan(row->G);
}

static void print_json(const settings *s, const grove_machine *m, const grove_part_choice *choices,
                       int n, int best)
{
  const grove_loggp *p = &choices[best].row;
  const struct {
    const char *name;
    double value;
  } parameters[] = {{"L", p->L}, {"o_s", p->o_s}, {"o_r", p->o_r}, {"g", p->g}, {"G", p->G}};
  printf("{\"machine\": ");
  print_json_text(stdout, m->name);
  printf(", \"where\": \"%s\",\n \"bytes\": %lld, \"parts\": %lld, \"delay\": %.17g, ",
         grove_locality_names[s->where], (long long)s->bytes, (long long)s->parts, s->delay);
  printf("\"form\": \"%s\",\n", grove_delay_form_names[s->form]);
  printf(" \"best\": %lld,\n \"choices\": [", (long long)choices[best].messages);
  for (int i = 0; i < n; i++)
    printf("%s\n  {\"transport_parts\": %lld, \"bytes\": %.17g, \"seconds\": %.17g}",
           i > 0 ? "," : "", (long long)choices[i].messages, choices[i].bytes, choices[i].seconds);
  printf("],\n \"parameters\": {\"from_bytes\": %lld, \"derived\": %s", (long long)p->from_bytes,
         aggregate_is_derived(m, s, choices[best].bytes) ? "true" : "false");
  for (int i = 0; i < 5; i++) {
    printf(", \"%s\": ", parameters[i].name);
    print_json_number(parameters[i].value);
  }
  printf("}}\n");
}

/* Parameters that a profile lacks count as 0 (model/loggp.h). With `derived`, says instead where L,
 * g and G come from. */
static void print_parameters(const grove_loggp *p, const char *derived)
{
  static const char *const names[] = {"L", "o_s", "o_r", "g"};
  const double value[] = {p->L, p->o_s, p->o_r, p->g};
  int untold = 0;
  for (int i = 0; i < 4; i++) {
    untold += isnan(value[i]);
    if (!isnan(value[i])) printf("%s%s %.4g", i > untold ? ", " : " ", names[i], 1e6 * value[i]);
  }
  printf("%s G %.4g ns a byte.\n", untold < 4 ? " us;" : "", 1e9 * p->G);
  if (derived)
    printf("The profile has no LogGP %s: L and g are its alpha, G is its beta.\n", derived);
  if (derived || untold == 0) return;
  printf("The profile does not tell");
  for (int i = 0, n = 0; i < 4; i++)
    if (isnan(value[i])) printf("%s%s", n++ > 0 ? ", " : " ", names[i]);
  printf(": counted as 0.\n");
}

static void print_table(const settings *s, const grove_machine *m, const grove_part_choice *choices,
                        int n, int best)
{
  const grove_loggp *p = &choices[best].row;
  char whole[32], part[32];
  printf("%s, %s: %s in %lld parts, one of them %.6g us late; form %s\n\n", m->name,
         grove_locality_names[s->where], show_bytes((double)s->bytes, whole), (long long)s->parts,
         1e6 * s->delay, grove_delay_form_names[s->form]);
  printf("%10s %14s %14s %14s\n", "messages", "bytes each", "us", "after the delay");
  for (int i = 0; i < n; i++)
    printf("%10lld %14s %14.2f %14.2f%s\n", (long long)choices[i].messages,
           show_bytes(floor(choices[i].bytes), part), 1e6 * choices[i].seconds,
           1e6 * (choices[i].seconds - s->delay), i == best ? "  <- best" : "");
  printf("\nSend %lld message%s.", (long long)choices[best].messages,
         choices[best].messages == 1 ? "" : "s");
  int derived = aggregate_is_derived(m, s, choices[best].bytes);
  print_parameters(p, derived ? grove_locality_names[s->where] : NULL);
}

static int has_flag(int argc, char **argv, const char *name)
{
  size_t n = strlen(name);
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], name, n) == 0 && (argv[i][n] == '\0' || argv[i][n] == '=')) return 1;
  return 0;
}

static int is_trying(int argc, char **argv)
{
  return has_flag(argc, argv, "--tune") || has_flag(argc, argv, "--try");
}

static int run(int argc, char **argv)
{
  if (is_trying(argc, argv)) return aggregate_try(argc, argv);
  if (has_flag(argc, argv, "--arrivals")) return aggregate_arrivals(argc, argv);
  settings s;
  grove_machine *m = NULL;
  grove_part_choice choices[GROVE_PART_CHOICES];
  int n = 0, best = 0, status = read_settings(argc, argv, &s);
  if (status == EXIT_OK) status = open_machine("aggregate", s.machine, &m);
  if (status) return status;
  const grove_part_cut cut = {.where = (grove_locality)s.where,
                              .form = (grove_delay_form)s.form,
                              .bytes = s.bytes,
                              .parts = s.parts,
                              .most = s.parts,
                              .delay = s.delay};
  if (s.table) {
    status = aggregate_table(m, &s);
  } else if (grove_loggp_choose(m, &cut, choices, &n, &best) != GROVE_OK) {
    fprintf(stderr, "grove aggregate: %s\n", last_sentence());
    status = EXIT_BAD_INPUT;
  } else if (s.json) {
    print_json(&s, m, choices, n, best);
  } else {
    print_table(&s, m, choices, n, best);
  }
  grove_machine_free(&m);
  return status;
}

const command command_aggregate = {
  .name = "aggregate",
  .summary = "into how many messages to cut a buffer that threads fill; --try needs MPI",
  .help = help,
  .run = run,
  .is_parallel = is_trying,
};
