/* grove machine measure: a profile of the machine at hand, under mpirun.
 */
#include "grove/arguments.h"
#include "grove/command.h"
#include "grove/machine/machine.h"
#include "grove/machine/points.h"
#include "grove/machine/probing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_measure[] =
  "usage: mpirun -n RANKS grove machine measure [-o FILE] [OPTION...]\n"
  "\n"
  "Measures what messages cost on the machine on which the ranks run, and writes a profile.\n"
  "It measures ping-pong over sizes 0 to 4 MiB between two ranks of a socket, of a node and of\n"
  "two nodes, as far as the job has such ranks; streams of messages (LogGP); the queue of\n"
  "receives; what a node can inject, with 1, 2, 4, ... ranks at once; contention on a line of\n"
  "four nodes; shared memory; and how many cores the ranks really have. If there is a device,\n"
  "it measures launches, and copies out of it and into it by 1, 2, 4, 8, 16 ranks of a host at\n"
  "once (GROVE_DEVICE=none leaves that out). In the end all ranks exchange data on every route,\n"
  "and the prices are corrected by the times that this takes.\n"
  "\n"
  "Nothing else should be running. If other programs used the processors, or if rows are far\n"
  "off what was measured, the profile says so. Start the command with as many ranks per node as\n"
  "your programs will have.\n"
  "\n"
  "  -o FILE              the profile; without it, this user's file in which machine=auto\n"
  "                       looks for the profile of this machine\n"
  "  --force              write the profile there even if it is not to be trusted; with -o\n"
  "                       it is always written, and says so itself\n"
  "  --quick              takes some ten seconds instead of about a minute\n"
  "  --thorough           takes some minutes\n"
  "  --fabric             also what messages between nodes cost over libfabric, by the provider\n"
  "                       that the option fabric names: transport_parts=auto and\n"
  "                       transport_off_node=auto choose it where these numbers are lower\n"
  "  --off-node-from M    on one node: complete the profile with what machine M, a name, a\n"
  "                       file or auto, says of messages between nodes\n"
  "  --name NAME          what the profile calls itself (measured)\n"
  "  --picture STEM       draw the fits over the points: STEM.svg, STEM.png, STEM.dat; those\n"
  "                       of copies to and from a device: STEM-copies.svg, ...\n"
  "  --json               the profile as JSON on standard output instead of a table\n"
  "\n"
  "Examples:\n"
  "  mpirun -n 64 grove machine measure --picture fits\n"
  "  mpirun -n 8 grove machine measure --quick --off-node-from infiniband -o laptop.machine\n"
  "  GROVE_MACHINE=laptop.machine mpirun -n 8 grove bench random\n";

/* How closely a row matches host messages between nodes. The closest counts, as when a profile is
 * read. 0: not at all. */
static int closeness(const grove_row *r)
{
  static const char *const terms[] = {"alpha", "beta", "from",      "L",     "o_s",
                                      "o_r",   "g",    "injection", "delta", "G"};
  int known = 0, host = strcmp(r->memory, "cpu") == 0, off = strcmp(r->locality, "off-node") == 0;
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) known |= strcmp(r->term, terms[i]) == 0;
  if (!known || (!host && strcmp(r->memory, "any") != 0)) return 0;
  if (!off && strcmp(r->locality, "any") != 0) return 0;
  return 1 + 2 * host + off;
}

static int is_closest(const grove_machine *m, const grove_row *r)
{
  for (int i = 0; i < m->nrows; i++) {
    const grove_row *other = &m->rows[i];
    if (closeness(other) > closeness(r) && strcmp(other->term, r->term) == 0 &&
        strcmp(other->range, r->range) == 0)
      return 0;
  }
  return closeness(r) > 0;
}

/* Adds only what `other` says of messages between nodes. */
static grove_status add_off_node(grove_machine *m, const grove_machine *other)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < other->nrows && status == GROVE_OK; i++) {
    const grove_row *r = &other->rows[i];
    if (!is_closest(other, r)) continue;
    char source[512];
    snprintf(source, sizeof source, "%.400s (taken from %.60s)", r->source, other->name);
    status = grove_machine_add(m, r->term, "cpu", "off-node", r->range, r->value, r->unit, source);
  }
  return status == GROVE_OK ? grove_machine_digest(m) : status;
}

static void tell_left_out(const grove_machine *m)
{
  static const char *const why[GROVE_LOCALITIES] = {
    "no two ranks of this job share a socket",
    "no two ranks of this job are on two sockets of a node",
    "all ranks of this job are on one node"};
  for (int w = 0; w < GROVE_LOCALITIES; w++)
    if (isnan(grove_machine_postal(m, GROVE_CPU, (grove_locality)w, 0).alpha))
      fprintf(stderr, "left out: %s (%s)%s\n", grove_locality_names[w], why[w],
              w == GROVE_OFF_NODE ? "; --off-node-from NAME completes it from another profile"
                                  : "");
}

/* Finds where the profile goes; EXIT_OK if it can be written there. Called on rank 0 before
 * anything is measured: nobody wants to lose a minute to a missing folder. */
