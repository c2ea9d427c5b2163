#include "measure/probe.h"

#include "model/price.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- who ---- */

int grove_probe_pair(const grove_probe *p, grove_locality where, int *a, int *b)
{
  const grove_topo *topo = &p->ctx->topo;
  if (topo->nnodes == (where == GROVE_OFF_NODE ? 1 : topo->nranks)) return 0;
  for (int i = 0; i < topo->nranks; i++)
    for (int j = i + 1; j < topo->nranks; j++)
      if (grove_price_locality(topo, i, j) == where) {
        *a = i;
        *b = j;
        return 1;
      }
  return 0;
}

grove_pairing grove_probe_only(const grove_probe *p, int a, int b)
{
  int rank = p->ctx->rank;
  return (grove_pairing){.partner = rank == a ? b : rank == b ? a : -1, .leads = rank == a};
}

int grove_probe_ranks(const grove_probe *p, int node, int *ranks, int room)
{
  int n = 0;
  for (int r = 0; r < p->ctx->size && n < room; r++)
    if (p->ctx->topo.place[r].node == node) ranks[n++] = r;
  return n;
}

int grove_probe_fullest(const grove_probe *p)
{
  const grove_topo *topo = &p->ctx->topo;
  int best = 0, most = 0;
  for (int node = 0; node < topo->nnodes; node++) {
    int n = 0;
    for (int r = 0; r < topo->nranks; r++) n += topo->place[r].node == node;
    if (n > most) best = node;
    if (n > most) most = n;
    if (most > topo->nranks - most) break; /* no other node can have more */
  }
  return best;
}

/* ---- waiting ---- */

grove_status grove_probe_finish(grove_probe *p, int n, MPI_Request *requests)
{
  grove_pause pause;
  grove_pause_begin(&pause, p->ctx->spins);
  /* One after the other: looking at thousands again and again would dominate the measurement. */
  for (int i = 0; i < n;) {
    int done = 0;
    GROVE_PASS_MPI(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
    if (done)
      i++;
    else
      grove_context_pause(p->ctx, &pause);
  }
  return GROVE_OK;
}

grove_status grove_probe_doze(grove_probe *p, int n, MPI_Request *requests)
{
  struct timespec nap = {.tv_nsec = 50000};
  for (int done = 0; !done;) {
    GROVE_PASS_MPI(MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE));
    if (done) break;
    int depth = grove_context_let_go(p->ctx);
    nanosleep(&nap, NULL);
    grove_context_take_back(p->ctx, depth);
    if (nap.tv_nsec < 1000000) nap.tv_nsec += nap.tv_nsec / 4;
  }
  return GROVE_OK;
}

grove_status grove_probe_meet(grove_probe *p, double *values, int n)
{
  enum { MOST = 1024 };
  double mine[MOST], most[MOST];
  MPI_Request request;
  do { /* also for no values: ranks that meet wait for each other */
    int k = n < MOST ? n : MOST;
    memcpy(mine, values, (size_t)k * sizeof *mine);
    GROVE_PASS_MPI(MPI_Iallreduce(mine, most, k, MPI_DOUBLE, MPI_MAX, p->ctx->comm, &request));
    GROVE_PASS(grove_probe_doze(p, 1, &request));
    memcpy(values, most, (size_t)k * sizeof *mine);
    values += k;
    n -= k;
  } while (n > 0);
  return GROVE_OK;
}

/* ---- timing ---- */

/* Long enough for the clock, and short enough for a median over many batches. */
static const double BATCH_SECONDS = 0.002;
enum { FEWEST_BATCHES = 5, MOST_BATCHES = 101, MOST_REPEATS = 2000, WARM_UP = 2 };

grove_status grove_probe_time(grove_probe *p, const grove_pairing *part, grove_repeat *once,
                              int64_t bytes, double budget, grove_timing *out, double *spent)
{
  double batch[MOST_BATCHES], seconds[2] = {0, 0}, begin = grove_clock();
  if (part->partner >= 0) {
    GROVE_PASS(once(p, part, bytes, 1, &seconds[0])); /* pages, connections, caches */
    GROVE_PASS(once(p, part, bytes, WARM_UP, &seconds[0]));
  }
  GROVE_PASS(grove_probe_meet(p, seconds, 1));
  double each = fmax(seconds[0] / WARM_UP, 1e-8);
  int n = (int)fmin(fmax(BATCH_SECONDS / each, 1), MOST_REPEATS);
  int batches = (int)fmin(fmax(budget / (each * n), FEWEST_BATCHES), MOST_BATCHES);
  if (each * n * batches > 4 * budget) batches = 3; /* slow network: the fewest with a median */
  seconds[0] = 0;
  for (int i = 0; i < batches && part->partner >= 0; i++) {
    GROVE_PASS(once(p, part, bytes, n, &batch[i]));
    batch[i] /= n;
  }
  if (part->partner >= 0) seconds[0] = grove_median(batch, batches);
  seconds[1] = grove_clock() - begin;
  GROVE_PASS(grove_probe_meet(p, seconds, 2));
  *out = (grove_timing){seconds[0], batches};
  if (spent) *spent += seconds[1];
  return GROVE_OK;
}

