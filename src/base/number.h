/* Numbers as text, whatever locale the program has set. */
#ifndef GROVE_BASE_NUMBER_H
#define GROVE_BASE_NUMBER_H

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_NUMBER_BYTES = 32 }; /* room for any number as text */

/* Reads a decimal number that is not negative, or "inf". NULL on success, else what is wrong, to be
 * printed after the word: "is negative". */
const char *grove_number_read(const char *word, double *out);

/* Prints the fewest digits that read back as exactly this value: 3.67e-07. */
void grove_number_print(double value, char out[GROVE_NUMBER_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
