/* A *guard*: with the option `check`, what watches over the arrays of an operation from its start
 * to its wait. guard.c has what all kinds of operations share: the list of open guards, and the
 * comparison of footprints. What an operation reads is sealed by its own kind: seals.c does it for
 * transfers, partitioned/guarded.c for channels.
 */
#ifndef GROVE_EXEC_GUARD_H
#define GROVE_EXEC_GUARD_H

#include "exec/footprint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_guard_kind {
  /* Writes what lies at that byte: "leaf 3 of the bcast on forest 'halo'". */
  void (*name)(const grove_guard *g, const grove_tread *t, uintptr_t at, char *out, size_t room);
  /* May the user have been told that some of what is written has arrived? */
  int (*tells_arrivals)(const grove_guard *g);
  /* The round is over: GROVE_ERR_CORRUPT if what was read is not what was sealed. */
  grove_status (*compare)(const grove_guard *g);
  void (*free)(grove_guard *g);
} grove_guard_kind;

struct grove_guard {
  const grove_guard_kind *kind;
  const grove_op *op;
  grove_guard *next; /* of those that are open */
  int is_open;
  int by_parts; /* so is the start under way: what it reads is the user's until it is marked */
  grove_footprint footprint;
};

/* At a start, before anything moves: GROVE_ERR_STATE if an operation whose guard is open shares
 * memory with this one, and one of them writes there. Else this guard is open. */
grove_status grove_guard_join(grove_guard *g);

/* The digest of the bytes of one unit, of which `begin` is the first that is used. Never 0. */
uint64_t grove_guard_digest_unit(const grove_unit *unit, const char *begin);
/* One of `bytes` bytes, which continues `sum`; 0 at first. */
uint64_t grove_guard_digest(uint64_t sum, const char *data, int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
