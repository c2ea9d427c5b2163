/* Checks that Grove agrees with PETSc's star forest, and times which of them makes forests from
 * forests faster. compare.h says how.
 */
#include "peers/compare/compare.h"

#include "kit/flags.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help[] =
  "usage: mpirun -n RANKS petsc_compare [OPTION...]\n"
  "\n"
  "Compares all that Grove and PETSc's star forest both can do, on random forests.\n"
  "\n"
  "  --forests N    at least so many (3000, or what SAMPLES says, with `all` ten times as many)\n"
  "  --seed S       a number or `random` (what SEED says, or a fixed one)\n"
  "  --trial N      only this trial: of a disagreement\n"
  "  --sabotage     break what Grove gives, to see that it is found\n"
  "  --time         instead: times of making forests from forests, as grove_bench prints rows\n"
  "  --rounds N     how often each is made (51)\n"
  "  --case NAME    only this case, or all that begin with NAME if it ends in -\n"
  "  --json         the times as a document\n"
  "  --ranks N      there must be so many\n"
  "\n"
  "Exit status: 0; 1 the two disagree; 2 wrong usage; 3 something failed.\n";

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, NORMAL_FORESTS = 3000, FIXED_SEED = 20240613 };

typedef struct settings {
  int forests;
  uint64_t seed;
  const char *only_case;
  int trial, sabotage, times, rounds, json, ranks;
} settings;

static uint64_t read_seed(const char *text)
{
  struct timespec now;
  if (!text || !text[0]) return FIXED_SEED;
  if (strcmp(text, "random") != 0) return strtoull(text, NULL, 0);
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t state = (uint64_t)now.tv_sec ^ (uint64_t)now.tv_nsec << 20;
  return bench_random(&state) % 1000000000;
}

static int read_forests(const char *text)
{
  if (!text || !text[0]) return NORMAL_FORESTS;
  return strcmp(text, "all") == 0 ? 10 * NORMAL_FORESTS : atoi(text);
}

/* Returns the argument that is not understood, or NULL. */
static const char *read_settings(int argc, char **argv, settings *s)
{
  const char *forests = getenv("SAMPLES"), *seed = getenv("SEED");
  const bench_flag flags[] = {
    {"--forests", BENCH_TEXT, &forests},        {"--seed", BENCH_TEXT, &seed},
    {"--trial", BENCH_INT, &s->trial},          {"--case", BENCH_TEXT, &s->only_case},
    {"--rounds", BENCH_INT, &s->rounds},        {"--ranks", BENCH_INT, &s->ranks},
    {"--sabotage", BENCH_SWITCH, &s->sabotage}, {"--time", BENCH_SWITCH, &s->times},
    {"--json", BENCH_SWITCH, &s->json},         {NULL, BENCH_SWITCH, NULL},
  };
  const char *wrong = bench_read_flags(argc, argv, flags);
  s->forests = read_forests(forests);
  s->seed = read_seed(seed);
  if (!wrong && s->rounds < 1) wrong = "--rounds";
  return !wrong && s->forests < 1 ? "--forests" : wrong;
}

static void compare_all(trial *t)
{
  compare_operations(t);
  compare_constructions(t);
  compare_growth(t);
  compare_numbers(t);
}

/* Everything comes from the seed and the number, so a trial can be run by itself. */
static void run_trial(trial *t, int number)
{
  t->number = number;
  t->common = t->seed * 1000003u + (uint64_t)number;
  t->common = bench_random(&t->common);
  t->own = t->common + (uint64_t)t->rank + 1;
  t->own = bench_random(&t->own);
  compare_all(t);
}

/* Rank 0 prints the sum. */
static int report(const trial *t, double seconds)
{
  int64_t counts[2] = {t->ncompared, t->nwrong};
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT64_T, MPI_SUM, t->comm);
  if (t->rank == 0)
    printf("petsc_compare: seed %" PRIu64 ", %d ranks, %" PRId64 " forests in %.1f s: %" PRId64
           " comparisons, %" PRId64 " disagreements\n",
           t->seed, t->nranks, t->nforests, seconds, counts[0], counts[1]);
  return counts[1] ? EXIT_WRONG : 0;
}

static int run(const settings *s, MPI_Comm comm)
{
  trial t = {.comm = comm, .seed = s->seed, .sabotage = s->sabotage};
  int status = 0, forests = s->forests;
  double begin = MPI_Wtime();
  MPI_Comm_rank(comm, &t.rank);
  MPI_Comm_size(comm, &t.nranks);
  bench_need(s->ranks == 0 || s->ranks == t.nranks, "not so many ranks: another MPI's launcher?");
  MPI_Bcast(&t.seed, 1, MPI_UINT64_T, 0, comm); /* what the environment of rank 0 says */
  MPI_Bcast(&forests, 1, MPI_INT, 0, comm);
  bench_need_grove(grove_context_create(comm, &t.ctx));
  if (s->times) {
    time_constructions(t.ctx, comm, &(timing){s->only_case, s->rounds, s->json});
  } else {
    if (s->trial) run_trial(&t, s->trial);
    for (int i = 1; !s->trial && t.nforests < forests; i++) run_trial(&t, i);
    status = report(&t, MPI_Wtime() - begin);
  }
  bench_need_grove(grove_context_free(&t.ctx));
  return status;
}

int main(int argc, char **argv)
{
  settings s = {.rounds = 51};
  int rank, status;
  const char *wrong = read_settings(argc, argv, &s);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (wrong) {
    if (rank == 0) fprintf(stderr, "petsc_compare: '%s' is not understood\n%s", wrong, help);
    MPI_Finalize();
    return EXIT_USAGE;
  }
  /* Signals are MPI's affair. */
  setenv("PETSC_OPTIONS", "-no_signal_handler", 0);
  need_petsc(PetscInitializeNoArguments());
  status = run(&s, MPI_COMM_WORLD);
  need_petsc(PetscFinalize());
  MPI_Finalize();
  return status;
}
