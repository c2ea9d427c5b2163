#include "kit/row.h"

#include <stdio.h>
#include <string.h>

static const char *outcome(bench_interval ratio)
{
  if (ratio.high < 1) return "win";
  return ratio.low > 1 ? "loss" : "tie";
}

/* To three digits: malloc rounds to 16 bytes, and a clock has its ticks. */
static const char *judgement(bench_interval ratio, double target)
{
  double most = target * 1.0005;
  if (target == 0) return "-";
  if (ratio.value <= most) return "met";
  return ratio.low <= most ? "within" : "missed";
}

void bench_row_print(const bench_row *row, const double values[2], bench_interval ratio,
                     double target)
{
  int alone = strcmp(row->peer, "value") == 0;
  printf("row %s %s %s %s %.6g %.6g %.4f %.4f %.4f %g %s %s\n", row->name, row->method, row->peer,
         row->against, values[0], values[1], ratio.value, ratio.low, ratio.high, target,
         alone ? "-" : outcome(ratio), judgement(ratio, target));
}
