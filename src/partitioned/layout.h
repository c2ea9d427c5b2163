/* How the bytes of a channel's round may travel over a fabric, and the number that stands for each
 * piece. Both ends make the same layout from the sender's offer.
 *
 * Settled groups are cut into packets of at most `chunk` bytes, and a packet has its index as its
 * number. Runs that are known only when they leave have a number by first and count: n parts have
 * n (n + 1) / 2 runs. Of more than 4096 parts several neighbours make a *grain*, and only runs of
 * whole grains have a number.
 */
#ifndef GROVE_PARTITIONED_LAYOUT_H
#define GROVE_PARTITIONED_LAYOUT_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_MOST_GRAINS = 4096 };

typedef struct grove_layout {
  int64_t bytes, chunk;
  int64_t ngroups;  /* 0: runs */
  int64_t *offsets; /* where each group begins, and the end */
  int64_t *first;   /* its first packet, and the end */
  int64_t grain, n; /* bytes of a grain, and how many there are */
} grove_layout;

grove_status grove_layout_of_groups(int64_t parts, int64_t bytes, int64_t ngroups, int64_t chunk,
                                    grove_layout *out);
grove_status grove_layout_of_runs(int64_t parts, int64_t bytes, int64_t chunk, grove_layout *out);
void grove_layout_free(grove_layout *layout);

/* How many numbers it has; at least 1. */
int64_t grove_layout_numbers(const grove_layout *layout);

/* The next piece of the bytes from `offset` to `end`: its length, and its number, or -1 if it has
 * none; `group` is its group. */
int64_t grove_layout_piece(const grove_layout *layout, int64_t offset, int64_t end, int64_t *number,
                           int64_t *group);

/* The bytes that a number stands for. */
void grove_layout_find(const grove_layout *layout, int64_t number, int64_t *offset, int64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
