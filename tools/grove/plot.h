/* Pictures: a command writes its numbers as text, and gnuplot draws them where there is one.
 *
 *     FILE *data = plot_open("fits/off-node");            fits/off-node.dat, columns of numbers
 *     ... fprintf(data, ...); fclose(data);
 *     char made[512];
 *     int status = plot_draw("fits/off-node",
 *                            "set logscale xy\n"
 *                            "plot data using 1:2 with lines title 'off node'\n",
 *                            made, sizeof made);
 *     puts(made);                                         what is there now, as a sentence
 *
 * The commands become STEM.gp, which draws STEM.svg and STEM.png from STEM.dat by itself, wherever
 * the two files are taken: gnuplot STEM.gp. In the commands `data` is the name of the data file; a
 * terminal, a size and a plain style are set before they run. A text that comes from a user, a file
 * or a profile goes into them by plot_quote only: gnuplot can run other programs.
 */
#ifndef GROVE_TOOLS_PLOT_H
#define GROVE_TOOLS_PLOT_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* STEM.dat, to be written; its folder is made if it is not there. NULL: it cannot be. */
FILE *plot_open(const char *stem);

/* Writes STEM.gp and, where gnuplot is on PATH, runs it. `made` gets a sentence of what there is
 * now, or of what went wrong. EXIT_OK also without gnuplot: data and script are there then. */
int plot_draw(const char *stem, const char *commands, char *made, size_t room);

/* The same, and whether there are pictures now. */
int plot_draw_told(const char *stem, const char *commands, char *made, size_t room, int *drawn);

/* A text as gnuplot writes a string, with the quotes around it: nothing in it is understood as
 * anything else. What does not fit is cut; `room` is at least 3. Where it is shown, say noenhanced,
 * too. */
void plot_quote(const char *text, char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
