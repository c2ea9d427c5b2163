/* The command: finds the subcommand and runs it. Also the JSON printers of all subcommands. */
#include "grove/command.h"

#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const command *const commands[] = {&command_machine,   &command_model,  &command_explain,
                                          &command_bench,     &command_report, &command_aggregate,
                                          &command_multipath, &command_fabric, &command_options};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const char overview_begin[] =
  "usage: grove COMMAND [ARGUMENT...]\n"
  "\n"
  "Grove moves data between the ranks of an MPI program along a star forest: roots are\n"
  "what a rank owns, leaves what it needs. This command shows what Grove does on the\n"
  "machine at hand.\n"
  "\n";

static const char overview_end[] =
  "\n"
  "  grove COMMAND --help    a page about one command\n"
  "  grove --version         version of Grove, compiler, MPI, and what it was built with\n"
  "\n"
  "Examples:\n"
  "  grove explain A.mtx.gz --nodes 4 --ppn 16 --machine lassen\n"
  "  mpirun -n 8 grove bench 27-point\n"
  "  GROVE_NODE_SIZE=4 mpirun -n 16 grove bench random --reduce --json\n"
  "  grove report run.json -o run.html\n"
  "  grove aggregate --machine niagara --bytes 4MiB --parts 32 --delay 4ms\n"
  "  grove multipath --machine beluga --from 0 --to 1 --bytes 256MB\n"
  "  grove machine show lassen\n"
  "  mpirun -n 8 grove machine measure --picture fits\n"
  "  grove fabric\n"
  "  grove options\n";

static void print_overview(FILE *file)
{
  fputs(overview_begin, file);
  for (int i = 0; i < COMMANDS; i++)
    fprintf(file, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  fputs(overview_end, file);
}

/* The number of bytes of the UTF-8 character at `text`; 0: it is invalid. */
static int character_bytes(const unsigned char *text)
{
  int n = text[0] < 0x80 ? 1 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2 : text[0] >> 4 == 0xe ? 3 : 4;
  if (n == 4 && (text[0] < 0xf0 || text[0] > 0xf4)) return 0;
  for (int i = 1; i < n; i++)
    if (text[i] >> 6 != 2) return 0;
  if (n < 3) return n;
  int second = text[1];
  if ((text[0] == 0xe0 && second < 0xa0) || (text[0] == 0xed && second > 0x9f)) return 0;
  if ((text[0] == 0xf0 && second < 0x90) || (text[0] == 0xf4 && second > 0x8f)) return 0;
  return n;
}

void print_json_text(FILE *file, const char *text)
{
  fputc('"', file);
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    int n = character_bytes(c);
    if (*c == '"' || *c == '\\')
      fprintf(file, "\\%c", *c);
    else if (*c < 0x20 || n == 0)
      fprintf(file, "\\u%04x", n == 0 ? 0xfffdU : *c);
    else
      fwrite(c, 1, (size_t)n, file);
    c += n > 0 ? n : 1;
  }
  fputc('"', file);
}

void print_json_number(double value)
{
  char text[GROVE_NUMBER_BYTES];
  grove_number_print(value, text);
  printf(isnan(value) ? "null" : isinf(value) ? "\"%s\"" : "%s", text);
}

static int asks_for_help(int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return 1;
  return 0;
}

int always_parallel(int argc, char **argv)
{
  (void)argc;
  (void)argv;
  return 1;
}

static const command *find_command(const char *name)
{
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i]->name, name) == 0) return commands[i];
  return NULL;
}

/* Whether another rank of an MPI job does the same. Commands that need no MPI do not start it, so
 * this asks the environment, which launchers set. */
static int is_superfluous(int argc, char **argv)
{
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  const command *c = find_command(argc > 1 ? argv[1] : "");
  int rank = 0;
  if (c && c->is_parallel && c->is_parallel(argc - 1, argv + 1) && !asks_for_help(argc, argv))
    return 0;
  for (size_t i = 0; i < sizeof names / sizeof *names && rank == 0; i++) {
    const char *value = getenv(names[i]);
    if (value) rank = atoi(value);
  }
  return rank > 0;
}

static void refuse_command(const char *name)
{
  fprintf(stderr, "grove: there is no command '%s'; there are ", name);
  for (int i = 0; i < COMMANDS; i++) fprintf(stderr, "%s%s", i > 0 ? ", " : "", commands[i]->name);
  fprintf(stderr, "; see grove --help\n");
}

static int run(int argc, char **argv)
{
  const char *name = argc > 1 ? argv[1] : "";
  const command *c = find_command(name);
  if (is_superfluous(argc, argv)) return EXIT_OK;
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    print_overview(stdout);
    return EXIT_OK;
  }
  if (strcmp(name, "--version") == 0) return print_version();
  if (c && c->help && asks_for_help(argc - 1, argv + 1)) {
    fputs(c->help, stdout);
    return EXIT_OK;
  }
  /* The others look at every status, and go on after some. */
  if (c && c != &command_options) unsetenv("GROVE_ON_ERROR");
  if (c) return c->run(argc - 1, argv + 1);
  if (argc < 2)
    print_overview(stderr);
  else
    refuse_command(name);
  return EXIT_BAD_INPUT;
}

int main(int argc, char **argv)
{
  int code = run(argc, argv);
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "grove: standard output could not be written to its end; is the disk full?\n");
  return code == EXIT_OK ? EXIT_FAILED : code;
}
