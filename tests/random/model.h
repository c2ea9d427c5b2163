/* What a rank's arrays must hold after each start, worked out serially from the program: the arrays
 * of all ranks go through the steps in the written order, one operation at a time, by the oracle.
 *
 * Only the order of leaf lists comes from the library, where the header leaves it open; so the
 * model goes on no further than it is asked, and those forests are made by then. */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include "arrays.h"
#include "program.h"

typedef struct model model;

/* `order`: the graphs of forests, by step, as they become known. */
model *model_create(const scene *s, int me, graph *const *order);
void model_free(model *m);

/* This rank's array, after round k of start `id`, in this role of call i of the operation. Steps of
 * one group are asked for by one thread at a time. */
const array *model_expect(model *m, int id, int round, int i, role which);

/* The array of a rank, and its values for a step and round; the same for model and library. */
array scene_array_create(const scene_array *a, int rank);
void scene_array_fill(const scene *s, int number, uint64_t seed, int rank, array *a);
uint64_t round_seed(const step *st, int round);

/* The array as the call sees it: its slot 0. */
array call_view(const scene_call *c, role which, const array *a, int rank);

#endif
