/* Slips of the pen: is one word most likely meant where another one stands? */
#ifndef GROVE_BASE_SLIPS_H
#define GROVE_BASE_SLIPS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many slips make `word` of `right`, in any case; -1: too many for that to be meant. */
int grove_slips(const char *word, size_t bytes, const char *right, size_t right_bytes);

#ifdef __cplusplus
}
#endif

#endif
