/* Writes the spans of all ranks that are there to one file (roll.h). Rank 0 asks one after the
 * other. Each sends its lines one buffer at a time, the next when the last has been taken. So no
 * rank needs memory for more than a buffer. A reader finds the old file or the new one, never half
 * of one.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "context/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What rank 0 holds while it writes. */
typedef struct writer {
  grove_lines *lines;
  grove_reading *clocks; /* of each domain */
  FILE *file;
  char *part; /* temporary name until the file is complete; NULL: written in place */
  char *path;
  int trouble; /* errno of the first write that failed */
} writer;

/* ---- the file ---- */

static grove_status refuse_file(const writer *w, int why)
{
  return grove_error(GROVE_ERR_SYSTEM, __FILE__, __LINE__, "the trace %.300s cannot be written: %s",
                     w->path, strerror(why));
}

/* A terminal or a pipe cannot be replaced, only written to. A link stays, and leads to the new
 * file. */
static grove_status open_file(writer *w, const char *path)
{
  grove_status status = GROVE_OK;
  struct stat old;
  int is_there = stat(path, &old) == 0, fd = -1;
  w->path = is_there ? realpath(path, NULL) : strdup(path);
  GROVE_PASS_CHECK(w->path, GROVE_ERR_MEMORY, "no memory for the name of a trace");
  if (is_there && !S_ISREG(old.st_mode)) {
    w->file = fopen(path, "w");
  } else {
    size_t room = strlen(w->path) + 64;
    GROVE_PASS_NEW(w->part, room);
    snprintf(w->part, room, "%s.%ld.part", w->path, (long)getpid());
    fd = open(w->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    w->file = fd >= 0 ? fdopen(fd, "w") : NULL;
  }
  if (!w->file) status = refuse_file(w, errno);
  return status;
}

/* After the first failure nothing more is written. */
static void put_text(writer *w, const char *text, size_t bytes)
{
  if (w->trouble || bytes == 0) return;
  errno = 0;
  if (fwrite(text, 1, bytes, w->file) != bytes) w->trouble = errno ? errno : EIO;
}

/* Writes the end of the file, and renames it. */
static grove_status finish_file(const grove_context *ctx, writer *w, int complete)
{
  char text[256];
  int n = snprintf(text, sizeof text,
                   "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"version\":\"grove %d.%d.%d\","
                   "\"ranks\":%d,\"nodes\":%d,\"complete\":%s}}\n",
                   GROVE_VERSION_MAJOR, GROVE_VERSION_MINOR, GROVE_VERSION_PATCH, ctx->size,
                   ctx->topo.nnodes, complete ? "true" : "false");
  put_text(w, text, (size_t)n);
  if (fclose(w->file) != 0 && !w->trouble) w->trouble = errno;
  w->file = NULL;
  if (!w->trouble && w->part && rename(w->part, w->path) != 0) w->trouble = errno;
  if (w->trouble) return refuse_file(w, w->trouble);
  free(w->part);
  w->part = NULL;
  return GROVE_OK;
}

/* Leaves no incomplete file behind. */
static void close_writer(writer *w)
{
  if (w->file) fclose(w->file);
  if (w->part) unlink(w->part);
  free(w->part);
  free(w->path);
  free(w->lines);
  free(w->clocks);
}

static grove_status open_writer(const grove_context *ctx, writer *w)
{
  GROVE_PASS_ROOM(w->lines, 1);
  GROVE_PASS_NEW(w->clocks, grove_trace_count_clocks(ctx));
  return open_file(w, ctx->trace->path);
}

/* ---- the ranks ---- */

static void write_own(const grove_context *ctx, writer *w)
{
  static const char opening[] = "{\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\","
                                "\"pid\":1,\"args\":{\"name\":\"grove\"}}";
  int64_t next = 0;
  put_text(w, opening, sizeof opening - 1);
  for (size_t n; (n = grove_trace_print(ctx, &next, w->lines->text, GROVE_LINES_BYTES)) > 0;)
    put_text(w, w->lines->text, n);
}

/* After a write that failed there is nothing to ask for. */
static grove_status take_lines(grove_context *ctx, writer *w, int rank)
{
  const grove_reading *clock = &w->clocks[ctx->place[rank].domain];
  const grove_roll_message order = {
    .word = GROVE_WORD_LINES, .ahead = clock->ahead, .error = clock->error};
  if (w->trouble) return GROVE_OK;
  grove_roll_order(ctx, &order, rank);
  do {
    grove_roll_answer(ctx, rank, w->lines, (int)sizeof *w->lines);
    if (w->lines->bytes > 0) put_text(w, w->lines->text, (size_t)w->lines->bytes);
  } while (w->lines->bytes > 0);
  GROVE_PASS_CHECK(w->lines->bytes == 0, GROVE_ERR_MEMORY,
                   "rank %d has no memory for its lines of the trace", rank);
  return GROVE_OK;
}

static grove_status write_rows(grove_context *ctx, writer *w)
{
  grove_trace_ask_clocks(ctx, w->clocks);
  ctx->trace->last = w->clocks[ctx->place[0].domain];
  write_own(ctx, w);
  for (int r = 1; r < ctx->size; r++)
    if (grove_roll_has(ctx, r)) GROVE_PASS(take_lines(ctx, w, r));
  return finish_file(ctx, w, grove_roll_has_all(ctx));
}

grove_status grove_trace_write(grove_context *ctx)
{
  writer w = {0};
  grove_status status = open_writer(ctx, &w);
  if (status == GROVE_OK) status = write_rows(ctx, &w);
  close_writer(&w);
  return status;
}
