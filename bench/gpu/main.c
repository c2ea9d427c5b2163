/* The figures of device memory (bench/METRICS.md). One start runs some studies, on one driver. */
#include "hand.h"
#include "kit/conditions.h"
#include "kit/flags.h"

#include <stdio.h>
#include <string.h>

typedef struct settings {
  const char *study; /* some, with commas between them */
  const char *driver, *matrices;
  int pin;
} settings;

static const struct gpu_study {
  const char *name;
  void (*run)(bench_gpu *g);
} studies[] = {
  {"kernels", bench_gpu_kernels}, {"reduce", bench_gpu_reduce},     {"pair", bench_gpu_pair},
  {"begun", bench_gpu_begun},     {"launches", bench_gpu_launches},
};

/* Whether there is such a study. */
static int run_study(bench_gpu *g, const char *name, const char *matrices)
{
  if (strcmp(name, "matrices") == 0) {
    bench_gpu_matrices(g, matrices);
    return 1;
  }
  for (size_t i = 0; i < sizeof studies / sizeof *studies; i++)
    if (strcmp(studies[i].name, name) == 0) {
      studies[i].run(g);
      return 1;
    }
  return 0;
}

static void run_studies(bench_gpu *g, const settings *s)
{
  char names[200], *rest = NULL;
  snprintf(names, sizeof names, "%s", s->study);
  for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
    bench_need(run_study(g, name, s->matrices), "there is no such study");
}

int main(int argc, char **argv)
{
  settings s = {"kernels", "cuda", "27pt:16", 0};
  bench_gpu g = {.most = 64 << 20, .samples = 101, .seconds = 2, .repeats = 50};
  const bench_flag flags[] = {
    {"--study", BENCH_TEXT, &s.study},         {"--driver", BENCH_TEXT, &s.driver},
    {"--matrices", BENCH_TEXT, &s.matrices},   {"--pin", BENCH_SWITCH, &s.pin},
    {"--most", BENCH_BYTES, &g.most},          {"--samples", BENCH_COUNT, &g.samples},
    {"--seconds", BENCH_POSITIVE, &g.seconds}, {"--repeats", BENCH_COUNT, &g.repeats},
    {"--sabotage", BENCH_SWITCH, &g.sabotage}, {NULL, 0, NULL}};
  const char *wrong = bench_read_flags(argc, argv, flags);
  int level;
  if (wrong) {
    fprintf(stderr, "grove_bench_gpu: what is %s?\n", wrong);
    return 2;
  }
  MPI_Init_thread(&argc, &argv,
                  strstr(s.study, "launches") ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  if (s.pin) bench_pin(MPI_COMM_WORLD); /* before there are other threads */
  bench_gpu_open(MPI_COMM_WORLD, s.driver, &g);
  bench_report_conditions(MPI_COMM_WORLD, s.pin);
  if (g.rank == 0) printf("conditions by hand: %s\n", bench_hand_device_for(&g)->about);
  run_studies(&g, &s);
  bench_gpu_close(&g);
  MPI_Finalize();
  return g.wrong > 0;
}
