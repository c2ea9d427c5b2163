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
extern const command machine_measure; /* these two under mpirun */
extern const command machine_check;

/* Reads the arguments of a subcommand that takes `n` machines and --json. */
int read_machine_arguments(int argc, char **argv, const char *who, int n, const char **names,
                           int *json);

/* All of a machine, as a page for people (show.c) and as JSON (json.c), with the points of its file
 * if `path` is one. Returns an exit status. */
int print_machine_page(const grove_machine *m);
int print_machine_json(const grove_machine *m, const char *path);

#ifdef __cplusplus
}
#endif

#endif
