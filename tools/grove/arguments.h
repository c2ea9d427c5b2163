/* Words of the command line as values. A reader returns 0 on success. Another value means that the
 * word is not such a number, or is out of range; `out` is unchanged.
 */
#ifndef GROVE_TOOLS_ARGUMENTS_H
#define GROVE_TOOLS_ARGUMENTS_H

#include "grove.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One flag that takes a value: matches "--name value" and "--name=value" at argv[*i], and moves *i
 * to the last word used. Returns the value, "" if it is missing, or NULL if this is another flag.
 * */
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

/* The index of the word among `n`. */
int read_word(const char *text, const char *const *words, int n, int *out);

/* As read_number and read_word, but what the word must be is returned: NULL if it is that. The text
 * is valid until the next call. */
const char *need_number(const char *text, int64_t least, int64_t most, int64_t *out);
const char *need_word(const char *text, const char *const *words, int n, int *out);

/* Both print a sentence for the command `who` on standard error, and return EXIT_BAD_INPUT: of a
 * value and what it must be; of a word that no flag of the page of help is like, and the flags that
 * there are. */
int refuse_value(const char *who, const char *flag, const char *value, const char *needs);
int refuse_flag(const char *who, const char *flag, const char *help);

/* Bytes as people write them: "512 KiB", "1.5 MB", "1234 B". */
const char *show_bytes(double bytes, char room[32]);

/* Makes the folders that lead to a file; existing ones are left alone. 1: one of them cannot be
 * made, and errno says why. */
int make_folders(const char *file_path);

/* The library's last error without places in its source, which mean nothing to a user. */
const char *last_sentence(void);

/* A machine by name or file, or this one (auto), for the command `who`. On failure prints a
 * sentence on standard error and returns EXIT_BAD_INPUT. A row that no formula knows gets a
 * warning. */
int open_machine(const char *who, const char *name, grove_machine **out);
/* What --machine takes, for sentences. */
#define MACHINE_NEEDS "auto, a name of grove machine list, or a file"

#ifdef __cplusplus
}
#endif

#endif
