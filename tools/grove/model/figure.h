/* grove model figure: the papers' modelled figures, as data and pictures.
 */
#ifndef GROVE_TOOLS_FIGURE_H
#define GROVE_TOOLS_FIGURE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The words after `grove model`; argv[0] is "figure". */
int model_figure(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
