/* The grove command: one file a subcommand, each with a name, a line for the overview, a page of
 * help and a function. Bad input gets one sentence on standard error and exit status 2.
 */
#ifndef GROVE_TOOLS_COMMAND_H
#define GROVE_TOOLS_COMMAND_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_BAD_INPUT = 2 };

typedef struct command {
  const char *name;
  const char *summary;
  const char *help;
  int (*run)(int argc, char **argv); /* argv[0] is the name */
} command;

extern const command command_bench;
extern const command command_explain;
extern const command command_options;

/* One flag that takes a value: matches "--name value" and "--name=value" at argv[*i], moves *i on
 * to the last word used and returns the value, "" if there is none; NULL if it is another flag. */
const char *flag_value(int argc, char **argv, int *i, const char *name);

/* A whole number from `least` to `most`; 0 on success. */
int read_number(const char *text, int64_t least, int64_t most, int64_t *out);

/* A text as a JSON string, with quotes. */
void print_json_text(FILE *file, const char *text);

#ifdef __cplusplus
}
#endif

#endif
