#include "transport/spans.h"

#include <stdlib.h>
#include <string.h>

/* Between two parts in use, and after the last of a region, there is at most one free span; and for
 * a moment one more. */
grove_status grove_spans_reserve(grove_spans *spans, int n)
{
  if (n < spans->room) return GROVE_OK;
  GROVE_PASS_GROW(spans->list, spans->room, n + 1 - spans->room);
  spans->room = n + 1;
  return GROVE_OK;
}

static void drop_span(grove_spans *spans, int at)
{
  grove_free_span *list = spans->list;
  spans->n--;
  memmove(&list[at], &list[at + 1], (size_t)(spans->n - at) * sizeof *list);
}

int grove_spans_take(grove_spans *spans, int64_t bytes, grove_free_span *out)
{
  int at = 0;
  while (at < spans->n && spans->list[at].bytes < bytes) at++;
  if (at == spans->n) return 0;
  grove_free_span *from = &spans->list[at];
  *out = (grove_free_span){from->region, from->offset, bytes};
  from->offset += bytes;
  from->bytes -= bytes;
  if (from->bytes == 0) drop_span(spans, at);
  return 1;
}

static int span_is_before(const grove_free_span *a, const grove_free_span *b)
{
  return a->region != b->region ? a->region < b->region : a->offset < b->offset;
}

/* Joins the span after `at` to it if they are adjacent. */
static void join_spans(grove_spans *spans, int at)
{
  grove_free_span *a = &spans->list[at], *b = a + 1;
  if (at < 0 || at + 1 >= spans->n) return;
  if (a->region != b->region || a->offset + a->bytes != b->offset) return;
  a->bytes += b->bytes;
  drop_span(spans, at + 1);
}

void grove_spans_give(grove_spans *spans, const grove_free_span *span)
{
  grove_free_span *list = spans->list;
  int at = 0;
  while (at < spans->n && span_is_before(&list[at], span)) at++;
  memmove(&list[at + 1], &list[at], (size_t)(spans->n - at) * sizeof *list);
  list[at] = *span;
  spans->n++;
  join_spans(spans, at);
  join_spans(spans, at - 1);
}

void grove_spans_free(grove_spans *spans)
{
  free(spans->list);
  *spans = (grove_spans){0};
}
