/* Copies over several paths on one GPU: are they right, and what are its links? Exit status 0, 1
 * for wrong data, 2 for wrong usage, 77 without a GPU. It needs no MPI. */
#include "links/rig.h"

#include "kit/flags.h"

#include <stdio.h>

static const char usage[] =
  "usage: grove_bench_links [--devices N] [--blocks B] [--most BYTES] [--staging BYTES] [--check]\n"
  "\n"
  "One GPU plays N devices (4) with links of B blocks each (1). Checks that copies of up to BYTES\n"
  "(512 MiB) arrive, over links and by the host, and prints the links as they are measured.\n"
  "\n"
  "  --check   only the data\n";

int main(int argc, char **argv)
{
  links_rig rig = {.devices = 4, .blocks = 1, .most = 512 << 20, .staging = 64 << 20};
  int only_check = 0, help = 0;
  const bench_flag flags[] = {{"--devices", BENCH_COUNT, &rig.devices},
                              {"--blocks", BENCH_COUNT, &rig.blocks},
                              {"--most", BENCH_BYTES, &rig.most},
                              {"--staging", BENCH_BYTES, &rig.staging},
                              {"--check", BENCH_SWITCH, &only_check},
                              {"--help", BENCH_SWITCH, &help},
                              {NULL, 0, NULL}};
  const char *wrong = bench_read_flags(argc, argv, flags);
  if (wrong) fprintf(stderr, "grove_bench_links: what is %s?\n", wrong);
  if (wrong || help) fputs(usage, help ? stdout : stderr);
  if (wrong || help) return help ? 0 : 2;
  grove_status status = sm_links_open(rig.devices, rig.blocks, &rig.driver);
  if (status != GROVE_OK) {
    fprintf(stderr, "grove_bench_links: skipped: %s\n", grove_last_error());
    return status == GROVE_ERR_DEVICE ? 77 : 2;
  }
  if (links_check(&rig) > 0) return 1;
  if (only_check) return 0;
  links_need_grove(grove_copy_links_measure(rig.driver, rig.devices, &rig.found, &rig.machine));
  links_show_links(&rig);
  grove_machine_free(&rig.machine);
  return 0;
}
