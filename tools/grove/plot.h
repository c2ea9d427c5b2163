/* Pictures: a command writes its numbers as text, and gnuplot, where available, draws them.
 *
 *     FILE *data = plot_open("fits/off-node");            fits/off-node.dat, columns of numbers
 *     ... fprintf(data, ...); fclose(data);
 *     char made[512];
 *     int status = plot_draw("fits/off-node",
 *                            "set logscale xy\n"
 *                            "plot data using 1:2 with lines title 'off node'\n",
 *                            made, sizeof made);
 *     puts(made);                                         what was made, as a sentence
 *
 * The commands become STEM.gp. `gnuplot STEM.gp` draws STEM.svg and STEM.png from STEM.dat,
 * wherever the two files are moved. In the commands `data` is the name of the data file. A
 * terminal, a size and a plain style are set before they run. Text from a user, a file or a profile
 * must go through plot_quote: gnuplot can run other programs.
 */
#ifndef GROVE_TOOLS_PLOT_H
#define GROVE_TOOLS_PLOT_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens STEM.dat for writing, and makes its folder if necessary. NULL: not possible. */
FILE *plot_open(const char *stem);

/* Writes STEM.gp and, where gnuplot is on PATH, runs it. `made` gets a sentence on what was made,
 * or on what went wrong. EXIT_OK also without gnuplot: data and script exist then. */
int plot_draw(const char *stem, const char *commands, char *made, size_t room);

/* The same, and tells whether there are pictures now. */
int plot_draw_told(const char *stem, const char *commands, char *made, size_t room, int *drawn);

/* A text as a gnuplot string, with the quotes around it, so that nothing in it is interpreted. What
 * does not fit is cut; `room` is at least 3. Where it is shown, also say noenhanced. */
void plot_quote(const char *text, char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
