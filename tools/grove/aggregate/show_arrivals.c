/* grove aggregate --arrivals: when parts become ready, as a table and as a picture. */
#include "grove/aggregate/arrivals.h"

#include "grove/command.h"
#include "grove/plot.h"
#include "model/loggp.h"

#include <math.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

typedef struct settings {
  const char *trace, *machine, *output;
  int64_t channel; /* to draw, from 1 */
  int where, json;
} settings;

static int complain(const char *format, const char *what)
{
  fprintf(stderr, "grove aggregate: ");
  fprintf(stderr, format, what);
  fprintf(stderr, "; see grove aggregate --help\n");
  return EXIT_BAD_INPUT;
}

static int read_settings(int argc, char **argv, settings *out)
{
  settings s = {.channel = 1, .where = GROVE_OFF_NODE};
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL;
    if (strcmp(flag, "--json") == 0)
      s.json = 1;
    else if ((value = flag_value(argc, argv, &i, "--arrivals")))
      s.trace = value;
    else if ((value = flag_value(argc, argv, &i, "-o")))
      s.output = value;
    else if ((value = flag_value(argc, argv, &i, "--machine")))
      s.machine = value;
    else if ((value = flag_value(argc, argv, &i, "--channel"))) {
      if (read_number(value, 1, INT32_MAX, &s.channel))
        return complain("--channel is '%s', and must be a row of the table, 1 or more", value);
    } else if ((value = flag_value(argc, argv, &i, "--where"))) {
      if (read_word(value, grove_locality_names, GROVE_LOCALITIES, &s.where))
        return complain("--where is '%s', and must be off-node, on-node or on-socket", value);
    } else
      return complain("'%s' is not understood beside --arrivals", flag);
  }
  if (!*s.trace) return complain("--arrivals %s", "names no trace");
  if (s.output && !*s.output) return complain("-o %s", "names no file");
  *out = s;
  return EXIT_OK;
}

/* Seconds that one part takes alone, by the machine or by the trace. NaN: unknown. */
static double communication_of(const sender *s, const grove_machine *m, int where)
{
  const grove_part_cut cut = {.where = (grove_locality)where,
                              .form = GROVE_HIDDEN,
                              .bytes = s->part_bytes,
                              .parts = 1,
                              .most = 1};
  return m ? grove_loggp_price(m, &cut, 1).seconds : s->quickest;
}

/* ---- the picture ---- */

static const char commands[] =
  "set key above\n"
  "set xlabel 'microseconds since the start of the round'\n"
  "set ylabel 'part'\n"
  "set xrange [0:*]\n"
  "set yrange [-1:parts]\n"
  "set style fill solid\n"
  "plot data using 2:1:(0):2:($1-0.4):($1+0.4) with boxxyerror lc rgb '#bbbbbb' \\\n"
  "       title 'until it is ready, the mean of the rounds', \\\n"
  "     data using 2:1:2:($2+$3):($1-0.4):($1+0.4) with boxxyerror lc rgb '#c0392b' \\\n"
  "       title 'communication of it alone, estimated'\n";

/* The file name without .svg: plot.h makes four files from it. */
static int find_stem(const char *output, char *stem, size_t room)
{
  size_t n = strlen(output);
  if (n >= room) return 1;
  if (n > 4 && strcmp(output + n - 4, ".svg") == 0) n -= 4;
  memcpy(stem, output, n);
  stem[n] = '\0';
  return 0;
}

static int draw(const sender *s, double communication, const char *output, char *made, size_t room)
{
  char stem[PATH_BYTES], script[sizeof commands + 200];
  if (find_stem(output, stem, sizeof stem)) return complain("-o %s", "is too long");
  FILE *data = plot_open(stem);
  if (!data) {
    fprintf(stderr, "grove aggregate: %s.dat cannot be written\n", stem);
    return EXIT_BAD_INPUT;
  }
  fprintf(data, "# part, ready, communication: microseconds\n");
  for (int64_t p = 0; p < s->parts; p++)
    fprintf(data, "%lld %.9g %.9g\n", (long long)p, 1e6 * s->ready[p],
            isnan(communication) ? 0 : 1e6 * communication);
  int failed = ferror(data);
  if (fclose(data) != 0 || failed) {
    fprintf(stderr, "grove aggregate: %s.dat could not be written to its end\n", stem);
    return EXIT_FAILED;
  }
  snprintf(script, sizeof script,
           "parts = %lld\nset title 'rank %d to rank %d, tag %d: %lld parts, %lld round%s'\n%s",
           (long long)s->parts, s->rank, s->peer, s->tag, (long long)s->parts, (long long)s->rounds,
           s->rounds == 1 ? "" : "s", commands);
  int status = plot_draw(stem, script, made, room);
  if (status != EXIT_OK) fprintf(stderr, "grove aggregate: %s\n", made);
  return status;
}

