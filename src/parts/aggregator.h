/* Aggregators: which parts of a channel travel together. Each is a table of functions in its own
 * file. The functions are pure: all they know is in their arguments.
 *
 *     none       every part alone
 *     table      as a file says that was made by trying (grove aggregate --try)
 *     ploggp     by the LogGP model, one part taken to be late
 *     timer      groups as ploggp has them; what is ready a while after the first leaves
 *     adaptive   learns from the times of earlier rounds: groups, and how long to wait
 */
#ifndef GROVE_PARTS_AGGREGATOR_H
#define GROVE_PARTS_AGGREGATOR_H

#include "base/options.h"
#include "base/status.h"
#include "model/machine.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The question to an aggregator. */
typedef struct grove_part_question {
  int64_t parts, part_bytes; /* of the sender */
  grove_locality where;      /* how far it goes */
  const grove_machine *machine;
  const grove_options *options; /* delta, laggard, min_message, max_messages, part_table */
} grove_part_question;

/* The answer. */
typedef struct grove_part_plan {
  const char *aggregator; /* its name: that of another aggregator if a table has no entry */
  int64_t ngroups;
  int64_t *first; /* group g has parts first[g] .. first[g+1]-1, none empty; ngroups + 1 of them */
  int64_t endpoints; /* of libfabric, for groups to take turns on; 0: all that are open */
  double delta;   /* seconds from the first mark of a group until its ready parts leave; 0: never */
  double seconds; /* predicted, from the last mark until all has arrived; NaN: the profile lacks
                   * numbers for it */
} grove_part_plan;

void grove_part_plan_free(grove_part_plan *plan);

/* What an adaptive aggregator remembers of a channel. */
typedef struct grove_part_memory grove_part_memory;

typedef struct grove_aggregator {
  const char *name;
  const char *about; /* one line, for users */
  int runs;          /* runs are only known when they leave: each message tells the receiver */
  grove_status (*plan)(const grove_part_question *question, grove_part_plan *out);
  /* Called after a round with the time of each part's mark. `changed` becomes 1 if `out` is a new
   * plan for the next, else 0. Only aggregators that learn have a memory; `remember` makes it. */
  grove_status (*remember)(const grove_part_question *question, grove_part_memory **out);
  grove_status (*learn)(grove_part_memory *memory, const double *marked, grove_part_plan *out,
                        int *changed);
  void (*forget)(grove_part_memory **memory);
} grove_aggregator;

/* One file each. */
extern const grove_aggregator grove_aggregator_none;
extern const grove_aggregator grove_aggregator_table;
extern const grove_aggregator grove_aggregator_ploggp;
extern const grove_aggregator grove_aggregator_timer;
extern const grove_aggregator grove_aggregator_adaptive;

/* By the option `aggregator`; and all of them, up to a NULL. */
const grove_aggregator *grove_aggregator_of(int option);
extern const grove_aggregator *const grove_aggregators[];

#ifdef __cplusplus
}
#endif

#endif
