/* grove machine: its subcommands, and the list of machines that Grove knows by name. */
#include "grove/machine/machine.h"
#include "grove/machine/own.h"

#include "model/digest.h"

#include <math.h>
#include <string.h>

static const char overview_begin[] =
  "usage: grove machine SUBCOMMAND [ARGUMENT...]\n"
  "\n"
  "What messages cost on a machine: latencies, rates and limits, each with its source.\n"
  "Grove chooses by these numbers. A machine is a name, if it comes with Grove, a file, or\n"
  "auto: the machine at hand, if it was measured, else a published one of its kind.\n"
  "\n";

static const char overview_end[] = "\n"
                                   "  grove machine SUBCOMMAND --help    a page about one of them\n"
                                   "\n"
                                   "Examples:\n"
                                   "  grove machine list\n"
                                   "  grove machine show lassen\n"
                                   "  mpirun -n 8 grove machine measure -o ours.machine\n"
                                   "  grove machine compare lassen ./ours.machine\n";

static const command *const subcommands[] = {&machine_list, &machine_show, &machine_measure,
                                             &machine_check, &machine_compare};
enum { SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

static void print_overview(FILE *file)
{
  fputs(overview_begin, file);
  for (int i = 0; i < SUBCOMMANDS; i++)
    fprintf(file, "  %-10s %s\n", subcommands[i]->name, subcommands[i]->summary);
  fputs(overview_end, file);
}

static int is_help(const char *word)
{
  return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int is_parallel(int argc, char **argv)
{
  for (int i = 0; i < SUBCOMMANDS && argc > 1; i++)
    if (strcmp(subcommands[i]->name, argv[1]) == 0) return subcommands[i]->is_parallel != NULL;
  return 0;
}

static int run(int argc, char **argv)
{
  const char *name = argc > 1 ? argv[1] : "";
  if (is_help(name)) {
    print_overview(stdout);
    return EXIT_OK;
  }
  for (int i = 0; i < SUBCOMMANDS; i++) {
    if (strcmp(subcommands[i]->name, name) != 0) continue;
    for (int k = 2; k < argc; k++)
      if (is_help(argv[k])) {
        fputs(subcommands[i]->help, stdout);
        return EXIT_OK;
      }
    return subcommands[i]->run(argc - 1, argv + 1);
  }
  if (argc < 2)
    fprintf(stderr, "grove machine: what about machines? There are ");
  else
    fprintf(stderr, "grove machine: there is no '%s'; there are ", name);
  for (int i = 0; i < SUBCOMMANDS; i++)
    fprintf(stderr, "%s%s", i > 0 ? ", " : "", subcommands[i]->name);
  fprintf(stderr, "; see grove machine --help\n");
  return EXIT_BAD_INPUT;
}

/* No page here: each subcommand has its own. */
const command command_machine = {
  .name = "machine",
  .summary = "what messages cost on a machine: list, show, measure, check, compare",
  .run = run,
  .is_parallel = is_parallel,
};

/* ---- what the subcommands share ---- */

int read_machine_arguments(int argc, char **argv, const char *who, int n, const char **names,
                           int *json)
{
  int found = 0;
  *json = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      *json = 1;
    } else if (argv[i][0] == '-' || found == n) {
      fprintf(stderr, "grove %s: '%s' is not understood; it takes ", who, argv[i]);
      if (n > 0)
        fprintf(stderr, "%d name%s or file%s, and ", n, n > 1 ? "s" : "", n > 1 ? "s" : "");
      fprintf(stderr, "--json; see grove %s --help\n", who);
      return EXIT_BAD_INPUT;
    } else {
      names[found++] = argv[i];
    }
  }
  if (found == n) return EXIT_OK;
  fprintf(stderr, "grove %s: it takes %d name%s or file%s; see grove %s --help\n", who, n,
          n > 1 ? "s" : "", n > 1 ? "s" : "", who);
  return EXIT_BAD_INPUT;
}

/* ---- list ---- */

