#include "meeting.h"

#include <simgrid/s4u.hpp>

#include <algorithm>

namespace {

/* What ranks bring to one meeting. The next uses another table: some may still read this one. */
struct table {
  int came = 0;
  double maxima[MEETING_VALUES], sums[MEETING_VALUES];
};

table tables[2];
simgrid::s4u::BarrierPtr barrier;

void bring(table &t, const double *maxima, int nmaxima, const double *sums, int nsums)
{
  bool first = t.came++ == 0;
  for (int i = 0; i < nmaxima; i++)
    t.maxima[i] = first ? maxima[i] : std::max(t.maxima[i], maxima[i]);
  for (int i = 0; i < nsums; i++) t.sums[i] = first ? sums[i] : t.sums[i] + sums[i];
}

} // namespace

void meeting_wait(int ranks)
{
  if (!barrier) barrier = simgrid::s4u::Barrier::create(static_cast<unsigned>(ranks));
  barrier->wait();
}

void meeting_combine(int ranks, double *maxima, int nmaxima, double *sums, int nsums)
{
  static int next = 0; /* the table of the current meeting */
  table &t = tables[next];
  bring(t, maxima, nmaxima, sums, nsums);
  if (t.came == ranks) {
    t.came = 0;
    next = 1 - next;
  }
  meeting_wait(ranks);
  std::copy_n(t.maxima, nmaxima, maxima);
  std::copy_n(t.sums, nsums, sums);
}
