#include "grove/machine/own.h"

#include "base/options.h"
#include "measure/measure.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static int ends_in(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n > m && strcmp(text + n - m, end) == 0;
}

static int is_profile(const struct dirent *entry)
{
  return entry->d_name[0] != '.' && ends_in(entry->d_name, ".machine");
}

/* A profile of several nodes is worth more than one of a single node. Those of made-up nodes, or of
 * another machine, are no profiles of this one: 0. `stem`: how the paths of this one's begin. */
static int worth(const char *path, const char *stem)
{
  const char *end = path + strlen(stem);
  if (strncmp(path, stem, strlen(stem)) != 0) return 0;
  end += strspn(end, "-0123456789");
  if (*end++ != 'c') return 0;
  return strcmp(end, "-nodes.machine") == 0 ? 2 : strcmp(end, "-node.machine") == 0;
}

static time_t written_at(const char *path)
{
  struct stat about;
  return stat(path, &about) == 0 ? about.st_mtime : 0;
}

/* How many cores a job has depends on the job, so the newest counts. */
static int find_automatic(const own_profiles *p)
{
  char stem[OWN_PATH_BYTES];
  int best = -1;
  grove_measure_stem(stem, sizeof stem);
  for (int i = 0; i < p->n; i++) {
    int mine = worth(p->path[i], stem), other = best < 0 ? 0 : worth(p->path[best], stem);
    if (mine > other ||
        (mine > 0 && mine == other && written_at(p->path[i]) > written_at(p->path[best])))
      best = i;
  }
  return best;
}

int own_list(own_profiles *out)
{
  char folder[512];
  struct dirent **entries = NULL;
  *out = (own_profiles){.automatic = -1};
  grove_options_cache(folder, sizeof folder);
  int n = *folder ? scandir(folder, &entries, is_profile, alphasort) : 0;
  if (n > 0) out->path = malloc((size_t)n * sizeof *out->path);
  for (int i = 0; i < n; i++) {
    if (out->path)
      snprintf(out->path[out->n++], OWN_PATH_BYTES, "%s/%s", folder, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  if (out->n > 0) out->automatic = find_automatic(out);
  return n > 0 && !out->path;
}

void own_free(own_profiles *p)
{
  free(p->path);
  *p = (own_profiles){.automatic = -1};
}

const char *own_resolve(const char *who, const char *name, char path[OWN_PATH_BYTES])
{
  static int told; /* a command may open the machine several times */
  own_profiles own;
  if (strcasecmp(name, "auto") != 0) return name;
  *path = '\0';
  if (own_list(&own) == 0 && own.automatic >= 0)
    snprintf(path, OWN_PATH_BYTES, "%s", own.path[own.automatic]);
  own_free(&own);
  if (*path) return path;
  const char *similar = grove_measure_stand_in();
  if (!told++)
    fprintf(stderr,
            "grove %s: this machine has not been measured, and auto is %s, which is like it "
            "(grove machine measure makes its own profile)\n",
            who, similar);
  return similar;
}
