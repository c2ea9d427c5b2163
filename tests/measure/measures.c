/* The machine that this runs on is measured: there is a row for all that can be seen, and none for
 * what cannot (one node, one rank), the same on every rank, and they come back from the file. How
 * fast anything is nobody knows here, so of the numbers it is only asked that they are some:
 * measure/known_machine holds numbers against those that they should be. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "measure/probe.h"

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
  CHECK(isfinite(seconds_left) && seconds_left >= 0, "%g s left", seconds_left);
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

/* ---- which rows there are ---- */

static int count(const grove_machine *m, const char *term, const char *locality)
{
  int n = 0;
  for (int i = 0; i < m->nrows; i++)
    n += strcmp(m->rows[i].term, term) == 0 && strcmp(m->rows[i].locality, locality) == 0;
  return n;
}

/* Where the ranks sit, as far as rows depend on it. */
typedef struct shape {
  int nodes, ranks;            /* ranks of the fullest node */
  int pairs;                   /* of ranks of the first two nodes */
  int apart[GROVE_LOCALITIES]; /* are two ranks so far apart? */
} shape;

static grove_locality distance(const grove_place *a, const grove_place *b)
{
  if (a->node != b->node) return GROVE_OFF_NODE;
  return a->socket == b->socket ? GROVE_ON_SOCKET : GROVE_ON_NODE;
}

static shape look(grove_context *ctx)
{
  shape s = {0};
  int *size = calloc((size_t)world_size(), sizeof *size);
  for (int r = 0; r < world_size(); r++) {
    int node = 0;
    CHECK_OK(grove_context_node(ctx, r, &node, &s.nodes));
    if (++size[node] > s.ranks) s.ranks = size[node];
    for (int q = 0; q < r; q++) s.apart[distance(&ctx->topo.place[q], &ctx->topo.place[r])] = 1;
  }
  if (s.nodes > 1) s.pairs = size[0] < size[1] ? size[0] : size[1];
  free(size);
  return s;
}

static void check_count(const grove_machine *m, const char *term, const char *locality, int least,
                        int most)
{
  int n = count(m, term, locality);
  CHECK(n >= least && n <= most, "%d rows %s %s, not %d to %d", n, term, locality, least, most);
}

/* One to three ranges, each with alpha and beta; where all but the first begin; and LogGP for some
 * sizes, five numbers each. */
static void check_messages(const grove_machine *m, const char *locality, int there_are)
{
  static const char *const terms[] = {"L", "o_s", "o_r", "g", "G"};
  int ranges = count(m, "alpha", locality), sizes = count(m, "L", locality);
  check_count(m, "alpha", locality, there_are ? 1 : 0, there_are ? GROVE_RANGES : 0);
  check_count(m, "beta", locality, ranges, ranges);
  check_count(m, "from", locality, there_are ? ranges - 1 : 0, there_are ? ranges - 1 : 0);
  /* Beside other programs all of them may make no sense; the profile says so then. */
  CHECK((sizes > 0) == there_are || (there_are && grove_machine_doubt(m)), "%d sizes of LogGP %s",
        sizes, locality);
  for (int i = 0; i < 5; i++) check_count(m, terms[i], locality, sizes, sizes);
}

/* As many numbers of ranks as pairs are doubled: 1, 2, 4, ... all. */
static int count_steps(int pairs)
{
  int n = pairs > 0;
  for (int k = 1; k < pairs; k *= 2) n++;
  return n;
}

/* Three numbers each, if it was asked for, and from the provider that was. */
static void check_fabric(const grove_machine *m, int there_is)
{
  static const char *const terms[] = {"fabric-L", "fabric-g", "fabric-G"};
  int sizes = count(m, "fabric-L", "off-node");
  CHECK((sizes > 0) == there_is || (there_is && grove_machine_doubt(m)), "%d sizes over libfabric",
        sizes);
  CHECK(grove_machine_has_fabric(m) == (sizes > 0), "has_fabric is not %d", sizes > 0);
  for (int i = 0; i < 3; i++) check_count(m, terms[i], "off-node", sizes, sizes);
  for (int i = 0; i < m->nrows; i++)
    CHECK(!strstr(m->rows[i].term, "fabric-") || strstr(m->rows[i].source, " over tcp;ofi_rxm, "),
          "'%s'", m->rows[i].source);
}

