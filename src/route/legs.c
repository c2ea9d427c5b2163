#include "route/legs.h"

#include <stdlib.h>

grove_status grove_legs_add(grove_legs *legs, const grove_leg *leg)
{
  GROVE_PASS_GROW(legs->leg, legs->count, 1);
  legs->leg[legs->count++] = *leg;
  return GROVE_OK;
}

void grove_legs_free(grove_legs *legs)
{
  free(legs->leg);
  *legs = (grove_legs){0};
}

void grove_legs_sort(grove_legs *legs, grove_legs_order order)
{
  if (legs->count > 1) qsort(legs->leg, (size_t)legs->count, sizeof *legs->leg, order);
}

static int compare_numbers(int64_t a, int64_t b)
{
  return (a > b) - (a < b);
}

int grove_legs_by_block(const void *a, const void *b)
{
  const grove_leg *x = a, *y = b;
  if (x->from != y->from) return compare_numbers(x->from, y->from);
  if (x->node != y->node) return compare_numbers(x->node, y->node);
  return compare_numbers(x->begin, y->begin);
}

static int by_from_and_begin(const grove_leg *x, const grove_leg *y)
{
  if (x->from != y->from) return compare_numbers(x->from, y->from);
  return compare_numbers(x->begin, y->begin);
}

int grove_legs_by_sender(const void *a, const void *b)
{
  const grove_leg *x = a, *y = b;
  if (x->sender != y->sender) return compare_numbers(x->sender, y->sender);
  if (x->receiver != y->receiver) return compare_numbers(x->receiver, y->receiver);
  return by_from_and_begin(x, y);
}

int grove_legs_by_receiver(const void *a, const void *b)
{
  const grove_leg *x = a, *y = b;
  if (x->receiver != y->receiver) return compare_numbers(x->receiver, y->receiver);
  if (x->sender != y->sender) return compare_numbers(x->sender, y->sender);
  return by_from_and_begin(x, y);
}
