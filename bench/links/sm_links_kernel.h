/* What the kernel of SM links and who launches it agree on: sm_links_copy(to, from, bytes), with
 * any number of blocks. */
#ifndef BENCH_SM_LINKS_KERNEL_H
#define BENCH_SM_LINKS_KERNEL_H

/* Threads of a block, and 16-byte loads that each has under way. */
enum { SM_LINKS_THREADS = 512, SM_LINKS_WAYS = 4 };

#endif