static void check_rows(const grove_machine *m, const shape *s)
{
  int several = s->ranks > 1, steps = count_steps(s->ranks / 2);
  int crowd = count(m, "crowd-turn", "on-node") + count(m, "crowd-turn", "off-node");
  check_count(m, "sockets", "node", 1, 1);
  check_count(m, "ranks", "node", 1, 1);
  check_count(m, "cores", "node", 1, 1);
  CHECK(m->ranks == s->ranks, "%d ranks of a node", m->ranks);
  for (int l = 0; l < GROVE_LOCALITIES; l++)
    check_messages(m, grove_locality_names[l], s->apart[l]);
  check_count(m, "gamma", "any", world_size() > 1, world_size() > 1);
  check_count(m, "injection", "off-node", 0, s->pairs > 1); /* if there is a limit */
  check_count(m, "delta", "off-node", 0, s->nodes > 3);     /* if there are cores for all */
  for (int l = GROVE_ON_SOCKET; l <= GROVE_ON_NODE; l++)
    check_count(m, "flag", grove_locality_names[l], s->apart[l], s->apart[l]);
  check_count(m, "shared", "on-node", steps, steps);
  CHECK(crowd <= several + (s->nodes > 1), "%d kinds of crowds", crowd);
  check_count(m, "crowd-message", "on-node", crowd > 0 && several, crowd > 0 && several);
  check_count(m, "crowd-byte", "off-node", crowd > 0 && s->nodes > 1, crowd > 0 && s->nodes > 1);
}

/* Copies and launches by 1, 2, 4, ... ranks of the host; with a device alone. */
static void check_device(const grove_machine *m, int ranks, int there_is)
{
  int steps = 0;
  while (steps < 5 && 1 << steps <= ranks) steps++;
  if (!there_is) steps = 0;
  check_count(m, "copy-alpha", "d2h", steps, steps);
  check_count(m, "copy-beta", "d2h", steps, steps);
  check_count(m, "copy-alpha", "h2d", steps, steps);
  check_count(m, "copy-beta", "h2d", steps, steps);
  check_count(m, "launch", "any", steps, steps);
  check_count(m, "gpus", "node", there_is, there_is);
  check_count(m, "pack", "any", 3 + there_is, 3 + there_is);
  for (int i = 0; i < m->nrows; i++)
    if (strcmp(m->rows[i].memory, "gpu") == 0)
      CHECK(strstr(m->rows[i].source, "says nothing about speed"), "'%s'", m->rows[i].source);
  for (int way = 0; way < GROVE_DIRECTIONS; way++) /* larger copies take longer */
    for (int i = 0; i < m->ncopies[way]; i++) {
      const grove_copy_rate *copy = &m->copies[way][i];
      CHECK(copy->processes == 1 << i, "%d processes", copy->processes);
      CHECK(copy->cost.alpha >= 0 && copy->cost.beta >= 0 && copy->cost.alpha + copy->cost.beta > 0,
            "alpha %g, beta %g", copy->cost.alpha, copy->cost.beta);
    }
}

/* What takes no time on a machine may do so: a fit holds what would be negative at nothing. */
static int may_be_nothing(const char *term)
{
  static const char *const terms[] = {
    "alpha",      "beta",   "from",     "L",        "o_s",        "o_r",
    "g",          "G",      "gamma",    "delta",    "crowd-turn", "crowd-message",
    "crowd-byte", "launch", "fabric-L", "fabric-g", "fabric-G"};
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
    if (strcmp(terms[i], term) == 0) return 1;
  return 0;
}

static void check_values(const grove_machine *m)
{
  for (int i = 0; i < m->nrows; i++) {
    const grove_row *r = &m->rows[i];
    CHECK(r->known, "a row '%s' that no formula knows", r->term);
    CHECK(strncmp(r->source, "measured 20", 11) == 0, "'%s' comes from '%s'", r->term, r->source);
    CHECK(isfinite(r->value) && r->value >= 0, "%s is %g", r->term, r->value);
    CHECK(r->value > 0 || may_be_nothing(r->term) || strcmp(r->memory, "gpu") == 0, "%s is %g",
          r->term, r->value);
  }
  for (int l = 0; l < GROVE_LOCALITIES; l++) {
    grove_postal p = grove_machine_postal(m, GROVE_CPU, (grove_locality)l, 1 << 20);
    CHECK(isnan(p.alpha) || p.alpha + p.beta > 0, "a mebibyte takes no time");
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
  seen progress = {0};
  int there_is = getenv("GROVE_DEVICE") != NULL; /* the emulated one */
  grove_measuring how = {
    .effort = GROVE_MEASURE_QUICK, .progress = note, .self = &progress, .devices = there_is};
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  int asks = getenv("GROVE_FABRIC") != NULL;
#ifndef TEST_FABRIC
  how.fabric = asks;
  if (asks) CHECK_STATUS(grove_measure(ctx, &how, &points, &m), GROVE_ERR_UNSUPPORTED);
  asks = 0;
#endif
  how.fabric = asks;
  CHECK_OK(grove_measure(ctx, &how, &points, &m));
  CHECK(world_rank() == 0 ? progress.steps > 0 && progress.share == 1 : progress.steps == 0,
        "%d steps up to %g", progress.steps, progress.share);
  CHECK(world_size() == 1 || points.count > 1, "%d points",
        points.count); /* fewer on a busy host */
  char *text = text_of(m);
  same_everywhere(text);
  const shape s = look(ctx);
  check_rows(m, &s);
  check_fabric(m, asks);
  check_device(m, world_size(), there_is);
  check_values(m);
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