static const char list_help[] =
  "usage: grove machine list [--json]\n"
  "\n"
  "The machines that come with Grove, then those that you have measured, each with its file:\n"
  "the shape of a node, and how much to trust it. One of yours may be what --machine auto and\n"
  "the option machine=auto take here; it says so.\n"
  "\n"
  "  complete     every number is published or measured, and has its source\n"
  "  assumed      numbers of no particular machine, for those without a profile\n"
  "  incomplete   formulas need more than is known\n"
  "\n"
  "  --json       a list of {name, sockets, ranks, cores, gpus, status, about, missing, file,\n"
  "               auto}; a number that is not known is null, and so is the file of a machine\n"
  "               that comes with Grove\n"
  "\n"
  "Examples:\n"
  "  grove machine list\n"
  "  grove machine list --json | python3 -m json.tool\n";

static void print_known(double number)
{
  print_json_number(number > 0 ? number : NAN);
}

static void list_json(const grove_machine *m, const char *file, int automatic)
{
  char missing[500];
  printf("{\"name\": ");
  print_json_text(stdout, m->name);
  printf(", \"sockets\": ");
  print_known(m->sockets);
  printf(", \"ranks\": ");
  print_known(m->ranks);
  printf(", \"cores\": ");
  print_known(m->cores);
  printf(", \"gpus\": %d, \"status\": \"%s\", \"about\": ", m->gpus,
         grove_standing_names[m->standing]);
  print_json_text(stdout, m->about);
  grove_machine_missing(m, missing, sizeof missing);
  printf(", \"missing\": ");
  print_json_text(stdout, missing);
  printf(", \"file\": ");
  if (file)
    print_json_text(stdout, file);
  else
    printf("null");
  printf(", \"auto\": %s}", automatic ? "true" : "false");
}

static void number_or_dash(int number, char out[16])
{
  snprintf(out, 16, number > 0 ? "%d" : "-", number);
}

static void list_line(const grove_machine *m, const char *file, int automatic)
{
  char sockets[16], ranks[16], gpus[16];
  number_or_dash(m->sockets, sockets);
  number_or_dash(m->ranks, ranks);
  number_or_dash(m->gpus, gpus);
  printf("%-12s %7s %5s %4s  %-10s  %s\n", m->name, sockets, ranks, gpus,
         grove_standing_names[m->standing], m->about);
  if (file) printf("    %s%s\n", file, automatic ? " (auto)" : "");
}

static void list_one(const grove_machine *m, const char *file, int automatic, int json, int first)
{
  if (json && !first) printf(",\n  ");
  (json ? list_json : list_line)(m, file, automatic);
}

/* A file that is no profile is warned of, and the list goes on. */
static int list_own(int json)
{
  own_profiles own;
  if (own_list(&own)) return EXIT_FAILED;
  if (!json && own.n > 0) printf("\nyour own, measured\n");
  for (int i = 0; i < own.n; i++) {
    grove_machine *m = NULL;
    if (open_machine("machine list", own.path[i], &m) != EXIT_OK) continue;
    list_one(m, own.path[i], i == own.automatic, json, 0);
    grove_machine_free(&m);
  }
  own_free(&own);
  return EXIT_OK;
}

static int list(int argc, char **argv)
{
  int json = 0, status = read_machine_arguments(argc, argv, "machine list", 0, NULL, &json);
  if (status != EXIT_OK) return status;
  if (json)
    printf("{\"machines\": [\n  ");
  else
    printf("%-12s %7s %5s %4s  %-10s  %s\n", "name", "sockets", "ranks", "GPUs", "status",
           "about; sockets, ranks and GPUs are those of a node");
  for (const grove_builtin *b = grove_builtins; b->name; b++) {
    grove_machine *m = NULL;
    status = open_machine("machine list", b->name, &m);
    if (status != EXIT_OK) return status;
    list_one(m, NULL, 0, json, b == grove_builtins);
    grove_machine_free(&m);
  }
  status = list_own(json);
  if (json) printf("\n]}\n");
  return status;
}

const command machine_list = {
  .name = "list",
  .summary = "the machines that come with Grove, and those that you have measured",
  .help = list_help,
  .run = list,
};
