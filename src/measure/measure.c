#include "measure/measure.h"

#include "measure/probe.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long each step may take, in seconds at normal effort. */
static const double CORES = 0.6, POSTAL = 6, LOGGP = 3, QUEUE = 3, INJECTION = 3, CONTENTION = 2,
                    SHARED = 3, CROWD = 2;

static double scale(grove_effort effort)
{
  static const double of[] = {
    [GROVE_MEASURE_QUICK] = 0.15, [GROVE_MEASURE_NORMAL] = 1, [GROVE_MEASURE_THOROUGH] = 8};
  return of[effort];
}

/* All the time that will be needed. */
static double plan(const grove_probe *p)
{
  int a, b;
  double seconds = CORES + QUEUE + SHARED;
  for (int where = 0; where < GROVE_LOCALITIES; where++)
    if (grove_probe_pair(p, (grove_locality)where, &a, &b)) seconds += POSTAL + LOGGP;
  if (p->ctx->topo.nnodes >= 2) seconds += INJECTION + CROWD;
  if (p->ctx->topo.nnodes >= 4) seconds += CONTENTION;
  return seconds * scale(p->how->effort);
}

/* ---- what the profile is about ---- */

static grove_status describe(grove_probe *p)
{
  grove_status status = GROVE_OK;
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "", processor[128], about[512];
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  mpi[strcspn(mpi, "\n,")] = '\0';
  grove_topo_processor(processor, sizeof processor);
  snprintf(about, sizeof about, "%.100s; %.100s; measured with %d ranks on %d nodes", processor,
           mpi, p->ctx->size, p->ctx->topo.nnodes);
  free(p->machine->about);
  p->machine->about = strdup(about);
  GROVE_CHECK(p->machine->about, GROVE_ERR_MEMORY, "no memory for a text");
fail:
  return status;
}

/* Shape: what a full node of this job has. */
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
  grove_status status = GROVE_OK;
  time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(p->source, sizeof p->source, "measured %Y-%m-%d", &utc);
  GROVE_NEW(p->send, GROVE_PROBE_BYTES);
  GROVE_NEW(p->receive, GROVE_PROBE_BYTES);
  memset(p->send, 1, GROVE_PROBE_BYTES); /* pages are there before anything is timed */
  memset(p->receive, 1, GROVE_PROBE_BYTES);
  GROVE_TRY(grove_machine_create("measured", &p->machine));
  GROVE_TRY(describe(p));
  GROVE_TRY(write_shape(p));
fail:
  return status;
}

static void close_probe(grove_probe *p)
{
  free(p->send);
  free(p->receive);
  grove_machine_free(&p->machine);
  if (p->comm != MPI_COMM_NULL) MPI_Comm_free(&p->comm);
}

static grove_status duplicate(grove_probe *p)
{
  grove_status status = GROVE_OK;
  MPI_Request request;
  GROVE_TRY_MPI(MPI_Comm_idup(p->ctx->comm, &p->comm, &request));
  GROVE_TRY(grove_probe_doze(p, 1, &request));
fail:
  return status;
}

static grove_status measure_all(grove_probe *p)
{
  grove_status status = GROVE_OK;
  double by = scale(p->how->effort);
  GROVE_TRY(grove_measure_cores(p, by * CORES));
  for (int where = 0; where < GROVE_LOCALITIES; where++) {
    GROVE_TRY(grove_measure_postal(p, (grove_locality)where, by * POSTAL));
    GROVE_TRY(grove_measure_loggp(p, (grove_locality)where, by * LOGGP));
  }
  GROVE_TRY(grove_measure_queue(p, by * QUEUE));
  GROVE_TRY(grove_measure_injection(p, by * INJECTION));
  GROVE_TRY(grove_measure_contention(p, by * CONTENTION));
  GROVE_TRY(grove_measure_shared(p, by * SHARED));
  GROVE_TRY(grove_measure_crowd(p, by * CROWD));
  if (p->ctx->rank == 0 && p->how->progress) p->how->progress(p->how->self, "done", 1, 0);
fail:
  return status;
}

/* Every rank gets rank 0's profile: times that are no maximum over ranks may differ in a digit. */
static grove_status share(grove_probe *p, grove_machine **out)
{
  grove_status status = GROVE_OK;
  char *text = NULL;
  size_t length = 0;
  int64_t bytes = 0;
  grove_status mine = p->status;
  if (mine == GROVE_OK && p->ctx->rank == 0) {
    FILE *file = open_memstream(&text, &length);
    if (file) mine = grove_profile_print(p->machine, file);
    if (!file || fclose(file) != 0)
      mine = grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for a profile");
    bytes = (int64_t)length;
  }
  GROVE_TRY(grove_context_agree(p->ctx, mine, &bytes, 1));
  if (p->ctx->rank != 0) mine = (text = malloc((size_t)bytes + 1)) ? GROVE_OK : GROVE_ERR_MEMORY;
  GROVE_TRY(grove_context_agree(p->ctx, mine, NULL, 0));
  GROVE_TRY(grove_context_tell(p->ctx, text, (int)bytes, 0));
  mine = grove_profile_read(text, (size_t)bytes, "(measured)", out);
  GROVE_TRY(grove_context_agree(p->ctx, mine, NULL, 0));
  free(text);
  return GROVE_OK;
fail:
  free(text);
  return status;
}

grove_status grove_measure(grove_context *ctx, const grove_measuring *how, grove_points *points,
                           grove_machine **out)
{
  grove_status status = GROVE_OK;
  grove_probe p = {.ctx = ctx, .comm = MPI_COMM_NULL, .how = how, .points = points};
  GROVE_TRY(grove_context_agree(ctx, open_probe(&p), NULL, 0));
  GROVE_TRY(duplicate(&p));
  p.began = grove_clock();
  p.planned = plan(&p);
  GROVE_TRY(measure_all(&p));
  GROVE_TRY(share(&p, out));
fail:
  close_probe(&p);
  return status;
}

void grove_measure_path(const grove_context *ctx, char *out, size_t room)
{
  grove_context_profile_path(ctx, out, room);
}

grove_status grove_machine_measure(grove_context *ctx, grove_machine **out)
{
  grove_status status = GROVE_OK;
  const grove_measuring how = {.effort = GROVE_MEASURE_NORMAL};
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_machine_measure: the context is NULL");
  GROVE_CHECK(out, GROVE_ERR_ARG, "rank %d: grove_machine_measure: out is NULL", ctx->rank);
  ctx->call = "grove_machine_measure";
  GROVE_TRY(grove_measure(ctx, &how, NULL, out));
fail:
  return status;
}
