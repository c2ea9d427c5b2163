/* Numbers of runs: every run that may be written has one of its own, which leads back to its bytes;
 * the pieces of a run are the run; and parts beyond 4096 are taken together. */
#include "check.h"

#include "partitioned/layout.h"
#include "partitioned/way.h"

#include <stdlib.h>

enum { HUGE_CHUNK = 1 << 30 };

static void check_number(const grove_layout *l, int64_t number, int64_t offset, int64_t bytes)
{
  int64_t o = -1, b = -1;
  CHECK(number >= 0 && number < grove_layout_numbers(l), "number %lld", (long long)number);
  grove_layout_find(l, number, &o, &b);
  CHECK(o == offset && b == bytes, "number %lld: %lld bytes from %lld, not %lld from %lld",
        (long long)number, (long long)b, (long long)o, (long long)bytes, (long long)offset);
}

static void try_runs(int64_t parts, int64_t part_bytes)
{
  grove_layout l = {0};
  CHECK_OK(grove_layout_of_runs(parts, parts * part_bytes, HUGE_CHUNK, &l));
  int64_t numbers = grove_layout_numbers(&l);
  CHECK(numbers == parts * (parts + 1) / 2, "%lld numbers", (long long)numbers);
  char *used = calloc((size_t)numbers, 1);
  for (int64_t a = 0; a < parts; a++)
    for (int64_t b = a + 1; b <= parts; b++) {
      int64_t number, group;
      int64_t bytes = grove_layout_piece(&l, a * part_bytes, b * part_bytes, &number, &group);
      check_number(&l, number, a * part_bytes, (b - a) * part_bytes);
      CHECK(bytes == (b - a) * part_bytes && !used[number], "run %lld to %lld", (long long)a,
            (long long)b);
      used[number] = 1;
    }
  free(used);
  grove_layout_free(&l);
}

/* Whole grains have numbers, others are told in words. */
static void try_grains(int64_t parts)
{
  grove_layout l = {0};
  CHECK_OK(grove_layout_of_runs(parts, parts * 3, HUGE_CHUNK, &l));
  CHECK(l.n <= GROVE_MOST_GRAINS && l.n > GROVE_MOST_GRAINS / 2, "%lld grains", (long long)l.n);
  int64_t grain = l.grain, number, group;
  grove_layout_piece(&l, grain, 5 * grain, &number, &group);
  check_number(&l, number, grain, 4 * grain);
  grove_layout_piece(&l, 7 * grain, parts * 3, &number, &group);
  check_number(&l, number, 7 * grain, parts * 3 - 7 * grain);
  CHECK(grove_layout_piece(&l, grain + 3, 2 * grain, &number, &group) == grain - 3, "a part");
  CHECK(number == -1, "a part of a grain has number %lld", (long long)number);
  grove_layout_piece(&l, grain, 2 * grain + 3, &number, &group);
  CHECK(number == -1, "a grain and a part have number %lld", (long long)number);
  grove_layout_free(&l);
}

/* All pieces of [0, bytes) in order, each with its own number. */
static void try_groups(int64_t parts, int64_t part_bytes, int64_t ngroups, int64_t chunk)
{
  grove_layout l = {0};
  int64_t bytes = parts * part_bytes, at = 0, n = 0;
  CHECK_OK(grove_layout_of_groups(parts, bytes, ngroups, chunk, &l));
  for (int64_t g = 0; g < ngroups; g++) {
    int64_t end = grove_even_group(parts, ngroups, g + 1) * part_bytes;
    while (at < end) {
      int64_t number, group;
      int64_t piece = grove_layout_piece(&l, at, end, &number, &group);
      CHECK(piece > 0 && piece <= chunk && at + piece <= end && group == g, "a piece of %lld",
            (long long)piece);
      CHECK(number == n++, "number %lld", (long long)number);
      check_number(&l, number, at, piece);
      if (piece > 1) { /* the rest of a packet still has its number */
        int64_t rest = grove_layout_piece(&l, at + 1, end, &number, &group);
        CHECK(rest == piece - 1 && number == n - 1, "a rest of %lld", (long long)rest);
      }
      at += piece;
    }
  }
  CHECK(grove_layout_numbers(&l) == n, "%lld numbers", (long long)grove_layout_numbers(&l));
  grove_layout_free(&l);
}

/* A run longer than a message goes in pieces that have no numbers. */
static void try_long_runs(void)
{
  grove_layout l = {0};
  int64_t number, group, at = 0;
  CHECK_OK(grove_layout_of_runs(10, 1000, 64, &l));
  for (int pieces = 0; at < 200; pieces++) {
    CHECK(pieces < 4, "too many pieces");
    at += grove_layout_piece(&l, at, 200, &number, &group);
    CHECK(at > 136 || number == -1, "number %lld", (long long)number);
  }
  CHECK(at == 200, "at %lld", (long long)at);
  grove_layout_free(&l);
}

static void try_nothing(void)
{
  grove_layout l = {0};
  CHECK_OK(grove_layout_of_runs(0, 0, 64, &l));
  CHECK(grove_layout_numbers(&l) == 1, "a number for notes");
  CHECK_OK(grove_layout_of_groups(5, 0, 2, 64, &l));
  CHECK(grove_layout_numbers(&l) == 1, "a number for notes");
  grove_layout_free(&l);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/layout");
  for (int64_t parts = 1; parts <= 40; parts++) try_runs(parts, 1 + parts % 3);
  try_runs(128, 8);
  CHECK(128 * 129 / 2 == 8256, "as the design has it");
  try_grains(4097);
  try_grains(10000);
  for (int64_t parts = 1; parts <= 12; parts++)
    for (int64_t n = 1; n <= parts; n++)
      for (int64_t chunk = 1; chunk < 30; chunk += 7) try_groups(parts, 5, n, chunk);
  try_groups(5000, 2, 4999, 1000);
  try_long_runs();
  try_nothing();
  return test_end();
}
