/* LogGP by size, by parametrised round trips (Hoefler, Lichei, Rehm: "Low-overhead LogGP parameter
 * assessment", 2007): n messages one way and one back. What n messages take beyond one, divided by
 * n - 1, is g + (s - 1) G. This does not need L by itself.
 *
 * Overheads are processor time: a train of messages is sent while waiting ranks sleep, and the
 * processor time at each end is taken. That paper delays the sender between messages instead, which
 * shows the time inside MPI. If ranks share cores and networks are slow, time inside MPI is mostly
 * waiting. What the model needs is how busy the processor is.
 */
#include "measure/probe.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_IN_FLIGHT = 64 };

/* About how much a dozing rank oversleeps. */
static const double NAP_SECONDS = 0.0005;

/* n messages from the leader, then an answer. */
static grove_status time_train(grove_probe *p, const grove_pairing *part, int64_t bytes, int length)
{
  MPI_Request request[MOST_IN_FLIGHT];
  for (int i = 0; i < length; i++)
    if (part->leads)
      GROVE_PASS_MPI(
        MPI_Isend(p->send, (int)bytes, MPI_BYTE, part->partner, p->tag, p->ctx->comm, &request[i]));
    else
      GROVE_PASS_MPI(MPI_Irecv(p->receive, (int)bytes, MPI_BYTE, part->partner, p->tag,
                               p->ctx->comm, &request[i]));
  GROVE_PASS(grove_probe_finish(p, length, request));
  if (part->leads)
    GROVE_PASS_MPI(MPI_Irecv(p->receive, (int)bytes, MPI_BYTE, part->partner, p->tag, p->ctx->comm,
                             &request[0]));
  else
    GROVE_PASS_MPI(
      MPI_Isend(p->send, (int)bytes, MPI_BYTE, part->partner, p->tag, p->ctx->comm, &request[0]));
  return grove_probe_finish(p, 1, request);
}

static grove_status repeat_trains(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                  int length, double *seconds)
{
  double begin = grove_clock();
  for (int i = 0; i < n; i++) GROVE_PASS(time_train(p, part, bytes, length));
  *seconds = grove_clock() - begin;
  return GROVE_OK;
}

static grove_status time_single(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                double *seconds)
{
  return repeat_trains(p, part, bytes, n, 1, seconds);
}

static grove_status time_many(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                              double *seconds)
{
  return repeat_trains(p, part, bytes, n, GROVE_TRAIN, seconds);
}

static double processor_seconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A train of messages one way, `rounds` times, dozing; processor time per message at each end. */
static grove_status time_overheads(grove_probe *p, const grove_pairing *part, int64_t bytes,
                                   int rounds, double *o_s, double *o_r)
{
  double each[2] = {0, 0}, begin = processor_seconds();
  int length = bytes > 65536 ? 4 : MOST_IN_FLIGHT;
  for (int k = 0; k < rounds && part->partner >= 0; k++) {
    MPI_Request request[MOST_IN_FLIGHT];
    for (int i = 0; i < length; i++)
      if (part->leads)
        GROVE_PASS_MPI(MPI_Isend(p->send, (int)bytes, MPI_BYTE, part->partner, p->tag, p->ctx->comm,
                                 &request[i]));
      else
        GROVE_PASS_MPI(MPI_Irecv(p->receive, (int)bytes, MPI_BYTE, part->partner, p->tag,
                                 p->ctx->comm, &request[i]));
    GROVE_PASS(grove_probe_doze(p, length, request));
  }
  each[part->leads ? 0 : 1] = (processor_seconds() - begin) / (rounds * length);
  if (part->partner < 0) each[0] = each[1] = 0;
  GROVE_PASS(grove_probe_meet(p, each, 2));
  *o_s = each[0];
  *o_r = each[1];
  return GROVE_OK;
}

typedef struct sized {
  int64_t bytes;
  double one_way, per_message, o_s, o_r;
  int samples;
} sized;

/* What each further message of a train takes. If other programs are at work, the times may make no
 * sense, and are taken again; 0: none did. */
static grove_status time_message(grove_probe *p, const grove_pairing *part,
                                 const grove_trains *trains, double budget, sized *x, double *spent)
{
  enum { TRIES = 3 };
  for (int i = 0; i < TRIES && x->per_message <= 0; i++) {
    grove_timing one, more;
    GROVE_PASS(grove_probe_time(p, part, trains->one, x->bytes, 0.3 * budget, &one, spent));
    GROVE_PASS(grove_probe_time(p, part, trains->many, x->bytes, 0.5 * budget, &more, spent));
    x->one_way = one.seconds / 2;
    x->per_message = fmax((more.seconds - one.seconds) / (GROVE_TRAIN - 1), 0);
    x->samples = one.samples + more.samples;
  }
  return GROVE_OK;
}

