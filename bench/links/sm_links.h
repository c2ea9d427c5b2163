/* "SM links": one GPU plays several devices with links between them, so that copies over several
 * paths have real streams, events and launches. For benchmarks and tests only.
 *
 * A device is what was allocated under its number. A link, in one direction, is `blocks` blocks of
 * a copying kernel, one copy at a time: about 47 GB/s a block on an H200. Nothing is paced. Copies
 * to the host and from it are the GPU's own. Copies inside a device are too.
 *
 *     const grove_driver *driver;
 *     GROVE_PASS(sm_links_open(4, 1, &driver));
 *     GROVE_PASS(grove_copier_open(driver, 4, NULL, NULL, 64 << 20, &copier));
 *     GROVE_PASS(driver->allocate(2, bytes, &memory));
 *
 * Copies over one link are done in the order of the calls, whatever streams they are on. So a copy
 * on a stream that is stuck holds up all later ones over the same link.
 */
#ifndef BENCH_SM_LINKS_H
#define BENCH_SM_LINKS_H

#include "device/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SM_LINKS_DEVICES = 8, SM_LINKS_BLOCKS = 16 }; /* the most */

/* The driver, with so many devices on GPU 0, and so many blocks a link. It can be asked for again,
 * with other numbers, while nothing is allocated. GROVE_ERR_DEVICE: there is no GPU, and the
 * sentence says why. Of the table, export_memory, import_memory and let_go are NULL. */
grove_status sm_links_open(int ndevices, int blocks, const grove_driver **out);

/* How many copies were links' since then. */
int64_t sm_links_copies(void);

#ifdef __cplusplus
}
#endif

#endif
