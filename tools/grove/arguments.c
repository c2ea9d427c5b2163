#include "grove/arguments.h"

#include "grove/command.h"

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
    fprintf(stderr, "grove %s: which machine? A name of grove machine list, or a file\n", who);
    return EXIT_BAD_INPUT;
  }
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
