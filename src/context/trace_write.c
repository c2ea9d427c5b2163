/* Writes all ranks' spans to one file. First all ranks say that they are here. A rank that does not
 * come within some seconds must not stop the others for ever: then rank 0 writes its own row only.
 * Otherwise rank 0 calls the others one after the other. Each sends its lines one buffer at a time,
 * the next when the last has been taken. So no rank needs memory for more than a buffer. A reader
 * finds the old file or the new one, never half of one.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "context/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 18 };

typedef struct buffer {
  int64_t bytes; /* 0: that was all */
  char text[BUFFER_BYTES];
} buffer;

/* What this rank holds while it writes. */
typedef struct writer {
  buffer *buffer;
  int *call;  /* what rank 0 tells the next rank: whether its lines are wanted */
  FILE *file; /* rank 0 */
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
static void close_writer(writer *w, int memory_too)
{
  if (w->file) fclose(w->file);
  if (w->part) unlink(w->part);
  free(w->part);
  free(w->path);
  if (!memory_too) return; /* MPI may still use it */
  free(w->buffer);
  free(w->call);
}

static grove_status open_writer(const grove_context *ctx, writer *w)
{
  GROVE_PASS_ROOM(w->buffer, 1);
  GROVE_PASS_NEW(w->call, 1);
  if (ctx->rank == 0) GROVE_PASS(open_file(w, ctx->trace->path));
  return GROVE_OK;
}

/* ---- the ranks ---- */

static void write_own(const grove_context *ctx, writer *w)
{
  static const char opening[] = "{\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\","
                                "\"pid\":1,\"args\":{\"name\":\"grove\"}}";
  int64_t next = 0;
  put_text(w, opening, sizeof opening - 1);
  for (size_t n; (n = grove_trace_print(ctx, &next, w->buffer->text, BUFFER_BYTES)) > 0;)
    put_text(w, w->buffer->text, n);
}

/* On rank 0: calls `peer` and receives its lines. */
static grove_status take_lines(grove_context *ctx, writer *w, int peer)
{
  MPI_Request request;
  *w->call = !w->trouble;
  GROVE_PASS_MPI(MPI_Isend(w->call, 1, MPI_INT, peer, GROVE_TAG_TRACE, ctx->comm, &request));
  GROVE_PASS(grove_context_wait(ctx, &request));
  do {
    GROVE_PASS_MPI(MPI_Irecv(w->buffer, (int)sizeof *w->buffer, MPI_BYTE, peer, GROVE_TAG_TRACE,
                             ctx->comm, &request));
    GROVE_PASS(grove_context_wait(ctx, &request));
    put_text(w, w->buffer->text, (size_t)w->buffer->bytes);
  } while (w->buffer->bytes > 0);
  return GROVE_OK;
}

static grove_status send_lines(grove_context *ctx, writer *w)
{
  MPI_Request request;
  int64_t next = 0;
  GROVE_PASS_MPI(MPI_Irecv(w->call, 1, MPI_INT, 0, GROVE_TAG_TRACE, ctx->comm, &request));
  GROVE_PASS(grove_context_wait(ctx, &request));
  do {
    size_t n = *w->call ? grove_trace_print(ctx, &next, w->buffer->text, BUFFER_BYTES) : 0;
    w->buffer->bytes = (int64_t)n;
    GROVE_PASS_MPI(MPI_Issend(w->buffer, (int)(offsetof(buffer, text) + n), MPI_BYTE, 0,
                              GROVE_TAG_TRACE, ctx->comm, &request));
    GROVE_PASS(grove_context_wait(ctx, &request));
  } while (w->buffer->bytes > 0);
  return GROVE_OK;
}

/* Agreed by all. */
static grove_status write_all(grove_context *ctx, writer *w)
{
  grove_status status = GROVE_OK;
  double unused = 0;
  GROVE_PASS(grove_trace_compare_clocks(ctx, &ctx->trace->last, &unused));
  if (ctx->rank == 0) {
    write_own(ctx, w);
    for (int r = 1; r < ctx->size; r++) GROVE_PASS(take_lines(ctx, w, r));
    status = finish_file(ctx, w, 1);
  } else {
    GROVE_PASS(send_lines(ctx, w));
  }
  return grove_context_agree(ctx, status, NULL, 0);
}

/* For when the ranks could not come together; `why` says so. */
static grove_status write_alone(const grove_context *ctx, writer *w, grove_status code,
                                const char *why)
{
  if (ctx->rank == 0) {
    write_own(ctx, w);
    GROVE_PASS(finish_file(ctx, w, 0));
  }
  GROVE_PASS_CHECK(0, code, "rank %d: %s: the trace %s", ctx->rank, why,
                   ctx->rank == 0 ? "has rank 0's row alone" : "is without this rank's row");
  return GROVE_OK;
}

/* Says that this rank is here, and whether it can write. 0 if some rank does not come. */
static int meet_writers(grove_context *ctx, grove_status mine, grove_status *agreed)
{
  grove_agreement agreement;
  grove_pause pause;
  *agreed = grove_agreement_begin(ctx, mine, NULL, 0, &agreement);
  if (*agreed != GROVE_OK) return 0;
  grove_pause_begin(&pause, ctx->spins);
  for (int done = 0;;) {
    *agreed = grove_agreement_test(ctx, &agreement, &done);
    if (*agreed != GROVE_OK) return 0;
    if (done) break;
    if (grove_pause_expired(&pause, ctx->trace->patience_seconds)) return 0;
    grove_pause_step(&pause);
  }
  *agreed = grove_agreement_end(ctx, &agreement, NULL);
  return 1;
}

grove_status grove_trace_write(grove_context *ctx)
{
  writer w = {0};
  int finalized = grove_mpi_is_gone(), all = 0;
  const char *why = "a collective call timed out";
  grove_status status = open_writer(ctx, &w), agreed = GROVE_OK;
  ctx->options.timeout_seconds = 0; /* writing takes as long as it takes */
  if (finalized) {
    why = "the context was freed after MPI_Finalize";
  } else if (!ctx->broken) {
    why = "not every rank freed its context";
    all = meet_writers(ctx, status, &agreed);
    if (!all) ctx->broken = 1;
  }
  if (all)
    status = agreed == GROVE_OK ? write_all(ctx, &w) : agreed;
  else if (status == GROVE_OK)
    status = write_alone(ctx, &w, finalized ? GROVE_ERR_STATE : GROVE_ERR_TIMEOUT, why);
  close_writer(&w, !ctx->broken);
  return status;
}
