/* Numbers as text, the same whatever locale the program has set. */
#ifndef GROVE_BASE_NUMBER_H
#define GROVE_BASE_NUMBER_H

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_NUMBER_BYTES = 32 }; /* room for any number as text */

/* A decimal number that is not negative, or "inf". NULL on success; else what is wrong with it, to
 * be put behind the word: "is negative". */
const char *grove_number_read(const char *word, double *out);

/* With as few digits as give exactly this value back: 3.67e-07. */
void grove_number_print(double value, char out[GROVE_NUMBER_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
