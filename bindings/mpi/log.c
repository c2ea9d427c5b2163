/* What is told at MPI_Finalize with `preload=log`: a line for calls of one name on communicators of
 * one size that ended in the same way.
 */
#include "preload.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
  const char *name;
  int ranks;
  int64_t comms, calls, by_grove, others;
  char why[256];
  struct row *next;
} row;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static row *first;

/* Two reasons are the same if they differ in numbers alone: what comes after a colon. */
static int same_reason(const char *a, const char *b)
{
  size_t n = strcspn(a, ":");
  return n == strcspn(b, ":") && strncmp(a, b, n) == 0;
}

static row *find(const char *name, int ranks, const char *why)
{
  row **at = &first;
  while (*at &&
         (strcmp((*at)->name, name) != 0 || (*at)->ranks != ranks || !same_reason((*at)->why, why)))
    at = &(*at)->next;
  if (!*at && (*at = calloc(1, sizeof **at))) {
    (*at)->name = name;
    (*at)->ranks = ranks;
  }
  return *at;
}

void grove_pre_log_add(const char *name, int ranks, int64_t calls, int64_t by_grove, int64_t others,
                       const char *why)
{
  if (!grove_pre_settings_get()->log) return;
  pthread_mutex_lock(&lock);
  row *r = find(name, ranks, why);
  if (r) {
    r->comms++;
    r->calls += calls;
    r->by_grove += by_grove;
    r->others += others;
    snprintf(r->why, sizeof r->why, "%s", why);
  }
  pthread_mutex_unlock(&lock);
}

/* A line leaves in one piece, since what starts the ranks may put other lines between two. */
static void print_row(const row *r)
{
  char others[64] = "", comms[64] = "", line[512];
  if (r->others)
    snprintf(others, sizeof others, ", %lld of them with other blocks", (long long)r->others);
  if (r->comms > 1) snprintf(comms, sizeof comms, ", on %lld communicators", (long long)r->comms);
  snprintf(line, sizeof line,
           "libgrove_mpi: %s on %d ranks: %lld calls, %lld through Grove%s%s; %s\n", r->name,
           r->ranks, (long long)r->calls, (long long)r->by_grove, others, comms, r->why);
  fputs(line, stderr);
}

void grove_pre_log_print(void)
{
  while (first) {
    row *r = first;
    print_row(r);
    first = r->next;
    free(r);
  }
}
