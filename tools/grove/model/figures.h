/* The figures that four papers draw from their models, drawn again from the published parameters.
 *
 * A figure writes its numbers as blocks of columns, each under a line of names. gnuplot's `data
 * index B using X:Y` finds them, and columnheader(Y) names the line. A line for which the machine
 * has no numbers has no column. In the commands `who` is the machine's name, `last` the last column
 * that is a line, `least` the column after it.
 */
#ifndef GROVE_TOOLS_FIGURES_H
#define GROVE_TOOLS_FIGURES_H

#include "model/strategies.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a figure is drawn from. */
typedef struct source {
  const grove_machine *m;
  int as_published; /* Table 6 to the letter: model/strategies.h */
} source;

/* Where the numbers go, and what the commands need to know about them. */
typedef struct sheet {
  FILE *data;
  int last;                           /* the last column that is a line; 0: not asked for */
  char colors[16 * GROVE_STRATEGIES]; /* of the lines of strategies; and which are dashed: 1 or 2 */
  char dashes[4 * GROVE_STRATEGIES];
} sheet;

typedef struct figure {
  const char *name, *machine, *about;
  /* Writes the numbers; returns NULL, or what the profile lacks. */
  const char *(*write)(const source *from, sheet *out);
  const char *commands;
  void (*say)(const source *from); /* prints in words what it shows; may be NULL */
} figure;

/* Those of figures_multipath.c. */
const char *write_multipath_shares(const source *from, sheet *out);
const char *write_multipath_one_way(const source *from, sheet *out);
const char *write_multipath_both_ways(const source *from, sheet *out);
const char *write_multipath_collectives(const source *from, sheet *out);
void say_multipath_one_way(const source *from);
void say_multipath_both_ways(const source *from);
void say_multipath_collectives(const source *from);
extern const char multipath_shares[], multipath_one_way[], multipath_both_ways[];
extern const char multipath_collectives[];

extern const figure figures[];
extern const int nfigures;

#ifdef __cplusplus
}
#endif

#endif
