#include "grove/arguments.h"

#include "grove/command.h"
#include "grove/machine/own.h"

#include "base/status.h"
#include "model/machine.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *flag_value(int argc, char **argv, int *i, const char *name)
{
  size_t length = strlen(name);
  if (strncmp(argv[*i], name, length) != 0) return NULL;
  if (argv[*i][length] == '=') return argv[*i] + length + 1;
  if (argv[*i][length] != '\0') return NULL;
  return *i + 1 < argc ? argv[++*i] : "";
}

int read_number(const char *text, int64_t least, int64_t most, int64_t *out)
{
  char *end = NULL;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || *end || errno || number < least || number > most) return 1;
  *out = number;
  return 0;
}

/* A decimal number at the beginning; strtod alone would take nan, inf and hexadecimal ones. */
static int read_decimal(const char *text, double *out, const char **rest)
{
  const char *c = text + (*text == '-');
  char *end = NULL;
  if (!isdigit((unsigned char)*c) && *c != '.') return 1;
  if (c[0] == '0' && (c[1] == 'x' || c[1] == 'X')) return 1;
  *out = strtod(text, &end);
  *rest = end;
  return end == text || !isfinite(*out);
}

/* A number followed by one of the units, the first of which is empty. */
typedef struct unit {
  const char *name;
  double factor;
} unit;

static int read_with_unit(const char *text, const unit *units, int n, double *out)
{
  double number = 0;
  const char *rest = NULL;
  if (read_decimal(text, &number, &rest)) return 1;
  for (int i = 0; i < n; i++) {
    if (strcmp(rest, units[i].name) != 0) continue;
    *out = number * units[i].factor;
    return 0;
  }
  return 1;
}

int read_real(const char *text, double least, double most, double *out)
{
  static const unit none[] = {{"", 1}};
  double number = 0;
  if (read_with_unit(text, none, 1, &number) || number < least || number > most) return 1;
  *out = number;
  return 0;
}

static int read_whole(const char *text, const unit *units, int n, int64_t *out)
{
  double number = 0;
  if (read_with_unit(text, units, n, &number)) return 1;
  if (number < 0 || number > 1e18 || number != floor(number)) return 1;
  *out = (int64_t)number;
  return 0;
}

int read_bytes(const char *text, int64_t *out)
{
  static const unit units[] = {{"", 1},          {"B", 1},        {"kB", 1e3},  {"KB", 1e3},
                               {"MB", 1e6},      {"GB", 1e9},     {"TB", 1e12}, {"KiB", 1024},
                               {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  return read_whole(text, units, sizeof units / sizeof *units, out);
}

int read_count(const char *text, int64_t *out)
{
  static const unit none[] = {{"", 1}};
  return read_whole(text, none, 1, out);
}

int read_seconds(const char *text, double *out)
{
  static const unit units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  double seconds = 0;
  if (read_with_unit(text, units, 5, &seconds) || seconds < 0) return 1;
  *out = seconds;
  return 0;
}

int read_word(const char *text, const char *const *words, int n, int *out)
{
  for (int i = 0; i < n; i++) {
    if (strcmp(text, words[i]) != 0) continue;
    *out = i;
    return 0;
  }
  return 1;
}

/* ---- what is wrong, and what is allowed ---- */

const char *need_number(const char *text, int64_t least, int64_t most, int64_t *out)
{
  static char needs[80];
  if (!read_number(text, least, most, out)) return NULL;
  if (most == INT64_MAX)
    snprintf(needs, sizeof needs, "a whole number, %lld or more", (long long)least);
  else
    snprintf(needs, sizeof needs, "a whole number from %lld to %lld", (long long)least,
             (long long)most);
  return needs;
}

const char *need_word(const char *text, const char *const *words, int n, int *out)
{
  static char needs[200];
  size_t used = 0;
  if (!read_word(text, words, n, out)) return NULL;
  for (int i = 0; i < n && used < sizeof needs; i++)
    used += (size_t)snprintf(needs + used, sizeof needs - used, "%s%s",
                             i == 0      ? ""
                             : i < n - 1 ? ", "
                                         : " or ",
                             words[i]);
  return needs;
}

int refuse_value(const char *who, const char *flag, const char *value, const char *needs)
{
  fprintf(stderr, "grove %s: %s cannot be '%s': it must be %s; see grove %s --help\n", who, flag,
          value, needs, who);
  return EXIT_BAD_INPUT;
}

/* The flags of a line of help, which begins with two blanks and a flag. */
static void print_flags(const char *line, FILE *file)
{
  if (strncmp(line, "  -", 3) != 0) return;
  for (const char *c = line + 1; c[0] == ' ' && c[1] != ' '; c += 1 + strcspn(c + 1, " \n"))
    if (c[1] == '-') fprintf(file, "%.*s, ", (int)strcspn(c + 1, " \n"), c + 1);
}

int refuse_flag(const char *who, const char *flag, const char *help)
{
  fprintf(stderr, "grove %s: '%s' is not understood; there are ", who, flag);
  for (const char *line = help; line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    print_flags(line, stderr);
  }
  fprintf(stderr, "--help; see grove %s --help\n", who);
  return EXIT_BAD_INPUT;
}

/* ---- printing and files ---- */

const char *show_bytes(double bytes, char room[32])
{
  static const char *const names[2][5] = {{"B", "kB", "MB", "GB", "TB"},
                                          {"B", "KiB", "MiB", "GiB", "TiB"}};
  int binary = fmod(bytes, 1000) != 0 && fmod(bytes, 1024) == 0, i = 0;
  double step = binary ? 1024 : 1000;
  /* Only where few digits remain. */
  while (i < 4 && bytes >= step && fmod(8 * bytes, step) == 0) {
    bytes /= step;
    i++;
  }
  snprintf(room, 32, "%.10g %s", bytes, names[binary][i]);
  return room;
}

int make_folders(const char *file_path)
{
  char *path = strdup(file_path);
  int failed = !path;
  for (char *c = path; !failed && *c; c++) {
    if (*c != '/' || c == path) continue;
    *c = '\0';
    failed = mkdir(path, 0777) != 0 && errno != EEXIST;
    *c = '/';
  }
  free(path);
  return failed;
}

const char *last_sentence(void)
{
  static char sentence[GROVE_SENTENCE_BYTES];
  snprintf(sentence, sizeof sentence, "%s", grove_last_error());
  size_t length = strlen(sentence);
  while (length > 0 && sentence[length - 1] == ']') { /* " [src/model/open.c:90]", perhaps twice */
    char *place = strrchr(sentence, '[');
    if (!place || place == sentence || place[-1] != ' ' || !strstr(place, ".c:")) break;
    length = (size_t)(place - sentence) - 1;
    sentence[length] = '\0';
  }
  return sentence;
}

int open_machine(const char *who, const char *name, grove_machine **out)
{
  if (!*name) {
    fprintf(stderr, "grove %s: which machine? %s\n", who, MACHINE_NEEDS);
    return EXIT_BAD_INPUT;
  }
  char path[OWN_PATH_BYTES];
  name = own_resolve(who, name, path);
  if (grove_machine_open(name, out) != GROVE_OK) {
    fprintf(stderr, "grove %s: %s\n", who, last_sentence());
    return EXIT_BAD_INPUT;
  }
  for (int i = 0; i < (*out)->nrows; i++)
    if (!(*out)->rows[i].known)
      fprintf(stderr, "grove %s: %s, line %d: no formula knows the term '%s'\n", who, name,
              (*out)->rows[i].line, (*out)->rows[i].term);
  return EXIT_OK;
}
