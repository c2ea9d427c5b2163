/* One rank's spans as lines of JSON. Times are printed from whole nanoseconds, so that neither the
 * locale nor rounding affects them: a span ends where its successor may begin.
 */
#include "context/trace.h"

#include <string.h>
#include <unistd.h>

/* ---- texts of users ---- */

static int continues_span(unsigned char c)
{
  return (c & 0xc0) == 0x80;
}

/* Length in bytes of the UTF-8 character that begins here; 0: none does. */
static int character_bytes(const unsigned char *c)
{
  if (c[0] < 0x80) return 1;
  if (c[0] < 0xc2 || c[0] > 0xf4 || !continues_span(c[1])) return 0;
  if (c[0] < 0xe0) return 2;
  if (!continues_span(c[2])) return 0;
  if (c[0] < 0xf0) /* no overlong form, and no half of a pair */
    return (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ? 0 : 3;
  if (!continues_span(c[3])) return 0;
  return (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f) ? 0 : 4;
}

/* A text as it stands between quotes. Bytes that are not UTF-8 become the replacement character. At
 * most six bytes for each of `text`. */
static void escape_text(const char *text, char *out)
{
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    int n = character_bytes(c);
    if (n == 0)
      out += sprintf(out, "\\ufffd");
    else if (*c == '"' || *c == '\\')
      out += sprintf(out, "\\%c", *c);
    else if (*c < ' ' || *c == 127)
      out += sprintf(out, "\\u%04x", *c);
    else
      out += sprintf(out, "%.*s", n, (const char *)c);
    c += n > 0 ? n : 1;
  }
  *out = '\0';
}

/* ---- times ---- */

double grove_reading_ahead(const grove_reading *a, const grove_reading *b, double time)
{
  double drift = b->ahead - a->ahead, error = a->error + b->error;
  if (drift <= error && -drift <= error) return a->error < b->error ? a->ahead : b->ahead;
  double part = b->here > a->here ? (time - a->here) / (b->here - a->here) : 0;
  return a->ahead + part * drift;
}

/* Nanoseconds from the beginning of the time line, by rank 0's clock; `time` is by this rank's. */
static int64_t on_time_line(const grove_trace *t, double time)
{
  double seconds = time - grove_reading_ahead(&t->first, &t->last, time) - t->origin;
  return seconds > 0 ? (int64_t)(1e9 * seconds + 0.5) : 0;
}

typedef struct decimal {
  char text[32];
} decimal;

/* Nanoseconds as microseconds. */
static decimal in_microseconds(int64_t ns)
{
  decimal d;
  snprintf(d.text, sizeof d.text, "%lld.%03lld", (long long)(ns / 1000), (long long)(ns % 1000));
  return d;
}

/* ---- lines ---- */

/* Rank r is thread r + 1 of process 1. Viewers take thread 0 for the idle thread of a kernel, and
 * show it in a row with others. Behind the ranks come two rows for each that has a device. */
enum { PROCESS = 1, FIRST_THREAD = 1 };

static int device_thread(const grove_context *ctx, int in)
{
  return FIRST_THREAD + ctx->size + 2 * ctx->rank + in;
}

static int thread_of(const grove_context *ctx, grove_span_kind kind)
{
  return grove_span_is_device(kind) ? device_thread(ctx, kind == GROVE_SPAN_IN)
                                    : FIRST_THREAD + ctx->rank;
}

/* Names the rows of its device, if anything was done there. */
static int print_device_rows(const grove_context *ctx, char *out, size_t room)
{
  static const char *const names[] = {"out of the device", "into the device"};
  int n = 0;
  for (int in = 0; in < 2; in++) {
    int thread = device_thread(ctx, in);
    if (ctx->trace->passed[in] == 0) continue;
    n += snprintf(out + n, room - (size_t)n,
                  ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
                  "\"args\":{\"name\":\"rank %d, %s, as the host saw it\"}},\n"
                  "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
                  "\"args\":{\"sort_index\":%d}}",
                  PROCESS, thread, ctx->rank, names[in], PROCESS, thread, thread);
  }
  return n;
}

/* Names this rank's row, for the viewer and for programs. */
static int print_rank(const grove_context *ctx, char *out, size_t room)
{
  const grove_trace *t = ctx->trace;
  char host[256] = "", name[6 * sizeof host], lost[64] = "";
  int rank = ctx->rank, thread = FIRST_THREAD + rank, node = ctx->place[rank].node;
  double error = t->first.error > t->last.error ? t->first.error : t->last.error;
  gethostname(host, sizeof host - 1);
  escape_text(host, name);
  if (t->dropped > 0) snprintf(lost, sizeof lost, ", %lld dropped", (long long)t->dropped);
  int n = snprintf(out, room,
                   ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
                   "\"args\":{\"name\":\"rank %d, node %d (%s)%s\"}},\n"
                   "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
                   "\"args\":{\"sort_index\":%d}}",
                   PROCESS, thread, rank, node, name, lost, PROCESS, thread, rank);
  n += snprintf(out + n, room - (size_t)n,
                ",\n{\"name\":\"grove_rank\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
                "\"args\":{\"rank\":%d,\"node\":%d,\"host\":\"%s\",\"spans\":%lld,"
                "\"dropped\":%lld,\"clock_error_us\":%s}}",
                PROCESS, thread, rank, node, name, (long long)t->nspans, (long long)t->dropped,
                in_microseconds((int64_t)(1e9 * error)).text);
  return n + print_device_rows(ctx, out + n, room - (size_t)n);
}

