#include "context/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Limit of spans and subjects per rank: 48 MB of spans. */
enum { LIMIT = 1 << 20, NAME_BYTES = 200 };

/* ---- what the file is called ---- */

/* The names that contexts of this process write to, for ever: a second context with the same name
 * must not replace the file of the first. */
static struct {
  pthread_mutex_t lock;
  char **name;
  int n;
} taken = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int name_is_taken(const char *name)
{
  for (int i = 0; i < taken.n; i++)
    if (strcmp(taken.name[i], name) == 0) return 1;
  return 0;
}

static grove_status take_name(const char *name)
{
  GROVE_PASS_GROW(taken.name, taken.n, 1);
  taken.name[taken.n] = strdup(name);
  GROVE_PASS_CHECK(taken.name[taken.n], GROVE_ERR_MEMORY, "no memory for the name of a trace");
  taken.n++;
  return GROVE_OK;
}

/* Where the extension of a path begins, or its end. */
static size_t stem_bytes(const char *path)
{
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
  const char *dot = strrchr(file, '.');
  return dot && dot > file ? (size_t)(dot - path) : strlen(path);
}

/* "trace.json", "trace-2.json" for the second context of this process, and so on. Contexts on parts
 * of a job have different processes as rank 0, which do not know of each other: they write
 * "trace-rank4.json", by the rank in the whole job. */
static void number_name(const char *path, int job_rank, int number, char *out, size_t room)
{
  char who[32] = "", count[32] = "";
  size_t stem = stem_bytes(path);
  if (job_rank > 0) snprintf(who, sizeof who, "-rank%d", job_rank);
  if (number > 1) snprintf(count, sizeof count, "-%d", number);
  snprintf(out, room, "%.*s%s%s%s", (int)stem, path, who, count, path + stem);
}

/* The name of a terminal or a pipe cannot be changed. */
static int is_ordinary(const char *path)
{
  struct stat about;
  return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}

static grove_status choose_name(const char *wanted, char **out)
{
  grove_status status = GROVE_OK;
  size_t room = strlen(wanted) + 64;
  char *name = NULL;
  int job_rank = 0;
  pthread_mutex_lock(&taken.lock);
  MPI_Comm_rank(MPI_COMM_WORLD, &job_rank);
  GROVE_NEW(name, room);
  snprintf(name, room, "%s", wanted);
  if (is_ordinary(wanted)) {
    for (int number = 1; number == 1 || name_is_taken(name); number++)
      number_name(wanted, job_rank, number, name, room);
    GROVE_TRY(take_name(name));
  }
  *out = name;
  name = NULL;
fail:
  pthread_mutex_unlock(&taken.lock);
  free(name);
  return status;
}

/* On rank 0. */
static grove_status name_file(grove_trace *t, const char *wanted)
{
  grove_status status = GROVE_OK;
  char *copy = NULL, *path = NULL;
  if (t->wanted && strcmp(t->wanted, wanted) == 0) return GROVE_OK;
  copy = strdup(wanted);
  GROVE_CHECK(copy, GROVE_ERR_MEMORY, "no memory for the name of a trace");
  GROVE_TRY(choose_name(wanted, &path));
  free(t->wanted);
  free(t->path);
  t->wanted = copy;
  t->path = path;
  return GROVE_OK;
fail:
  free(copy);
  return status;
}

/* ---- on and off ---- */

grove_status grove_trace_follow_option(grove_context *ctx)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  grove_trace *t = ctx->trace;
  if (!*ctx->options.trace) return GROVE_OK;
  if (!t) t = grove_memory(1, sizeof *t);
  if (!t) mine = grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for a trace");
  if (t && ctx->rank == 0) mine = name_file(t, ctx->options.trace);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  if (!ctx->trace) {
    GROVE_TRY(grove_trace_compare_clocks(ctx, &t->first, &t->origin));
    t->last = t->first;
    t->limit = LIMIT;
    ctx->trace = t;
  }
  return GROVE_OK;
fail:
  if (!ctx->trace) grove_trace_free(&t);
  return status;
}

void grove_trace_free(grove_trace **trace)
{
  grove_trace *t = *trace;
  if (!t) return;
  for (int64_t i = 0; i < t->nsubjects; i++) free(t->subjects[i].forest);
  free(t->subjects);
  free(t->spans);
  free(t->wanted);
  free(t->path);
  free(t);
  *trace = NULL;
}

/* ---- noting ---- */

/* Room for one more item in the list at this address; 0 if there is none. */
static int has_room(const grove_trace *t, void *list, int64_t n, size_t bytes)
{
  return t->nspans + t->nsubjects < t->limit && grove_grow(list, n, 1, bytes);
}

/* The beginning of a long name, cut between UTF-8 characters. */
static char *copy_name(const char *name)
{
  size_t n = strlen(name);
  if (n > NAME_BYTES)
    for (n = NAME_BYTES; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80;) n--;
  char *copy = grove_memory(n + 1, 1);
  if (copy) memcpy(copy, name, n);
  return copy;
}

int grove_trace_subject(grove_trace *t, const grove_subject *like)
{
  int fits = has_room(t, &t->subjects, t->nsubjects, sizeof *t->subjects);
  char *name = fits ? copy_name(like->forest) : NULL;
  if (!name) return -1;
  t->subjects[t->nsubjects] = *like;
  t->subjects[t->nsubjects].forest = name;
  return (int)t->nsubjects++;
}

/* One way, a device does one thing after the other: its spans follow each other. */
static void follow_last(grove_trace *t, grove_span *span)
{
  double *last = &t->passed[span->kind == GROVE_SPAN_IN];
  if (span->end < *last) span->end = *last;
  if (span->begin < *last) span->begin = *last;
  *last = span->end;
}

void grove_trace_note(grove_trace *t, const grove_span *span)
{
  int fits = span->subject >= 0 && has_room(t, &t->spans, t->nspans, sizeof *t->spans);
  if (!fits) {
    t->dropped++;
    return;
  }
  t->spans[t->nspans] = *span;
  if (grove_span_is_device(span->kind)) follow_last(t, &t->spans[t->nspans]);
  t->nspans++;
}

void grove_trace_set_up(grove_context *ctx, const char *forest, int64_t serial, double since)
{
  if (!grove_trace_is_on(ctx)) return;
  grove_subject like = {.forest = (char *)forest, .serial = serial};
  grove_span span = {.kind = GROVE_SPAN_SET_UP, .begin = since, .end = grove_clock()};
  span.subject = grove_trace_subject(ctx->trace, &like);
  grove_trace_note(ctx->trace, &span);
}
