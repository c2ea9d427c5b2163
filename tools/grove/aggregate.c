/* grove aggregate: into how many messages a partitioned transfer should be cut.
 */
#include "grove/command.h"

#include "model/loggp.h"

#include <math.h>
#include <string.h>

static const char help[] =
  "usage: grove aggregate --machine M --bytes B --parts N --delay S [OPTION...]\n"
  "\n"
  "A buffer of B bytes is filled by N threads, a part each, and one of them is late by S\n"
  "seconds. Sent as one message everything waits for the late thread; sent as N, each part\n"
  "costs a message. This prices every power of two up to N by LogGP and names the best.\n"
  "\n"
  "  --machine M     a name of grove machine list, or a profile's file, with LogGP rows\n"
  "  --bytes B       of the whole buffer: 4194304, 512KiB, 4MiB\n"
  "  --parts N       the parts that the program marks ready, 1 or more\n"
  "  --delay S       how late the last one is: 0.004, 4ms, 100us\n"
  "  --form F        hidden (the default): the early parts' bytes travel during the delay,\n"
  "                    D + o_s + (n-1) max(g, o_s, o_r) + (B/n - 1) G + L + o_r\n"
  "                  drained: and the last waits until they have left,\n"
  "                    max{(n-1) [(B/n - 1) G + max(g, o_s)], D} + o_s + (B/n - 1) G + L + n o_r\n"
  "  --json          for programs; times in seconds\n"
  "\n"
  "Parameters are those of a message of B/n bytes, which is what travels; those shown are of\n"
  "the best choice.\n"
  "\n"
  "Examples:\n"
  "  grove aggregate --machine niagara --bytes 4MiB --parts 32 --delay 4ms\n"
  "  grove aggregate --machine tukey --bytes 64MiB --parts 128 --delay 0.001 --form drained\n";

typedef struct settings {
  const char *machine;
  int64_t bytes, parts;
  double delay;
  int form, json;
} settings;

static int complain(const char *format, const char *what, const char *value)
{
  fprintf(stderr, "grove aggregate: ");
  fprintf(stderr, format, what, value);
  fprintf(stderr, "; see grove aggregate --help\n");
  return EXIT_BAD_INPUT;
}

static int read_settings(int argc, char **argv, settings *out)
{
  settings s = {.bytes = -1, .parts = -1, .delay = -1};
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL, *needs = NULL;
    if (strcmp(flag, "--json") == 0)
      s.json = 1;
    else if ((value = flag_value(argc, argv, &i, "--machine")))
      s.machine = value;
    else if ((value = flag_value(argc, argv, &i, "--bytes")))
      needs = read_bytes(value, &s.bytes) ? "a number of bytes such as 4096 or 512KiB" : NULL;
    else if ((value = flag_value(argc, argv, &i, "--parts")))
      needs = read_number(value, 1, INT32_MAX, &s.parts) ? "a number of parts, 1 or more" : NULL;
    else if ((value = flag_value(argc, argv, &i, "--delay")))
      needs = read_seconds(value, &s.delay) ? "a time such as 0.004 or 4ms" : NULL;
    else if ((value = flag_value(argc, argv, &i, "--form")))
      needs = read_word(value, grove_delay_form_names, GROVE_DELAY_FORMS, &s.form)
                ? "hidden or drained"
                : NULL;
    else
      return complain("'%s' is not understood%s", flag, "");
    if (needs) {
      fprintf(stderr, "grove aggregate: %.*s is '%s', and must be %s; see grove aggregate --help\n",
              (int)strcspn(flag, "="), flag, value, needs);
      return EXIT_BAD_INPUT;
    }
  }
  if (!s.machine) return complain("%s is missing%s", "--machine", "");
  if (s.bytes < 0) return complain("%s is missing%s", "--bytes", "");
  if (s.parts < 0) return complain("%s is missing%s", "--parts", "");
  if (s.delay < 0) return complain("%s is missing%s", "--delay", "");
  *out = s;
  return EXIT_OK;
}

