/* Shared by grove machine measure and grove machine check: both measure the machine that the ranks
 * run on, under mpirun, and compare a profile with the result.
 */
#ifndef GROVE_TOOLS_PROBING_H
#define GROVE_TOOLS_PROBING_H

#include "measure/measure.h"
#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct probing {
  const char *output, *name, *off_node_from; /* of measure */
  const char *against;                       /* of check */
  const char *picture;
  grove_effort effort;
  int force;  /* of measure: keep a doubtful profile */
  int fabric; /* ... also over libfabric */
  int json;
} probing;

/* Starts MPI, reads the arguments and runs the command, on every rank. `help`: its page. */
int probing_run(int argc, char **argv, int checks, const char *help,
                int (*run)(const probing *s, int rank));

/* Prints a sentence about the arguments, from rank 0; returns EXIT_BAD_INPUT. */
int probing_complain(int rank, const char *who, const char *format, const char *what);

/* Shows the progress to people (grove_measuring.progress). */
void probing_progress(void *self, const char *what, double share, double seconds_left);

/* The profile's value for a measured point; NaN where it has none. */
double probing_predict(const grove_machine *m, const grove_point *p);

/* Draws the points and the profile's lines, if a picture was requested. */
int probing_draw(const probing *s, const grove_machine *m, const grove_points *points);

#ifdef __cplusplus
}
#endif

#endif
