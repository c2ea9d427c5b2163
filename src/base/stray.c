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

/* GROVE_PRELOAD and GROVE_PRELOAD_..., which libgrove_mpi.so reads. */
static int is_of_preload(const char *rest, size_t bytes)
{
  static const char name[] = "PRELOAD";
  size_t n = sizeof name - 1;
  return bytes >= n && strncmp(rest, name, n) == 0 && (bytes == n || rest[n] == '_');
}

const char *grove_options_stray(int wanted, size_t *bytes)
{
  for (char **at = environ; at && *at; at++) {
    size_t n = strcspn(*at, "=");
    if (strncmp(*at, PREFIX, PREFIX_BYTES) != 0 || (*at)[n] != '=') continue;
    const char *rest = *at + PREFIX_BYTES;
    if (option_of(rest, n - PREFIX_BYTES) >= 0 && is_capital(rest, n - PREFIX_BYTES)) continue;
    if (is_of_preload(rest, n - PREFIX_BYTES)) continue;
    *bytes = n;
    if (wanted-- == 0) return *at;
  }
  return NULL;
}

grove_status grove_options_check_environment(void)
{
  size_t bytes = 0;
  for (int i = 0;; i++) {
    const char *name = grove_options_stray(i, &bytes);
    if (!name) return GROVE_OK;
    int meant = grove_options_nearest(name + PREFIX_BYTES, bytes - PREFIX_BYTES);
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
