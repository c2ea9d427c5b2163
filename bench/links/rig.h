/* What the parts of grove_bench_links share: the driver of SM links, and its links as they were
 * measured. How long copies take over them, bench/multipath tells. */
#ifndef BENCH_LINKS_RIG_H
#define BENCH_LINKS_RIG_H

#include "device/copier.h"
#include "grove_cuda.h"
#include "links/sm_links.h"

typedef struct links_rig {
  const grove_driver *driver;
  int devices, blocks;
  int64_t most, staging; /* bytes of the largest copy; of staging memory at each stop */
  grove_machine *machine;
  grove_copy_findings found;
} links_rig;

/* Ends the program with a sentence unless ok. */
void links_need(int ok, const char *sentence);
static inline void links_need_grove(grove_status status)
{
  links_need(status == GROVE_OK, grove_last_error());
}

grove_copier *links_copier(const links_rig *rig, const char *paths);

/* ---- the parts ---- */

/* Copies of many sizes arrive; returns how many do not. */
int links_check(const links_rig *rig);
void links_show_links(const links_rig *rig);

#endif
