#include "measure/measure.h"

#include "measure/probe.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long each step may take, in seconds at normal effort. */
static const double CORES = 0.6, POSTAL = 6, LOGGP = 3, FABRIC = 3, QUEUE = 3, INJECTION = 3,
                    CONTENTION = 2, SHARED = 3, CROWD = 2, PACK = 0.5, DEVICE = 4, LINKS = 1,
                    EXCHANGES = 12;

static double scale_rounds(grove_effort effort)
{
  static const double of[] = {
    [GROVE_MEASURE_QUICK] = 0.15, [GROVE_MEASURE_NORMAL] = 1, [GROVE_MEASURE_THOROUGH] = 8};
  return of[effort];
}

/* The total time that will be needed. */
static double plan_measure(const grove_probe *p)
{
  int a, b;
  double seconds = CORES + QUEUE + SHARED + PACK;
  for (int where = 0; where < GROVE_LOCALITIES; where++)
    if (grove_probe_pair(p, (grove_locality)where, &a, &b)) seconds += POSTAL + LOGGP;
  if (p->ctx->topo.nnodes >= 2) seconds += INJECTION + CROWD + (p->how->fabric ? FABRIC : 0);
  if (p->ctx->topo.nnodes >= 4) seconds += CONTENTION;
  if (p->devices > 0) seconds += DEVICE;
  if (p->devices > 1) seconds += LINKS;
  if (p->ctx->size > 1) seconds += EXCHANGES;
  return seconds * scale_rounds(p->how->effort);
}

/* ---- what the profile is about ---- */

static grove_status describe_machine(grove_probe *p)
{
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "", processor[128], about[512];
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  mpi[strcspn(mpi, "\n,")] = '\0';
  grove_topo_processor(processor, sizeof processor);
  snprintf(about, sizeof about, "%.100s; %.100s; measured with %d ranks on %d nodes", processor,
           mpi, p->ctx->size, p->ctx->topo.nnodes);
  free(p->machine->about);
  p->machine->about = strdup(about);
  GROVE_PASS_CHECK(p->machine->about, GROVE_ERR_MEMORY, "no memory for a text");
  return GROVE_OK;
}

/* The shape: what a full node of this job has. */
static grove_status write_shape(grove_probe *p)
{
  grove_status status = GROVE_OK;
  const grove_topo *topo = &p->ctx->topo;
  int sockets = 1, ranks = 0;
  int *count = NULL;
  GROVE_NEW(count, topo->nnodes);
  for (int r = 0; r < topo->nranks; r++) {
    if (topo->place[r].socket + 1 > sockets) sockets = topo->place[r].socket + 1;
    if (++count[topo->place[r].node] > ranks) ranks = count[topo->place[r].node];
  }
  GROVE_TRY(grove_machine_add(p->machine, "sockets", "-", "node", "-", sockets, "1", p->source));
  GROVE_TRY(grove_machine_add(p->machine, "ranks", "-", "node", "-", ranks, "1", p->source));
fail:
  free(count);
  return status;
}

/* ---- all of it ---- */

static grove_status open_probe(grove_probe *p)
{
  time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(p->source, sizeof p->source, "measured %Y-%m-%d", &utc);
  GROVE_PASS_NEW(p->send, GROVE_PROBE_BYTES);
  GROVE_PASS_NEW(p->receive, GROVE_PROBE_BYTES);
  GROVE_PASS_NEW(p->requests, GROVE_PROBE_TAGS);
  memset(p->send, 1, GROVE_PROBE_BYTES); /* so that pages exist before anything is timed */
  memset(p->receive, 1, GROVE_PROBE_BYTES);
  GROVE_PASS(grove_machine_create("measured", &p->machine));
  GROVE_PASS(describe_machine(p));
  return write_shape(p);
}

static void close_probe(grove_probe *p)
{
  free(p->send);
  free(p->receive);
  grove_machine_free(&p->machine);
  free(p->requests);
}

static grove_status measure_all(grove_probe *p)
{
  double by = scale_rounds(p->how->effort);
  GROVE_PASS(grove_measure_cores(p, by * CORES));
  for (int where = 0; where < GROVE_LOCALITIES; where++) {
    GROVE_PASS(grove_measure_postal(p, (grove_locality)where, by * POSTAL));
    GROVE_PASS(grove_measure_loggp(p, (grove_locality)where, by * LOGGP));
  }
  GROVE_PASS(grove_measure_fabric(p, by * FABRIC));
  GROVE_PASS(grove_measure_queue(p, by * QUEUE));
  GROVE_PASS(grove_measure_injection(p, by * INJECTION));
  GROVE_PASS(grove_measure_contention(p, by * CONTENTION));
  GROVE_PASS(grove_measure_shared(p, by * SHARED));
  GROVE_PASS(grove_measure_pack(p, by * PACK));
  GROVE_PASS(grove_measure_crowd(p, by * CROWD));
  GROVE_PASS(grove_measure_device(p, by * DEVICE));
  GROVE_PASS(grove_measure_links(p, by * LINKS));
  GROVE_PASS(grove_measure_exchanges(p, by * EXCHANGES));
  GROVE_PASS(grove_measure_others(p));
  if (p->ctx->rank == 0 && p->how->progress) p->how->progress(p->how->self, "done", 1, 0);
  return GROVE_OK;
}

