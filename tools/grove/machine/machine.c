/* grove machine: its subcommands, and the list of machines that Grove knows by name. */
#include "grove/machine/machine.h"

#include "model/digest.h"

#include <math.h>
#include <string.h>

static const char overview_begin[] =
  "usage: grove machine SUBCOMMAND [ARGUMENT...]\n"
  "\n"
  "What messages cost on a machine: latencies, rates and limits, each with its source.\n"
  "Grove chooses by these numbers. A machine is a name, if it comes with Grove, or a file.\n"
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
    fprintf(stderr, "grove machine: what about machines? See grove machine --help\n");
  else
    fprintf(stderr, "grove machine: there is no '%s'; see grove machine --help\n", name);
  return EXIT_BAD_INPUT;
}

/* No page here: each subcommand has its own. */
const command command_machine = {
  .name = "machine",
  .summary = "what messages cost on a machine: list, show, measure, check, compare",
  .run = run,
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
      fprintf(stderr, "grove %s: '%s' is not understood; see grove %s --help\n", who, argv[i], who);
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
  "The machines that come with Grove: the shape of a node, and how much to trust it.\n"
  "\n"
  "  complete     every number is published or measured, and has its source\n"
  "  assumed      numbers of no particular machine, for those without a profile\n"
  "  incomplete   formulas need more than is known\n"
  "\n"
  "  --json       a list of {name, sockets, ranks, cores, gpus, status, about, missing};\n"
  "               a number that is not known is null\n"
  "\n"
  "Examples:\n"
  "  grove machine list\n"
  "  grove machine list --json | python3 -m json.tool\n";

static void print_known(double number)
{
  print_json_number(number > 0 ? number : NAN);
}

static void list_json(const grove_machine *m)
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
  printf("}");
}

static void number_or_dash(int number, char out[16])
{
  snprintf(out, 16, number > 0 ? "%d" : "-", number);
}

static void list_line(const grove_machine *m)
{
  char sockets[16], ranks[16], gpus[16];
  number_or_dash(m->sockets, sockets);
  number_or_dash(m->ranks, ranks);
  number_or_dash(m->gpus, gpus);
  printf("%-12s %7s %5s %4s  %-10s  %s\n", m->name, sockets, ranks, gpus,
         grove_standing_names[m->standing], m->about);
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
    if (json && b > grove_builtins) printf(",\n  ");
    if (json)
      list_json(m);
    else
      list_line(m);
    grove_machine_free(&m);
  }
  if (json) printf("\n]}\n");
  return EXIT_OK;
}

const command machine_list = {
  .name = "list",
  .summary = "the machines that come with Grove",
  .help = list_help,
  .run = list,
};
