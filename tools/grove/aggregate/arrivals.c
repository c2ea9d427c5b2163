#include "grove/aggregate/arrivals.h"

#include "grove/command.h"
#include "measure/fit.h"
#include "json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- contents of the file ---- */

typedef enum mark_kind { MARK_START, MARK_READY, MARK_SENT, MARK_ARRIVED, MARK_KINDS } mark_kind;
static const char *const kinds[MARK_KINDS] = {"start", "ready", "sent", "arrived"};

/* An end of a channel. */
typedef struct end_of_channel {
  int rank, peer, tag, sends;
  int64_t number, parts, part_bytes;
} end_of_channel;

typedef struct mark {
  end_of_channel end;
  int64_t round, first, count;
  mark_kind kind;
  double time;
} mark;

/* A number in the range, or `least` - 1. */
static int64_t whole(const json_value *object, const char *key, int64_t least, int64_t most)
{
  double value = json_number_of(object, key, (double)least - 1);
  return value >= (double)least && value <= (double)most && value == floor(value) ? (int64_t)value
                                                                                  : least - 1;
}

/* 0: the event does not belong to a channel, or makes no sense. */
static int read_mark(const json_value *event, mark *out)
{
  enum { MOST_PARTS = 1 << 24 };
  const json_value *args = json_member(event, "args");
  const char *name = json_text_of(args, "channel", NULL);
  mark m = {.time = 1e-6 * json_number_of(event, "ts", NAN)};
  int kind = 0;
  if (!name || read_word(json_text_of(event, "cat", ""), kinds, MARK_KINDS, &kind)) return 0;
  m.kind = (mark_kind)kind;
  m.end.sends = strncmp(name, "psend ", 6) == 0;
  m.end.rank = (int)whole(event, "tid", 1, INT32_MAX) - 1;
  m.end.peer = (int)whole(args, "peer", 0, INT32_MAX);
  m.end.tag = (int)whole(args, "tag", 0, INT32_MAX);
  m.end.number = whole(args, "number", 0, INT32_MAX);
  m.end.parts = whole(args, "parts", 0, MOST_PARTS);
  m.end.part_bytes = whole(args, "part_bytes", 0, (int64_t)1 << 50);
  m.round = whole(args, "start", 1, (int64_t)1 << 50);
  if (kind != MARK_START) {
    m.first = whole(args, "first", 0, MOST_PARTS);
    m.count = whole(args, "count", 1, MOST_PARTS);
    if (m.count < 1) return 0;
  }
  *out = m;
  return isfinite(m.time) && m.end.rank >= 0 && m.end.peer >= 0 && m.end.tag >= 0 &&
         m.end.number >= 0 && m.end.parts > 0 && m.end.part_bytes >= 0 && m.round > 0 &&
         m.first >= 0 && m.first + m.count <= m.end.parts;
}

static int compare(int64_t a, int64_t b)
{
  return (a > b) - (a < b);
}

/* By sender and receiver: the two ends of a channel are adjacent, in a round. */
static int by_channel(const end_of_channel *a, const end_of_channel *b)
{
  int order = compare(a->sends ? a->rank : a->peer, b->sends ? b->rank : b->peer);
  if (!order) order = compare(a->sends ? a->peer : a->rank, b->sends ? b->peer : b->rank);
  if (!order) order = compare(a->tag, b->tag);
  return order ? order : compare(a->number, b->number);
}

static int by_round(const void *a, const void *b)
{
  const mark *x = a, *y = b;
  int order = by_channel(&x->end, &y->end);
  if (!order) order = compare(x->round, y->round);
  return order ? order : compare(x->kind, y->kind);
}

/* ---- a round ---- */

typedef struct round_times {
  double start;
  double *ready, *sent; /* of the sender's parts */
  double *sorted;
} round_times;

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void take_marks(const mark *marks, int64_t n, int64_t parts, round_times *out)
{
  out->start = NAN;
  for (int64_t p = 0; p < parts; p++) out->ready[p] = out->sent[p] = NAN;
  for (int64_t i = 0; i < n; i++) {
    const mark *m = &marks[i];
    if (!m->end.sends || m->end.parts != parts) continue;
    if (m->kind == MARK_START) out->start = m->time;
    for (int64_t p = m->first; p < m->first + m->count; p++) {
      if (m->kind == MARK_READY) out->ready[p] = m->time;
      if (m->kind == MARK_SENT) out->sent[p] = m->time;
    }
  }
}

static int is_whole(const round_times *t, int64_t parts)
{
  int yes = !isnan(t->start);
  for (int64_t p = 0; yes && p < parts; p++) yes = !isnan(t->ready[p]);
  return yes;
}

/* The least time from leaving to arriving. A part of the receiver has arrived when the last of the
 * sender's parts that overlap it has. */
static double quickest_of(const mark *marks, int64_t n, const sender *s, const round_times *t)
{
  double least = NAN;
  for (int64_t i = 0; i < n; i++) {
    const mark *m = &marks[i];
    if (m->kind != MARK_ARRIVED || m->end.part_bytes == 0 || s->part_bytes == 0) continue;
    for (int64_t q = m->first; q < m->first + m->count; q++) {
      int64_t first = q * m->end.part_bytes / s->part_bytes;
      int64_t last = ((q + 1) * m->end.part_bytes - 1) / s->part_bytes;
      double left = NAN;
      for (int64_t p = first; p <= last && p < s->parts; p++) left = fmax(left, t->sent[p]);
      least = fmin(least, m->time - left);
    }
  }
  return least;
}

