/* Variables of the environment that look like options and are none. One that is nearly an option's
 * name is a slip of the pen, and what it was to change would silently stay as it is. Others may
 * have another reader.
 */
#include "base/options.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

extern char **environ;

static const char PREFIX[] = "GROVE_";
enum { PREFIX_BYTES = sizeof PREFIX - 1, MOST_BYTES = 64 };

/* The option of this name in any case, or -1. */
static int option_of(const char *name, size_t bytes)
{
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    const char *option = grove_option_describe(i).name;
    size_t n = strlen(option);
    if (n == bytes && strncasecmp(option, name, n) == 0) return i;
  }
  return -1;
}

static int is_capital(const char *name, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++)
    if (islower((unsigned char)name[i])) return 0;
  return 1;
}

const char *grove_options_stray(int wanted, size_t *bytes)
{
  for (char **at = environ; at && *at; at++) {
    size_t n = strcspn(*at, "=");
    if (strncmp(*at, PREFIX, PREFIX_BYTES) != 0) continue;
    const char *rest = *at + PREFIX_BYTES;
    if (option_of(rest, n - PREFIX_BYTES) >= 0 && is_capital(rest, n - PREFIX_BYTES)) continue;
    *bytes = n;
    if (wanted-- == 0) return *at;
  }
  return NULL;
}

/* ---- which option was meant ---- */

static int fewer_edits(int a, int b)
{
  return a < b ? a : b;
}

static int same_letter(char a, char b)
{
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Letters to change, leave out, put in, or exchange with their neighbour, to make one of the other.
 * Row i has what it takes for the first i letters of `a`. */
static int count_edits(const char *a, size_t na, const char *b, size_t nb)
{
  int rows[MOST_BYTES + 1][MOST_BYTES + 1];
  for (size_t i = 0; i <= na; i++)
    for (size_t k = 0; k <= nb; k++) {
      rows[i][k] = i == 0 ? (int)k : k == 0 ? (int)i : 0;
      if (i == 0 || k == 0) continue;
      int changed = rows[i - 1][k - 1] + !same_letter(a[i - 1], b[k - 1]);
      rows[i][k] = fewer_edits(changed, 1 + fewer_edits(rows[i - 1][k], rows[i][k - 1]));
      if (i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) && same_letter(a[i - 2], b[k - 1]))
        rows[i][k] = fewer_edits(rows[i][k], rows[i - 2][k - 2] + 1);
    }
  return rows[na][nb];
}

/* Short names are close to many words: one slip in them, two in others. */
static int allowed_edits(size_t letters)
{
  return letters < 6 ? 1 : 2;
}

/* The option that a name is close to, or -1. */
static int nearest_option(const char *name, size_t bytes)
{
  int found = -1, least = MOST_BYTES;
  for (int i = 0; i < GROVE_OPTION_COUNT && bytes < MOST_BYTES; i++) {
    const char *option = grove_option_describe(i).name;
    size_t n = strlen(option);
    int edits = count_edits(name, bytes, option, n);
    if (edits > allowed_edits(n) || edits >= least) continue;
    least = edits;
    found = i;
  }
  return found;
}

grove_status grove_options_check_environment(void)
{
  size_t bytes = 0;
  for (int i = 0;; i++) {
    const char *name = grove_options_stray(i, &bytes);
    if (!name) return GROVE_OK;
    int meant = nearest_option(name + PREFIX_BYTES, bytes - PREFIX_BYTES);
    char upper[MOST_BYTES] = "";
    for (int k = 0; meant >= 0 && grove_option_describe(meant).name[k]; k++)
      upper[k] = (char)toupper((unsigned char)grove_option_describe(meant).name[k]);
    GROVE_PASS_CHECK(meant < 0, GROVE_ERR_OPTION,
                     "the environment has %.*s, which is no option: is GROVE_%s meant? 'grove "
                     "options' lists them",
                     (int)bytes, name, upper);
  }
  return GROVE_OK;
}