static int find_output(const probing *s, const grove_context *ctx, char *path, size_t room)
{
  if (s->output)
    snprintf(path, room, "%s", s->output);
  else
    grove_measure_path(ctx, path, room);
  if (*path == '\0') {
    fprintf(stderr,
            "grove machine measure: where to? Neither -o, XDG_CACHE_HOME nor HOME is set\n");
    return EXIT_BAD_INPUT;
  }
  if (!s->output && make_folders(path)) {
    fprintf(stderr, "grove machine measure: cannot make the folder of %s\n", path);
    return EXIT_FAILED;
  }
  int there = access(path, F_OK) == 0;
  FILE *file = fopen(path, "a");
  if (!file) {
    fprintf(stderr, "grove machine measure: %s cannot be written: %s\n", path, strerror(errno));
    return EXIT_BAD_INPUT;
  }
  fclose(file);
  if (!there) unlink(path);
  return EXIT_OK;
}

/* Says why a profile is not to be trusted. Is it written all the same? */
static int may_be_kept(const probing *s, const grove_machine *m)
{
  const char *doubt = grove_machine_doubt(m);
  int kept = !doubt || s->output || s->force;
  if (doubt)
    fprintf(stderr, "grove machine measure: this profile is not to be trusted: %s\n", doubt);
  if (!kept)
    fprintf(stderr, "not written: all programs would use it; measure on a quiet machine, or take "
                    "it as it is with --force or -o FILE\n");
  return kept;
}

/* What rank 0 does with a measured machine. */
static int deliver(const probing *s, const char *path, grove_machine *m, const grove_machine *other,
                   const grove_points *points)
{
  char *name = strdup(s->name ? s->name : "measured");
  if (!name || (other && add_off_node(m, other) != GROVE_OK)) {
    fprintf(stderr, "grove machine measure: %s\n", name ? last_sentence() : "no memory");
    free(name);
    return EXIT_FAILED;
  }
  free(m->name);
  m->name = name;
  if (!may_be_kept(s, m)) return EXIT_FAILED;
  if (grove_machine_write(m, path) != GROVE_OK) {
    fprintf(stderr, "grove machine measure: %s\n", last_sentence());
    grove_profile_print(m, stdout); /* rather than lose it */
    return EXIT_FAILED;
  }
  fprintf(stderr, "written to %s%s\n", path, s->output ? "" : ", where machine=auto finds it");
  tell_left_out(m);
  if (points_append(path, points))
    fprintf(stderr, "grove machine measure: the points could not be added to %s\n", path);
  int code = s->json ? print_machine_json(m, path) : print_machine_page(m);
  return code == EXIT_OK ? probing_draw(s, m, points) : code;
}

/* Checks of rank 0 before anything is measured; the same status on every rank. */
static int prepare(const probing *s, grove_context *ctx, char *path, size_t room,
                   grove_machine **other)
{
  int rank = 0, nnodes = 0, code = EXIT_OK;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  grove_context_node(ctx, rank, NULL, &nnodes);
  if (rank == 0 && s->off_node_from && nnodes > 1)
    code = probing_complain(rank, "measure", "%s",
                            "there are several nodes, so --off-node-from is not needed");
  if (rank == 0 && s->fabric && nnodes == 1)
    code = probing_complain(rank, "measure", "%s",
                            "--fabric is for messages between nodes, and all ranks are on one");
  if (rank == 0 && code == EXIT_OK && s->off_node_from)
    code = open_machine("machine measure", s->off_node_from, other);
  if (rank == 0 && code == EXIT_OK) code = find_output(s, ctx, path, room);
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code;
}

static int run_measure(const probing *s, int rank)
{
  grove_context *ctx = NULL;
  grove_machine *m = NULL, *other = NULL;
  grove_points points = {0};
  char path[1024] = "";
  const grove_measuring how = {
    .effort = s->effort, .progress = probing_progress, .devices = 1, .fabric = s->fabric};
  grove_status status = grove_context_create(MPI_COMM_WORLD, &ctx);
  int code = status == GROVE_OK ? prepare(s, ctx, path, sizeof path, &other) : EXIT_FAILED;
  if (code == EXIT_OK) status = grove_measure(ctx, &how, &points, &m);
  if (status != GROVE_OK) {
    if (rank == 0) fprintf(stderr, "grove machine measure: %s\n", last_sentence());
    code =
      status == GROVE_ERR_OPTION || status == GROVE_ERR_UNSUPPORTED ? EXIT_BAD_INPUT : EXIT_FAILED;
  }
  if (code == EXIT_OK && rank == 0) code = deliver(s, path, m, other, &points);
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  grove_points_free(&points);
  grove_machine_free(&m);
  grove_machine_free(&other);
  grove_context_free(&ctx);
  return code;
}

static int run(int argc, char **argv)
{
  return probing_run(argc, argv, 0, help_measure, run_measure);
}

const command machine_measure = {
  .name = "measure",
  .summary = "a profile of the machine at hand (under mpirun)",
  .help = help_measure,
  .run = run,
  .is_parallel = always_parallel,
};
