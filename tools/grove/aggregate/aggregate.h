/* grove aggregate: its settings, and how a table is made and printed.
 */
#ifndef GROVE_TOOLS_AGGREGATE_H
#define GROVE_TOOLS_AGGREGATE_H

#include "model/loggp.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aggregate_settings {
  const char *machine, *table;
  int64_t bytes, parts;
  double delay;
  int form, where, json;
} aggregate_settings;

/* Whether there is no LogGP for such messages, so that alpha and beta stand in. */
int aggregate_is_derived(const grove_machine *m, const aggregate_settings *s, double bytes);

/* Prints every entry of the table beside the model's prediction. Returns an exit status. */
int aggregate_table(const grove_machine *m, const aggregate_settings *s);

/* grove aggregate --try. Returns an exit status. */
int aggregate_try(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
