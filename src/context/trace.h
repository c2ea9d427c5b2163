/* The option `trace`: what ran when, on every rank, for a timeline viewer. While the program runs,
 * each rank notes *spans* in its own memory, with its own clock. When the context is freed, rank 0
 * writes them all to one file, in Chrome's trace event format, one row per rank.
 *
 *     trace.c        noting spans                 trace_text.c    one rank's spans as text
 *     trace_clock.c  how far clocks are apart     trace_write.c   all ranks' text into a file
 *
 * Memory is bounded: spans beyond a limit are only counted.
 */
#ifndef GROVE_CONTEXT_TRACE_H
#define GROVE_CONTEXT_TRACE_H

#include "context/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a span is about: a forest, the operations of one wiring on it, or an end of a channel. Texts
 * are borrowed, but for a copy of the name, cut if it is very long. */
typedef struct grove_subject {
  char *forest;          /* of a channel: "to 3, tag 7" */
  int64_t serial;        /* the forest's */
  const char *operation; /* NULL: the forest itself */
  const char *route;
  int64_t unit_bytes;
  int64_t on_node_messages, on_node_bytes; /* that this rank sends in one start */
  int64_t off_node_messages, off_node_bytes;
  int is_channel;
  int peer, tag; /* of a channel, as the next ones */
  int64_t parts;
  int64_t number; /* among those to (from) this peer with this tag */
} grove_subject;

typedef enum grove_span_kind {
  GROVE_SPAN_SET_UP,
  GROVE_SPAN_INIT,
  GROVE_SPAN_START,
  GROVE_SPAN_WAIT,    /* until the end */
  GROVE_SPAN_TEST,    /* the one that reported the end */
  GROVE_SPAN_TIMEOUT, /* a wait that timed out */
  /* Marks of channels, at one time: parts were marked ready, left, arrived. */
  GROVE_MARK_READY,
  GROVE_MARK_SENT,
  GROVE_MARK_ARRIVED,
  /* What went out of a device's memory, or into it: on rows of their own. */
  GROVE_SPAN_OUT,
  GROVE_SPAN_IN
} grove_span_kind;

static inline int grove_span_is_device(grove_span_kind kind)
{
  return kind >= GROVE_SPAN_OUT;
}

typedef struct grove_span {
  grove_span_kind kind;
  int subject;
  int64_t start;     /* which start of its wiring, from 1; 0: it is about none */
  double begin, end; /* by this rank's clock; equal for a mark */
  double between;    /* of a wait or test: seconds since the start spent outside the library */
  int first, count;  /* of a mark: the parts; of a device's: how many batches */
} grove_span;

/* What is kept of a wiring's operations for the options `log` and `trace`. */
typedef struct grove_account {
  int kept;    /* either option: only then is the clock read at every start and wait */
  int counted; /* in the summary, in row `tally` */
  int own;     /* which is one of this rank's own */
  int traced;  /* as `subject` */
  int tally, subject;
} grove_account;

/* By how much this rank's clock is ahead of rank 0's, and how wrong that may be. */
typedef struct grove_reading {
  double here; /* when it was read, by this rank's clock */
  double ahead, error;
} grove_reading;

typedef struct grove_trace {
  char *wanted, *path; /* rank 0: the file as the option names it, and its final name */
  int64_t limit;       /* of spans and subjects together */
  int64_t nspans, nsubjects;
  grove_span *spans;
  grove_subject *subjects;
  int64_t dropped;     /* spans beyond the limit */
  double passed[2];    /* when the last span of a device ended, out and in; 0: there is none */
  double origin;       /* where the time line begins, by rank 0's clock */
  grove_reading first; /* when tracing was switched on */
  grove_reading last;  /* when the context was freed */
} grove_trace;

/* Begins a trace if the option asks for one and there is none; gives it the option's name. Agreed
 * by all. */
grove_status grove_trace_follow_option(grove_context *ctx);
void grove_trace_free(grove_trace **trace);

/* The time if spans are being noted, else 0: for the beginning of a span. */
static inline int grove_trace_is_on(const grove_context *ctx)
{
  return *ctx->options.trace != '\0' && ctx->trace;
}
static inline double grove_trace_clock(const grove_context *ctx)
{
  return grove_trace_is_on(ctx) ? grove_clock() : 0;
}

/* A number for spans to refer to; -1 if there is no room: its spans are then only counted. */
int grove_trace_subject(grove_trace *trace, const grove_subject *like);
void grove_trace_note(grove_trace *trace, const grove_span *span);

/* The set-up of a forest, which began at `since` and ends now. */
void grove_trace_set_up(grove_context *ctx, const char *forest, int64_t serial, double since);

/* Compares the clocks of all hosts with rank 0's; `origin` becomes rank 0's time when it began.
 * Agreed by all. */
grove_status grove_trace_compare_clocks(grove_context *ctx, grove_reading *out, double *origin);

/* The same at the end, on rank 0, with the ranks that are there (roll.h): a reading for every
 * domain, of which there are so many. Those of domains without such a rank stay as they were. */
int grove_trace_count_clocks(const grove_context *ctx);
void grove_trace_ask_clocks(grove_context *ctx, grove_reading *readings);

/* By how much this rank's clock is ahead of rank 0's, at a time of this rank's clock. Between two
 * readings clocks are taken to drift apart evenly. But readings that differ by no more than their
 * error count as no drift: in a short trace it would stretch the spans. */
double grove_reading_ahead(const grove_reading *a, const grove_reading *b, double time);

/* Prints as many lines of this rank as there is room for, from line `next` on (at first 0), and
 * moves `next` on. Returns the bytes, 0 after the last line. Every line begins with a comma.
 */
enum { GROVE_TRACE_LINE_BYTES = 8192 };
size_t grove_trace_print(const grove_context *ctx, int64_t *next, char *out, size_t room);

/* Rank 0 writes the spans of all ranks that are there to the file (roll.h). Its own failure. */
grove_status grove_trace_write(grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