/* Says in the profile why it is not to be trusted. One or two points may make no sense even on a
 * quiet machine: where ranks outnumber cores. */
static grove_status write_doubt(grove_probe *p)
{
  enum { FEW = 2 };
  char about[1024];
  if (p->misfits > 0)
    grove_probe_doubt(p, "%d rows are far off what was measured, first %s", p->misfits, p->misfit);
  if (p->dropped > FEW) grove_probe_doubt(p, "%d points made no sense", p->dropped);
  if (*p->doubt == '\0') return GROVE_OK;
  snprintf(about, sizeof about, "%s" GROVE_DOUBTFUL "%s", p->machine->about, p->doubt);
  free(p->machine->about);
  p->machine->about = strdup(about);
  GROVE_PASS_CHECK(p->machine->about, GROVE_ERR_MEMORY, "no memory for a text");
  return GROVE_OK;
}

/* Complete if nothing that formulas use is missing. */
static grove_status judge_time(grove_machine *m)
{
  char missing[256];
  grove_status status = grove_machine_digest(m);
  grove_machine_missing(m, missing, sizeof missing);
  m->standing = *missing ? GROVE_INCOMPLETE : GROVE_COMPLETE;
  return status;
}

/* Measuring runs operations of its own. They must not be priced on a machine that is still being
 * measured. The context's machine is kept in `before`. */
static grove_status begin_measure(grove_probe *p, grove_machine **before)
{
  *before = p->ctx->machine;
  GROVE_PASS(grove_machine_create("unknown", &p->ctx->machine));
  GROVE_PASS(grove_probe_open_fabric(p));
  return open_probe(p);
}

grove_status grove_measure(grove_context *ctx, const grove_measuring *how, grove_points *points,
                           grove_machine **out)
{
  grove_status status = GROVE_OK;
  grove_machine *before = NULL;
  grove_probe p = {.ctx = ctx, .how = how, .points = points};
  GROVE_TRY(grove_context_agree(ctx, begin_measure(&p, &before), NULL, 0));
  p.tag = ctx->tag_limit - GROVE_PROBE_TAGS;
  GROVE_TRY(grove_probe_find_device(&p));
  p.began = grove_clock();
  grove_others_begin(&p);
  p.planned = plan_measure(&p);
  GROVE_TRY(measure_all(&p));
  if (p.status == GROVE_OK) p.status = write_doubt(&p);
  if (p.status == GROVE_OK) p.status = judge_time(p.machine);
  GROVE_TRY(grove_context_share_machine(ctx, p.status, p.machine, out));
fail:
  if (ctx->machine != before) grove_machine_free(&ctx->machine);
  ctx->machine = before;
  close_probe(&p);
  return status;
}

grove_status grove_measure_if_due(grove_context *ctx)
{
  const grove_measuring how = {.effort = GROVE_MEASURE_QUICK};
  grove_machine *measured = NULL;
  if (ctx->machine) return GROVE_OK;
  GROVE_PASS(grove_measure(ctx, &how, NULL, &measured));
  ctx->machine = measured;
  return GROVE_OK;
}

void grove_measure_path(const grove_context *ctx, char *out, size_t room)
{
  grove_context_profile_path(ctx, out, room);
}

void grove_measure_stem(char *out, size_t room)
{
  grove_context_profile_stem(out, room);
}

const char *grove_measure_stand_in(void)
{
  return grove_context_similar_machine();
}

static grove_status measure_machine(grove_context *ctx, grove_machine **out)
{
  grove_status mine = GROVE_OK;
  const grove_measuring how = {.effort = GROVE_MEASURE_NORMAL};
  if (!out)
    mine = grove_error(GROVE_ERR_ARG, __FILE__, __LINE__,
                       "rank %d: grove_machine_measure: out is NULL", ctx->rank);
  GROVE_PASS(grove_context_agree(ctx, mine, NULL, 0));
  return grove_measure(ctx, &how, NULL, out);
}

grove_status grove_machine_measure(grove_context *ctx, grove_machine **out)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_machine_measure: the context is NULL");
  GROVE_TRY(grove_context_enter_call(ctx, "grove_machine_measure"));
  status = measure_machine(ctx, out);
  grove_context_leave_call(ctx);
fail:
  return grove_verdict(ctx, status);
}
