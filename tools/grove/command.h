/* The grove command: one file per subcommand, each with a name, a line for the overview, a page of
 * help and a function. Bad input gets one sentence on standard error and exit status 2.
 */
#ifndef GROVE_TOOLS_COMMAND_H
#define GROVE_TOOLS_COMMAND_H

#include "grove/arguments.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_BAD_INPUT = 2 };

typedef struct command {
  const char *name;
  const char *summary;
  const char *help;                  /* NULL: it has subcommands, and answers --help itself */
  int (*run)(int argc, char **argv); /* argv[0] is the name */
  /* Whether this run takes part on every rank of an MPI job; NULL: never. Otherwise rank 0 runs it
   * alone. */
  int (*is_parallel)(int argc, char **argv);
} command;

extern const command command_aggregate;
extern const command command_bench;
extern const command command_model;
extern const command command_multipath;
extern const command command_explain;
extern const command command_fabric;
extern const command command_machine;
extern const command command_options;
extern const command command_report;

/* Every rank takes part (command.is_parallel). */
int always_parallel(int argc, char **argv);

/* What grove --version prints, with what the command was built with. Returns an exit status. */
int print_version(void);

/* A text as a JSON string, with quotes. Bytes that are not UTF-8 become U+FFFD. */
void print_json_text(FILE *file, const char *text);

/* A number for JSON, with all its digits: null for NaN, "inf" where there is no limit. */
void print_json_number(double value);

#ifdef __cplusplus
}
#endif

#endif
