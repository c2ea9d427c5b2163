/* What grove machine measure and grove machine check share: both measure the machine that the ranks
 * run on, under mpirun, and hold a profile against what was seen.
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
  int json;
} probing;

/* Starts MPI, reads the arguments, and runs the command, on every rank. */
int probing_run(int argc, char **argv, int checks, int (*run)(const probing *s, int rank));

/* A sentence about the arguments, from rank 0; EXIT_BAD_INPUT. */
int probing_complain(int rank, const char *who, const char *format, const char *what);

/* Tells people how far it is (grove_measuring.progress). */
void probing_progress(void *self, const char *what, double share, double seconds_left);

/* What the profile says of a point that was measured; NaN where it says nothing. */
double probing_predict(const grove_machine *m, const grove_point *p);

/* The points and the profile's lines, if a picture is asked for. */
int probing_draw(const probing *s, const grove_machine *m, const grove_points *points);

#ifdef __cplusplus
}
#endif

#endif