static grove_status send_one(grove_probe *p, int64_t bytes, int to)
{
  MPI_Request request;
  GROVE_PASS_MPI(MPI_Isend(p->send, (int)bytes, MPI_BYTE, to, p->tag, p->ctx->comm, &request));
  return grove_probe_finish(p, 1, &request);
}

static grove_status receive_one(grove_probe *p, int64_t bytes, int from)
{
  MPI_Request request;
  GROVE_PASS_MPI(MPI_Irecv(p->receive, (int)bytes, MPI_BYTE, from, p->tag, p->ctx->comm, &request));
  return grove_probe_finish(p, 1, &request);
}

grove_status grove_probe_ping_pong(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                   double *seconds)
{
  double begin = grove_clock();
  for (int i = 0; i < n; i++) {
    if (part->leads) GROVE_PASS(send_one(p, bytes, part->partner));
    GROVE_PASS(receive_one(p, bytes, part->partner));
    if (!part->leads) GROVE_PASS(send_one(p, bytes, part->partner));
  }
  *seconds = grove_clock() - begin;
  return GROVE_OK;
}

/* ---- what comes of it ---- */

void grove_probe_announce(grove_probe *p, const char *what, double seconds)
{
  double elapsed = grove_clock() - p->began, done = p->promised / p->planned;
  p->promised += seconds;
  if (p->ctx->rank != 0 || !p->how->progress) return;
  /* What is left takes as long as planned, corrected by how the plan has held so far. */
  double pace = done > 0.1 ? elapsed / (done * p->planned) : 1;
  p->how->progress(p->how->self, what, done, (1 - done) * p->planned * pace);
}

void grove_probe_keep(grove_probe *p, const char *series, double x, double y)
{
  grove_status status = GROVE_OK;
  grove_points *points = p->points;
  if (!points) return;
  GROVE_GROW(points->point, points->count, 1);
  points->point[points->count++] = (grove_point){series, x, y, NAN};
  return;
fail:
  p->status = status;
}

void grove_probe_doubt(grove_probe *p, const char *format, ...)
{
  va_list arguments;
  size_t used = strlen(p->doubt), room = sizeof p->doubt;
  used += (size_t)snprintf(p->doubt + used, room - used, "%s", used > 0 ? ", and " : "");
  if (used >= room) return;
  va_start(arguments, format);
  vsnprintf(p->doubt + used, room - used, format, arguments);
  va_end(arguments);
}

/* Half of the points are further off than that: there is nothing that the row describes. */
static const double MOST_OFF = 0.75;

static void note_misfit(grove_probe *p, const char *term, const char *locality_name,
                        double residual)
{
  if (residual <= MOST_OFF) return;
  if (p->misfits++ > 0) return;
  snprintf(p->misfit, sizeof p->misfit, "%.30s %.30s, off by %.0f %%", term, locality_name,
           100 * residual);
}

/* `row` has the words and the exact value. */
static void write_row(grove_probe *p, const grove_row *row, const char *where, int samples,
                      double residual)
{
  char source[240];
  int used = snprintf(source, sizeof source, "%s%s, %d samples", p->source, where, samples);
  if (residual >= 0)
    snprintf(source + used, sizeof source - (size_t)used, ", residual %.1f %%", 100 * residual);
  /* Four digits are more than this is worth, and read better. */
  char text[32];
  snprintf(text, sizeof text, strcmp(row->unit, "B") == 0 ? "%.0f" : "%.4g", row->value);
  grove_status status = grove_machine_add(p->machine, row->term, row->memory, row->locality,
                                          row->range, strtod(text, NULL), row->unit, source);
  if (status != GROVE_OK) p->status = status;
}

void grove_probe_row(grove_probe *p, const char *term, const char *locality_name, const char *range,
                     double value, const char *unit, int samples, double residual)
{
  const grove_row row = {.term = (char *)term,
                         .memory = "cpu",
                         .locality = (char *)locality_name,
                         .range = (char *)range,
                         .value = value,
                         .unit = (char *)unit};
  note_misfit(p, term, locality_name, residual);
  write_row(p, &row, "", samples, residual);
}

void grove_probe_device_row(grove_probe *p, const char *term, const char *locality_name,
                            const char *range, double value, const char *unit, int samples,
                            double residual)
{
  const grove_row row = {.term = (char *)term,
                         .memory = "gpu",
                         .locality = (char *)locality_name,
                         .range = (char *)range,
                         .value = value,
                         .unit = (char *)unit};
  write_row(p, &row, p->on_device, samples, residual);
}

void grove_points_free(grove_points *points)
{
  free(points->point);
  *points = (grove_points){0};
}