static grove_status measure_size(grove_probe *p, const grove_pairing *part,
                                 const grove_trains *trains, double budget, sized *x, double *spent)
{
  GROVE_PASS(time_message(p, part, trains, budget, x, spent));
  if (trains->whole) return GROVE_OK;
  int length = x->bytes > 65536 ? 4 : MOST_IN_FLIGHT;
  double round_seconds = length * x->per_message + NAP_SECONDS;
  int rounds = (int)fmin(fmax(0.2 * budget / round_seconds, 3), 200);
  return time_overheads(p, part, x->bytes, rounds, &x->o_s, &x->o_r);
}

/* The range that this size is in. */
static const grove_fit *range_at(const grove_fit *range, int n, double bytes)
{
  int k = 0;
  while (k + 1 < n && range[k + 1].from <= bytes) k++;
  return &range[k];
}

static void write_size(grove_probe *p, const grove_trains *trains, const sized *x,
                       const sized *next, const grove_fit *line)
{
  grove_postal train = line->cost;
  const char *name = grove_locality_names[trains->where];
  char range[48];
  int64_t from = x->bytes > 1 ? x->bytes : 0;
  if (next)
    snprintf(range, sizeof range, "%lld..%lld", (long long)from, (long long)next->bytes - 1);
  else
    snprintf(range, sizeof range, "%lld..", (long long)from);
  double L = x->one_way - x->o_s - x->o_r - train.beta * (double)(x->bytes - 1);
  grove_probe_row(p, trains->L, name, range, fmax(L, 0), "s", x->samples, -1);
  if (!trains->whole) {
    grove_probe_row(p, "o_s", name, range, x->o_s, "s", x->samples, -1);
    grove_probe_row(p, "o_r", name, range, x->o_r, "s", x->samples, -1);
  }
  grove_probe_row(p, trains->g, name, range, train.alpha, "s", x->samples, line->residual);
  grove_probe_row(p, trains->G, name, range, train.beta, "s/B", x->samples, line->residual);
}

grove_status grove_measure_trains(grove_probe *p, const grove_pairing *part,
                                  const grove_trains *trains, double seconds)
{
  static const int64_t sizes[] = {1,     64,    256,   1024,   2048,   4096,   8192,
                                  16384, 32768, 65536, 131072, 262144, 1048576};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  sized x[SIZES];
  grove_sample sample[SIZES];
  grove_fit range[GROVE_RANGES];
  int n = 0, good = 0;
  double spent = 0;
  for (; n < SIZES && spent < 1.5 * seconds; n++) {
    x[n] = (sized){.bytes = sizes[n]};
    GROVE_PASS(measure_size(p, part, trains, seconds / SIZES, &x[n], &spent));
    if (x[n].per_message <= 0) continue;
    sample[good++] = (grove_sample){(double)x[n].bytes, x[n].per_message};
    if (trains->series) grove_probe_keep(p, trains->series, (double)x[n].bytes, x[n].per_message);
  }
  p->dropped += n - good;
  if (good == 0)
    grove_probe_doubt(p, "no train of messages %s made sense", grove_locality_names[trains->where]);
  int ranges = grove_fit_ranges(sample, good, GROVE_RANGES, range);
  for (int i = 0; i < n && ranges > 0; i++)
    write_size(p, trains, &x[i], i + 1 < n ? &x[i + 1] : NULL,
               range_at(range, ranges, (double)x[i].bytes));
  return GROVE_OK;
}

grove_status grove_measure_loggp(grove_probe *p, grove_locality where, double seconds)
{
  static const char *const series[GROVE_LOCALITIES] = {"stream on-socket", "stream on-node",
                                                       "stream off-node"};
  const grove_trains trains = {.where = where,
                               .series = series[where],
                               .L = "L",
                               .g = "g",
                               .G = "G",
                               .one = time_single,
                               .many = time_many};
  int a, b;
  if (!grove_probe_pair(p, where, &a, &b)) return GROVE_OK;
  grove_probe_announce(p, series[where], seconds);
  grove_pairing part = grove_probe_only(p, a, b);
  return grove_measure_trains(p, &part, &trains, seconds);
}