static void print_json(const settings *s, const grove_machine *m, const grove_part_choice *choices,
                       int n, int best)
{
  const grove_loggp *p = choices[best].row;
  const struct {
    const char *name;
    double value;
  } parameters[] = {{"L", p->L}, {"o_s", p->o_s}, {"o_r", p->o_r}, {"g", p->g}, {"G", p->G}};
  printf("{\"machine\": ");
  print_json_text(stdout, m->name);
  printf(",\n \"bytes\": %lld, \"parts\": %lld, \"delay\": %.17g, \"form\": \"%s\",\n",
         (long long)s->bytes, (long long)s->parts, s->delay, grove_delay_form_names[s->form]);
  printf(" \"best\": %lld,\n \"choices\": [", (long long)choices[best].parts);
  for (int i = 0; i < n; i++)
    printf("%s\n  {\"transport_parts\": %lld, \"seconds\": %.17g}", i > 0 ? "," : "",
           (long long)choices[i].parts, choices[i].seconds);
  printf("],\n \"parameters\": {\"from_bytes\": %lld", (long long)p->from_bytes);
  for (int i = 0; i < 5; i++) {
    printf(", \"%s\": ", parameters[i].name);
    print_json_number(parameters[i].value);
  }
  printf("}}\n");
}

/* What a profile does not tell counts as 0 (model/loggp.h). */
static void print_parameters(const grove_loggp *p)
{
  static const char *const names[] = {"L", "o_s", "o_r", "g"};
  const double value[] = {p->L, p->o_s, p->o_r, p->g};
  int untold = 0;
  for (int i = 0; i < 4; i++) {
    untold += isnan(value[i]);
    if (!isnan(value[i])) printf("%s%s %.4g", i > untold ? ", " : " ", names[i], 1e6 * value[i]);
  }
  printf("%s G %.4g ns a byte.\n", untold < 4 ? " us;" : "", 1e9 * p->G);
  if (untold == 0) return;
  printf("The profile does not tell");
  for (int i = 0, n = 0; i < 4; i++)
    if (isnan(value[i])) printf("%s%s", n++ > 0 ? ", " : " ", names[i]);
  printf(": counted as 0.\n");
}

static void print_table(const settings *s, const grove_machine *m, const grove_part_choice *choices,
                        int n, int best)
{
  const grove_loggp *p = choices[best].row;
  char whole[32], part[32];
  printf("%s: %s in up to %lld parts, one of them %.6g us late; form %s\n\n", m->name,
         show_bytes((double)s->bytes, whole), (long long)s->parts, 1e6 * s->delay,
         grove_delay_form_names[s->form]);
  printf("%10s %14s %14s %14s\n", "messages", "bytes each", "us", "after the delay");
  for (int i = 0; i < n; i++)
    printf("%10lld %14s %14.2f %14.2f%s\n", (long long)choices[i].parts,
           show_bytes(floor((double)s->bytes / (double)choices[i].parts), part),
           1e6 * choices[i].seconds, 1e6 * (choices[i].seconds - s->delay),
           i == best ? "  <- best" : "");
  printf("\nSend %lld message%s.", (long long)choices[best].parts,
         choices[best].parts == 1 ? "" : "s");
  print_parameters(p);
}

static int run(int argc, char **argv)
{
  settings s;
  grove_machine *m = NULL;
  grove_part_choice choices[GROVE_PART_CHOICES];
  int n = 0, best = 0, status = read_settings(argc, argv, &s);
  if (status == EXIT_OK) status = open_machine("aggregate", s.machine, &m);
  if (status) return status;
  if (grove_loggp_choose(m, (grove_delay_form)s.form, s.bytes, s.parts, s.delay, choices, &n,
                         &best) != GROVE_OK) {
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
  .summary = "into how many messages to cut a buffer that threads fill; no MPI needed",
  .help = help,
  .run = run,
};
