/* A picture of who sends how much to whom, with senders down and receivers across. In the terminal
 * it is a block of characters, in a file a heat map.
 */
#ifndef GROVE_TOOLS_PICTURE_H
#define GROVE_TOOLS_PICTURE_H

#include "base/status.h"
#include "plan/manifest.h"
#include "topo/topo.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum picture_of { PICTURE_OF_RANKS, PICTURE_OF_NODES } picture_of;

/* Bytes from cell to cell; a cell is one rank or node, or several where there are too many. */
typedef struct picture {
  picture_of of;
  int64_t members;  /* number of ranks or nodes */
  int64_t per_cell; /* members per cell; fewer in the last */
  int cells;
  double *bytes; /* cells x cells, by sender */
} picture;

/* At most `most` cells along an edge. */
grove_status picture_create(const grove_manifest *m, const grove_topo *topo, int64_t unit_bytes,
                            picture_of of, int most, picture *out);
void picture_free(picture *p);

/* One or two characters per cell. */
void picture_print(const picture *p, FILE *file);

/* STEM.dat, .gp and, with gnuplot, .svg and .png; `made` as in plot_draw. Returns an exit status.
 * */
int picture_draw(const picture *p, const char *stem, const char *title, char *made, size_t room);

#ifdef __cplusplus
}
#endif

#endif
