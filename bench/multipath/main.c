/* The figures of copies over several paths (bench/METRICS.md). One start runs some studies, in one
 * process, without MPI's help: it is there for the benchmark's own sake. */
#include "multipath.h"

#include "kit/flags.h"

#include <stdio.h>
#include <string.h>

static const struct path_study {
  const char *name;
  void (*run)(bench_settings *s);
} studies[] = {
  {"sweep", bench_sweep},
  {"hard", bench_hard},
  {"nodes", bench_topologies},
  {"cost", bench_cost},
  {"collectives", bench_collectives},
  {"mesh", bench_sm_mesh},
  {"host", bench_sm_host},
  {"plain", bench_plain},
  {"gpus", bench_gpus},
};

static int run_study(bench_settings *s, const char *name)
{
  for (size_t i = 0; i < sizeof studies / sizeof *studies; i++)
    if (strcmp(studies[i].name, name) == 0) {
      studies[i].run(s);
      return 1;
    }
  return 0;
}

int main(int argc, char **argv)
{
  const char *study = "sweep";
  bench_settings s = {.samples = 15, .tries = 400};
  const bench_flag flags[] = {{"--study", BENCH_TEXT, &study},
                              {"--samples", BENCH_COUNT, &s.samples},
                              {"--blocks", BENCH_COUNT, &s.blocks},
                              {"--paths", BENCH_TEXT, &s.paths},
                              {"--tries", BENCH_COUNT, &s.tries},
                              {"--quick", BENCH_SWITCH, &s.quick},
                              {"--check", BENCH_SWITCH, &s.check},
                              {"--sabotage", BENCH_SWITCH, &s.sabotage},
                              {NULL, 0, NULL}};
  const char *wrong = bench_read_flags(argc, argv, flags);
  char names[200], *rest = NULL;
  if (wrong) {
    fprintf(stderr, "grove_bench_multipath: what is %s?\n", wrong);
    return 2;
  }
  MPI_Init(&argc, &argv);
  snprintf(names, sizeof names, "%s", study);
  for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
    bench_need(run_study(&s, name), "there is no such study");
  MPI_Finalize();
  return s.wrong > 0;
}