/* ---- a channel ---- */

/* Adds a round: `delta` and `late` grow by one. */
static void add_round(sender *s, const round_times *t, double *delta, double *late)
{
  int64_t n = s->parts, k = s->rounds++;
  memcpy(t->sorted, t->ready, (size_t)n * sizeof *t->sorted);
  qsort(t->sorted, (size_t)n, sizeof *t->sorted, by_value);
  delta[k] = n > 1 ? t->sorted[n - 2] - t->sorted[0] : 0;
  late[k] = n > 1 ? t->sorted[n - 1] - t->sorted[n - 2] : 0;
  for (int64_t p = 0; p < n; p++) s->ready[p] += t->ready[p] - t->start;
}

static int64_t count_alike(const mark *marks, int64_t n, int rounds_too)
{
  int64_t i = 1;
  while (i < n && by_channel(&marks[0].end, &marks[i].end) == 0 &&
         (!rounds_too || marks[0].round == marks[i].round))
    i++;
  return i;
}

static const end_of_channel *find_sender(const mark *marks, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    if (marks[i].end.sends && marks[i].kind == MARK_READY) return &marks[i].end;
  return NULL;
}

/* The marks belong to one channel, sorted by round. Nonzero: out of memory. */
static int sum_up(const mark *marks, int64_t n, sender *s)
{
  size_t parts = (size_t)s->parts, rounds = (size_t)n;
  double *room = malloc((3 * parts + 2 * rounds) * sizeof *room);
  s->ready = calloc(parts, sizeof *s->ready);
  if (!room || !s->ready) {
    free(room);
    return 1;
  }
  round_times t = {.ready = room, .sent = room + parts, .sorted = room + 2 * parts};
  double *delta = room + 3 * parts, *late = delta + rounds;
  s->quickest = NAN;
  for (int64_t i = 0, more; i < n; i += more) {
    more = count_alike(marks + i, n - i, 1);
    take_marks(marks + i, more, s->parts, &t);
    if (!is_whole(&t, s->parts)) continue;
    add_round(s, &t, delta, late);
    s->quickest = fmin(s->quickest, quickest_of(marks + i, more, s, &t));
  }
  for (size_t p = 0; s->rounds > 0 && p < parts; p++) s->ready[p] /= (double)s->rounds;
  if (s->rounds > 0) {
    s->delta = grove_median(delta, (int)s->rounds);
    s->delta_most = delta[s->rounds - 1];
    s->late = grove_median(late, (int)s->rounds);
  }
  free(room);
  return 0;
}

static int sum_up_all(const mark *marks, int64_t n, arrivals *out)
{
  int64_t channels = 0;
  for (int64_t i = 0; i < n; i += count_alike(marks + i, n - i, 0)) channels++;
  out->senders = calloc((size_t)channels + 1, sizeof *out->senders);
  if (!out->senders) return 1;
  for (int64_t i = 0, more; i < n; i += more) {
    more = count_alike(marks + i, n - i, 0);
    const end_of_channel *e = find_sender(marks + i, more);
    if (!e) continue;
    sender *s = &out->senders[out->n++];
    *s = (sender){.rank = e->rank,
                  .peer = e->peer,
                  .tag = e->tag,
                  .number = e->number,
                  .parts = e->parts,
                  .part_bytes = e->part_bytes};
    if (sum_up(marks + i, more, s)) return 1;
    if (s->rounds > 0) continue;
    free(s->ready);
    out->n--;
  }
  return 0;
}

/* ---- the file ---- */

static int complain(const char *path, const char *what)
{
  fprintf(stderr, "grove aggregate: %s%s\n", path, what);
  return EXIT_BAD_INPUT;
}

int arrivals_open(const char *path, arrivals *out)
{
  json_document d;
  json_error error;
  int64_t n = 0;
  *out = (arrivals){0};
  if (json_open(path, &d, &error)) return complain("", error.sentence);
  const json_value *events = json_member(d.root, "traceEvents");
  mark *marks = events && events->type == JSON_IS_LIST
                  ? malloc(((size_t)events->count + 1) * sizeof *marks)
                  : NULL;
  int status = EXIT_OK;
  if (!marks) status = complain(path, events ? ": no memory" : ": this is no trace of Grove");
  for (const json_value *e = marks ? events->first : NULL; e; e = e->next)
    n += read_mark(e, &marks[n]);
  json_close(&d);
  if (marks) qsort(marks, (size_t)n, sizeof *marks, by_round);
  if (marks && sum_up_all(marks, n, out)) status = complain(path, ": no memory");
  free(marks);
  if (status == EXIT_OK && out->n == 0)
    status = complain(path, ": no channel of this trace has a whole round of a sender");
  if (status != EXIT_OK) arrivals_close(out);
  return status;
}

void arrivals_close(arrivals *a)
{
  for (int i = 0; i < a->n; i++) free(a->senders[i].ready);
  free(a->senders);
  *a = (arrivals){0};
}
