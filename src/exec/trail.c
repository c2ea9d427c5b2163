/* The option `trace`: what an operation has under way on devices. A span begins when something is
 * asked for, and ends when a poll sees the word that the device writes behind it. Both are times of
 * the host: how long the device itself was at work is not known.
 */
#include "exec/transfer.h"

#include <stdlib.h>

/* More at once are one span. */
enum { MOST_ASKED = 32 };

typedef struct asked {
  int space;
  grove_heading heading;
  int64_t mark;
  int batches;
  double since;
} asked;

struct grove_trail {
  int n;
  asked under_way[MOST_ASKED]; /* in the order in which they were begun */
};

/* The latest of one heading in a space; NULL: none. */
static asked *latest_asked(grove_trail *trail, int space, grove_heading heading)
{
  for (int i = trail->n - 1; i >= 0; i--)
    if (trail->under_way[i].space == space && trail->under_way[i].heading == heading)
      return &trail->under_way[i];
  return NULL;
}

void grove_trail_add(grove_transfer *op, int space, grove_heading heading, int64_t mark)
{
  if (!op->trail) op->trail = grove_memory(1, sizeof *op->trail);
  const grove_space *s = &op->spaces[space];
  if (!op->trail || mark <= s->kind->passed(s->lift, heading)) return;
  asked *last = latest_asked(op->trail, space, heading);
  if (last && last->mark >= mark) return; /* in the same batch */
  if (op->trail->n < MOST_ASKED) {
    op->trail->under_way[op->trail->n++] = (asked){space, heading, mark, 1, grove_clock()};
  } else if (last) {
    last->mark = mark;
    last->batches++;
  }
}

static void note_passed(const grove_transfer *op, const asked *a, double now)
{
  grove_span span = {.kind = a->heading == GROVE_OUT ? GROVE_SPAN_OUT : GROVE_SPAN_IN,
                     .subject = op->wiring->account.subject,
                     .start = op->sequence,
                     .begin = a->since,
                     .end = now,
                     .count = a->batches};
  grove_trace_note(op->base.ctx->trace, &span);
}

void grove_trail_look(grove_transfer *op)
{
  grove_trail *trail = op->trail;
  double now = trail->n > 0 ? grove_clock() : 0;
  int left = 0;
  for (int i = 0; i < trail->n; i++) {
    const asked a = trail->under_way[i];
    const grove_space *s = &op->spaces[a.space];
    if (s->kind->passed(s->lift, a.heading) >= a.mark)
      note_passed(op, &a, now);
    else
      trail->under_way[left++] = a;
  }
  trail->n = left;
}
