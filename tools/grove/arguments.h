/* Words of the command line, as values. A reader returns 0 on success; another value says that the
 * word is not such a number, or is out of range, and leaves `out` alone.
 */
#ifndef GROVE_TOOLS_ARGUMENTS_H
#define GROVE_TOOLS_ARGUMENTS_H

#include "grove.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One flag that takes a value: matches "--name value" and "--name=value" at argv[*i], moves *i on
 * to the last word used and returns the value, "" if there is none; NULL if it is another flag. */
const char *flag_value(int argc, char **argv, int *i, const char *name);

/* A whole number from `least` to `most`. */
int read_number(const char *text, int64_t least, int64_t most, int64_t *out);

/* Any number from `least` to `most`: 0.25, 1e6. */
int read_real(const char *text, double least, double most, double *out);

/* Bytes: 4096, 1e6, 512KiB, 1.5MB; whole and not negative. */
int read_bytes(const char *text, int64_t *out);

/* A number of things, also as 1e6; whole and not negative. */
int read_count(const char *text, int64_t *out);

/* Seconds: 0.004, 4ms, 250us, 12ns; not negative. */
int read_seconds(const char *text, double *out);

/* Which of `n` words it is. */
int read_word(const char *text, const char *const *words, int n, int *out);

/* Bytes as people write them: "512 KiB", "1.5 MB", "1234 B". */
const char *show_bytes(double bytes, char room[32]);

/* Makes the folders that lead to a file; those that are there are left as they are. 1: one of them
 * cannot be made, and errno says why. */
int make_folders(const char *file_path);

/* What the library said last, without the places in its source: they tell a user nothing. */
const char *last_sentence(void);

/* A machine by name or file, for the command `who`. On failure a sentence on standard error and
 * EXIT_BAD_INPUT; a row that no formula knows gets a warning. */
int open_machine(const char *who, const char *name, grove_machine **out);

#ifdef __cplusplus
}
#endif

#endif