static const char *const verbs[] = {"set up", "init", "start",   "wait", "test", "timeout",
                                    "ready",  "sent", "arrived", "out",  "in"};

static int print_channel(const grove_subject *s, char *out, size_t room)
{
  return snprintf(out, room,
                  "\"channel\":\"%s %s\",\"peer\":%d,\"tag\":%d,\"number\":%lld,\"parts\":%lld,"
                  "\"part_bytes\":%lld",
                  s->operation, s->forest, s->peer, s->tag, (long long)s->number,
                  (long long)s->parts, (long long)s->unit_bytes);
}

/* Adds what is known of a span besides its time. */
static int print_arguments(const grove_subject *s, const grove_span *span, char *out, size_t room)
{
  if (span->kind == GROVE_SPAN_SET_UP) return snprintf(out, room, "%s", "");
  if (grove_span_is_device(span->kind))
    return snprintf(out, room, ",\"start\":%lld,\"batches\":%d,\"clock\":\"host\"",
                    (long long)span->start, span->count);
  if (span->kind >= GROVE_SPAN_WAIT)
    return snprintf(out, room, ",\"start\":%lld,\"between_us\":%s", (long long)span->start,
                    in_microseconds(span->between > 0 ? (int64_t)(1e9 * span->between) : 0).text);
  int n = snprintf(out, room, ",\"route\":\"%s\",\"unit_bytes\":%lld", s->route,
                   (long long)s->unit_bytes);
  if (span->kind == GROVE_SPAN_INIT) return n;
  if (s->is_channel)
    return n + snprintf(out + n, room - (size_t)n, ",\"start\":%lld", (long long)span->start);
  return n + snprintf(out + n, room - (size_t)n,
                      ",\"start\":%lld,\"on_node_messages\":%lld,\"on_node_bytes\":%lld,"
                      "\"off_node_messages\":%lld,\"off_node_bytes\":%lld",
                      (long long)span->start, (long long)s->on_node_messages,
                      (long long)s->on_node_bytes, (long long)s->off_node_messages,
                      (long long)s->off_node_bytes);
}

/* Parts that were marked, left or came: an event without a length. */
static int print_mark(const grove_context *ctx, const grove_span *mark, char *out, size_t room)
{
  const grove_trace *t = ctx->trace;
  const grove_subject *s = &t->subjects[mark->subject];
  const char *verb = verbs[mark->kind];
  int n = snprintf(out, room,
                   ",\n{\"name\":\"%s %s (%s)\",\"cat\":\"%s\",\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,"
                   "\"tid\":%d,\"ts\":%s,\"args\":{",
                   verb, s->operation, s->forest, verb, PROCESS, FIRST_THREAD + ctx->rank,
                   in_microseconds(on_time_line(t, mark->begin)).text);
  n += print_channel(s, out + n, room - (size_t)n);
  return n + snprintf(out + n, room - (size_t)n, ",\"start\":%lld,\"first\":%d,\"count\":%d}}",
                      (long long)mark->start, mark->first, mark->count);
}

static int print_span(const grove_context *ctx, const grove_span *span, char *out, size_t room)
{
  const grove_trace *t = ctx->trace;
  const grove_subject *s = &t->subjects[span->subject];
  const char *verb = verbs[span->kind];
  char name[2048];
  int64_t begin = on_time_line(t, span->begin), end = on_time_line(t, span->end);
  if (span->kind >= GROVE_MARK_READY && !grove_span_is_device(span->kind))
    return print_mark(ctx, span, out, room);
  escape_text(s->forest, name);
  int n = snprintf(out, room,
                   ",\n{\"name\":\"%s%s%s (%s)\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,"
                   "\"ts\":%s,\"dur\":%s,\"args\":{",
                   verb, s->operation ? " " : "", s->operation ? s->operation : "", name, verb,
                   PROCESS, thread_of(ctx, span->kind), in_microseconds(begin).text,
                   in_microseconds(end - begin).text);
  n += s->is_channel
         ? print_channel(s, out + n, room - (size_t)n)
         : snprintf(out + n, room - (size_t)n, "\"forest\":\"%s\",\"forest_number\":%lld", name,
                    (long long)s->serial);
  n += print_arguments(s, span, out + n, room - (size_t)n);
  return n + snprintf(out + n, room - (size_t)n, "}}");
}

size_t grove_trace_print(const grove_context *ctx, int64_t *next, char *out, size_t room)
{
  const grove_trace *t = ctx->trace;
  size_t used = 0;
  for (; *next <= t->nspans && room - used >= GROVE_TRACE_LINE_BYTES; (*next)++) {
    const grove_span *span = *next > 0 ? &t->spans[*next - 1] : NULL;
    used += (size_t)(span ? print_span(ctx, span, out + used, room - used)
                          : print_rank(ctx, out + used, room - used));
  }
  return used;
}
