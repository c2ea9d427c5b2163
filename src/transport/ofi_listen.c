/* Numbers, and who hears of them. Those of a listener are in a row. They are given out in turn,
 * all 2^31 of them, before one is given out again: what was written to a listener that has left
 * may still come.
 */
#ifdef GROVE_LIBFABRIC

#include "transport/ofi_parts.h"

#include <string.h>

static const int64_t NUMBERS = INT64_C(1) << 31;

/* How many listeners have a base of at most this. */
static int find_listener(const grove_fabric *f, uint32_t number)
{
  int low = 0, high = f->nlisteners;
  while (low < high) {
    int middle = (low + high) / 2;
    if (f->listeners[middle]->base <= number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int64_t end_of_numbers(const grove_fabric_listener *l)
{
  return (int64_t)l->base + l->n;
}

/* The first gap from `from` on that has room, or -1. */
static int64_t find_number_gap(const grove_fabric *f, int64_t from, int64_t n)
{
  int i = find_listener(f, (uint32_t)from);
  int64_t at = i > 0 && end_of_numbers(f->listeners[i - 1]) > from
                 ? end_of_numbers(f->listeners[i - 1])
                 : from;
  while (i < f->nlisteners && f->listeners[i]->base - at < n)
    at = end_of_numbers(f->listeners[i++]);
  return NUMBERS - at < n ? -1 : at;
}

grove_status grove_fabric_listen(grove_fabric *f, grove_fabric_listener *listener, int64_t n)
{
  int64_t base = find_number_gap(f, f->next_number, n);
  if (base < 0) base = find_number_gap(f, 0, n);
  GROVE_PASS_CHECK(base >= 0, GROVE_ERR_UNSUPPORTED,
                   "libfabric's %s: %lld numbers are wanted, and of 2147483648 there are not as "
                   "many left in a row",
                   f->about.provider, (long long)n);
  GROVE_PASS_GROW(f->listeners, f->nlisteners, 1);
  listener->base = (uint32_t)base;
  listener->n = n;
  int at = find_listener(f, listener->base);
  memmove(f->listeners + at + 1, f->listeners + at,
          (size_t)(f->nlisteners - at) * sizeof *f->listeners);
  f->listeners[at] = listener;
  f->nlisteners++;
  f->next_number = base + n < NUMBERS ? base + n : 0;
  return GROVE_OK;
}

void grove_fabric_leave(grove_fabric *f, grove_fabric_listener *listener)
{
  int at = find_listener(f, listener->base) - 1;
  if (listener->n == 0 || at < 0 || f->listeners[at] != listener) return;
  f->nlisteners--;
  memmove(f->listeners + at, f->listeners + at + 1,
          (size_t)(f->nlisteners - at) * sizeof *f->listeners);
  listener->n = 0;
}

/* Whose number is it? NULL: of one who has left. */
static grove_fabric_listener *whose_number(const grove_fabric *f, uint32_t number)
{
  int at = find_listener(f, number) - 1;
  return at >= 0 && number < end_of_numbers(f->listeners[at]) ? f->listeners[at] : NULL;
}

void grove_fabric_came(grove_fabric *f, uint32_t number)
{
  const grove_fabric_listener *l = whose_number(f, number);
  if (l) l->come(l->self, (int64_t)number - l->base);
}

void grove_fabric_heard(grove_fabric *f, const grove_fabric_note *note, const char *data)
{
  if (note->kind == GROVE_FABRIC_CAME) {
    grove_fabric_came(f, note->number);
    return;
  }
  const grove_fabric_listener *l = whose_number(f, note->number);
  if (l)
    l->hear(l->self, (int64_t)note->number - l->base, note, data);
  else if (note->kind == GROVE_FABRIC_BYE && f->unanswered > 0)
    f->unanswered--;
}

#endif
