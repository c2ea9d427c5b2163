/* The subcommands of grove machine, and what they share. */
#ifndef GROVE_TOOLS_MACHINE_H
#define GROVE_TOOLS_MACHINE_H

#include "grove/command.h"

#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const command machine_list;
extern const command machine_show;
extern const command machine_compare;

/* Measures the machine at hand; runs under mpirun. */
int machine_measure(int argc, char **argv);

/* Reads the arguments of a subcommand that takes `n` machines and --json. */
int read_machine_arguments(int argc, char **argv, const char *who, int n, const char **names,
                           int *json);

/* "complete", "assumed" or "incomplete". */
const char *standing_name(grove_standing standing);

/* A number for JSON: with all its digits; null where there is none, "inf" for what has no limit. */
void print_json_number(double value);

/* All of a machine, as JSON (machine_json.c). */
void print_machine_json(const grove_machine *m);

#ifdef __cplusplus
}
#endif

#endif
