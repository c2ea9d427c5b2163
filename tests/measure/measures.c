/* A machine is measured: what can be seen is there, the same on every rank, makes sense, and comes
 * back from the file. What cannot be seen (one node, one rank) is not made up. Nothing here depends
 * on how fast anything is. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct seen {
  int steps;
  double share;
} seen;

static void note(void *self, const char *what, double share, double seconds_left)
{
  seen *s = self;
  CHECK(what && *what, "a step without a name");
  CHECK(share >= s->share && share <= 1, "%g done after %g", share, s->share);
  CHECK(seconds_left >= 0 && seconds_left < 600, "%g s left", seconds_left);
  s->share = share;
  s->steps++;
}

static char *text_of(const grove_machine *m)
{
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  CHECK_OK(grove_profile_print(m, file));
  CHECK(fclose(file) == 0, "no memory");
  return text;
}

/* Rank 0's text, compared by all. */
static void same_everywhere(const char *text)
{
  int length = (int)strlen(text) + 1;
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  char *first = calloc((size_t)length, 1);
  if (world_rank() == 0) memcpy(first, text, (size_t)length);
  MPI_Bcast(first, length, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK(strcmp(first, text) == 0, "not rank 0's profile");
  free(first);
}

/* Is there a pair of ranks this far apart? */
static int there_is(grove_context *ctx, int off_node)
{
  int mine, node;
  for (int a = 0; a < world_size(); a++)
    for (int b = 0; b < a; b++) {
      CHECK_OK(grove_context_node(ctx, a, &mine, NULL));
      CHECK_OK(grove_context_node(ctx, b, &node, NULL));
      if ((mine != node) == off_node) return 1;
    }
  return 0;
}

static void check_values(grove_context *ctx, const grove_machine *m)
{
  for (int off = 0; off < 2; off++) {
    grove_locality where = off ? GROVE_OFF_NODE : GROVE_ON_SOCKET;
    grove_postal p = grove_machine_postal(m, GROVE_CPU, where, 1 << 20);
    CHECK(isnan(p.alpha) == !there_is(ctx, off), "alpha %g %s", p.alpha, off ? "off" : "on");
    CHECK((m->nloggp[where] > 0) == there_is(ctx, off), "%d rows of LogGP", m->nloggp[where]);
    if (isnan(p.alpha)) continue;
    CHECK(p.alpha >= 0 && p.beta >= 0 && p.alpha + p.beta < 10, "%g + %g s", p.alpha, p.beta);
  }
  CHECK(m->cores > 0, "%g cores", m->cores);
  CHECK(world_size() == 1 || m->gamma >= 0, "gamma is %g", m->gamma);
  CHECK(isnan(m->delta) || m->delta >= 0, "delta is %g", m->delta);
  for (int i = 0; i < m->nrows; i++) {
    const grove_row *r = &m->rows[i];
    CHECK(r->known, "a row '%s' that no formula knows", r->term);
    CHECK(strncmp(r->source, "measured 20", 11) == 0, "'%s' comes from '%s'", r->term, r->source);
  }
}

static void comes_back(const grove_machine *m)
{
  char path[] = "/tmp/grove-measured-XXXXXX";
  grove_machine *again = NULL;
  int file = mkstemp(path);
  CHECK(file >= 0, "no temporary file");
  close(file);
  CHECK_OK(grove_machine_write(m, path));
  CHECK_OK(grove_machine_open(path, &again));
  char *a = text_of(m), *b = text_of(again);
  CHECK(strcmp(a, b) == 0, "the file gives another profile");
  free(a);
  free(b);
  unlink(path);
  grove_machine_free(&again);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "measure/measures");
  grove_context *ctx = NULL;
  grove_machine *m = NULL;
  grove_points points = {0};
  seen s = {0};
  const grove_measuring how = {.effort = GROVE_MEASURE_QUICK, .progress = note, .self = &s};
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  CHECK_OK(grove_measure(ctx, &how, &points, &m));
  CHECK(world_rank() == 0 ? s.steps > 0 && s.share == 1 : s.steps == 0, "%d steps up to %g",
        s.steps, s.share);
  CHECK(world_size() == 1 || points.count > 20, "%d points", points.count);
  char *text = text_of(m);
  same_everywhere(text);
  check_values(ctx, m);
  comes_back(m);
  CHECK_OK(grove_context_use_machine(ctx, m)); /* which a context then works with */
  free(text);
  grove_points_free(&points);
  grove_machine_free(&m);
  CHECK_STATUS(grove_machine_measure(NULL, &m), GROVE_ERR_ARG);
  /* What one rank does wrong all learn of. */
  CHECK_STATUS(grove_machine_measure(ctx, world_rank() == world_size() - 1 ? NULL : &m),
               GROVE_ERR_ARG);
  CHECK_OK(grove_context_free(&ctx));
  return test_end();
}