/* ---- the table ---- */

static void print_json(const arrivals *a, const settings *s, const grove_machine *m)
{
  printf("{\"trace\": ");
  print_json_text(stdout, s->trace);
  printf(", \"machine\": ");
  if (m)
    print_json_text(stdout, m->name);
  else
    printf("null");
  printf(",\n \"channels\": [");
  for (int i = 0; i < a->n; i++) {
    const sender *c = &a->senders[i];
    printf("%s\n  {\"rank\": %d, \"peer\": %d, \"tag\": %d, \"number\": %lld, \"parts\": %lld, "
           "\"part_bytes\": %lld, \"rounds\": %lld,\n   \"min_delta\": %.17g, "
           "\"min_delta_most\": %.17g, \"late\": %.17g, \"communication\": ",
           i > 0 ? "," : "", c->rank, c->peer, c->tag, (long long)c->number, (long long)c->parts,
           (long long)c->part_bytes, (long long)c->rounds, c->delta, c->delta_most, c->late);
    print_json_number(communication_of(c, m, s->where));
    printf(",\n   \"ready\": [");
    for (int64_t p = 0; p < c->parts; p++) printf("%s%.17g", p > 0 ? ", " : "", c->ready[p]);
    printf("]}");
  }
  printf("]}\n");
}

static void print_table(const arrivals *a, const settings *s, const grove_machine *m)
{
  printf("%7s %6s %6s %6s %8s %10s %8s %14s %14s %12s %12s\n", "channel", "from", "to", "tag",
         "parts", "bytes each", "rounds", "min delta us", "at most us", "late us", "alone us");
  for (int i = 0; i < a->n; i++) {
    const sender *c = &a->senders[i];
    double alone = communication_of(c, m, s->where);
    char bytes[32], last[32] = "-";
    if (!isnan(alone)) snprintf(last, sizeof last, "%.2f", 1e6 * alone);
    printf("%7d %6d %6d %6d %8lld %10s %8lld %14.2f %14.2f %12.2f %12s\n", i + 1, c->rank, c->peer,
           c->tag, (long long)c->parts, show_bytes((double)c->part_bytes, bytes),
           (long long)c->rounds, 1e6 * c->delta, 1e6 * c->delta_most, 1e6 * c->late, last);
  }
  printf("\nMin delta: from the first part to the last but one, the median of the rounds, and the "
         "most.\nLate: the last part after that. Alone: a part by itself, by %s.\n",
         m ? m->name : "the quickest one of the trace");
}

/* The text after the table. It goes to standard error where programs read the output. */
static int deliver(const arrivals *a, const settings *s, const grove_machine *m)
{
  char made[4 * PATH_BYTES + 200] = "";
  if (s->channel > a->n) {
    fprintf(stderr, "grove aggregate: --channel is %lld, and the trace has %d that send\n",
            (long long)s->channel, a->n);
    return EXIT_BAD_INPUT;
  }
  const sender *chosen = &a->senders[s->channel - 1];
  int status = EXIT_OK;
  if (s->output)
    status = draw(chosen, communication_of(chosen, m, s->where), s->output, made, sizeof made);
  if (status != EXIT_OK) return status;
  if (s->json)
    print_json(a, s, m);
  else
    print_table(a, s, m);
  if (*made) fprintf(s->json ? stderr : stdout, "Channel %lld: %s\n", (long long)s->channel, made);
  return EXIT_OK;
}

int aggregate_arrivals(int argc, char **argv)
{
  settings s;
  arrivals a = {0};
  grove_machine *m = NULL;
  int status = read_settings(argc, argv, &s);
  if (status == EXIT_OK && s.machine) status = open_machine("aggregate", s.machine, &m);
  if (status == EXIT_OK) status = arrivals_open(s.trace, &a);
  if (status == EXIT_OK) status = deliver(&a, &s, m);
  arrivals_close(&a);
  grove_machine_free(&m);
  return status;
}
