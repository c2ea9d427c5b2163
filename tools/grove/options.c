/* grove options: every option of the library, with its present value. */
#include "grove/command.h"

#include "base/options.h"

#include <string.h>

static const char help[] =
  "usage: grove options [--json]\n"
  "\n"
  "Lists every option with its present value: its default, or what the environment variable\n"
  "GROVE_<NAME> says (in an MPI job, that of rank 0). A program sets options for one context\n"
  "with grove_context_set(ctx, \"name\", \"value\"). Variables GROVE_* that belong to no option\n"
  "are listed at the end, with a warning on standard error. They have no effect. But a name\n"
  "that is nearly that of an option is an error when a program makes a context.\n"
  "\n"
  "  --json    instead of a table: options, a list of {name, value, default, values, help}, and\n"
  "            strangers, a list of {name, value} of variables that belong to no option\n"
  "\n"
  "Example:\n"
  "  GROVE_TIMEOUT=30 GROVE_LOG=summary grove options\n";

/* In lines of at most 80 characters, between words, indented. */
static void print_wrapped(const char *text)
{
  enum { INDENT = 6, WIDTH = 80 - INDENT };
  for (size_t length; *text; text += length) {
    text += strspn(text, " ");
    length = strlen(text);
    if (length > WIDTH)
      for (length = WIDTH; length > 1 && text[length] != ' ';) length--;
    printf("%*s%.*s\n", INDENT, "", (int)length, text);
  }
}

static void print_table(const grove_options *options)
{
  printf("%-19s %-11s %-11s %s\n", "option", "value", "default", "values and meaning");
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    grove_option_about about = grove_option_describe(i);
    const char *value = options->text[i];
    printf("%-19s %-11s %-11s %s\n", about.name, *value ? value : "-",
           *about.initial ? about.initial : "-", about.choices);
    print_wrapped(about.help);
  }
  size_t bytes = 0;
  for (int i = 0; grove_options_stray(i, &bytes); i++)
    printf("%s  %s\n", i > 0 ? "" : "\nset in the environment, and no option:\n",
           grove_options_stray(i, &bytes));
}

static void print_json(const grove_options *options)
{
  printf("{\"options\": [");
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    grove_option_about about = grove_option_describe(i);
    const char *const field[] = {"name",    about.name,    "value",  options->text[i],
                                 "default", about.initial, "values", about.choices,
                                 "help",    about.help};
    printf("%s\n  {", i > 0 ? "," : "");
    for (int k = 0; k < 10; k += 2) {
      printf("%s\"%s\": ", k > 0 ? ", " : "", field[k]);
      print_json_text(stdout, field[k + 1]);
    }
    printf("}");
  }
  printf("\n], \"strangers\": [");
  size_t bytes = 0;
  for (int i = 0; grove_options_stray(i, &bytes); i++) {
    const char *variable = grove_options_stray(i, &bytes);
    printf("%s\n  {\"name\": \"%.*s\", \"value\": ", i > 0 ? "," : "", (int)bytes, variable);
    print_json_text(stdout, variable + bytes + 1);
    printf("}");
  }
  printf("]}\n");
}

/* A mistyped variable would silently have no effect. */
static void warn_of_strangers(void)
{
  size_t bytes = 0;
  for (int i = 0; grove_options_stray(i, &bytes); i++) {
    const char *name = grove_options_stray(i, &bytes);
    int meant = grove_options_nearest(name + strlen("GROVE_"), bytes - strlen("GROVE_"));
    fprintf(stderr, "grove options: %.*s is set, but there is no such option", (int)bytes, name);
    if (meant >= 0)
      fprintf(stderr, "; is '%s' meant? Programs refuse it", grove_option_describe(meant).name);
    fputc('\n', stderr);
  }
}

static int run(int argc, char **argv)
{
  grove_options options;
  int json = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") != 0) return refuse_flag("options", argv[i], help);
    json = 1;
  }
  if (grove_options_create(&options) != GROVE_OK ||
      grove_options_read_environment(&options) != GROVE_OK) {
    fprintf(stderr, "grove options: %s\n", last_sentence());
    grove_options_free(&options);
    return EXIT_BAD_INPUT;
  }
  if (json)
    print_json(&options);
  else
    print_table(&options);
  warn_of_strangers();
  grove_options_free(&options);
  return EXIT_OK;
}

const command command_options = {
  .name = "options",
  .summary = "every option, its present value, and what it means",
  .help = help,
  .run = run,
};
