/* What the kernels and who launches them agree on. */
#ifndef GROVE_DEVICE_CUDA_KERNELS_H
#define GROVE_DEVICE_CUDA_KERNELS_H

#include "pack/recipe.h"

/* Threads of a block, and blocks of moves that a processor has at once: it has the registers for
 * so many. */
enum { GROVE_BLOCK = 256, GROVE_RESIDENT = 4 };

#endif
