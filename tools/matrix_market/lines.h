/* The lines of a file or of memory, plain or gzipped, one after the other and without copying: a
 * line stays in a buffer until the next one is requested. A file that is cut, damaged or unreadable
 * is refused in a sentence. So is one whose lines are not what its reader expects.
 */
#ifndef MATRIX_MARKET_LINES_H
#define MATRIX_MARKET_LINES_H

#include "number.h"
#include "read_error.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LINES_LONGEST = 1 << 16 }; /* bytes of a line; comments may be longer */

typedef struct lines {
  const char *name; /* for error sentences */
  read_error *error;

  FILE *file;                  /* NULL: from memory */
  const unsigned char *memory; /* what is left to read */
  size_t memory_left;
  int64_t done, all; /* bytes read, and in all; 0: unknown */

  unsigned char *raw; /* as read */
  size_t raw_begin, raw_end;
  void *unpacker; /* zlib's; NULL: not compressed, or not yet known to be */
  int members;    /* compressed parts that have begun */
  int between;    /* after one of them, before the next */

  char *text; /* unpacked */
  size_t begin, end;
  int finished;   /* no more text will come */
  int64_t number; /* of the last line, from 1 */
} lines;

/* Opens the memory, or the file of that name where `memory` is NULL. 0 on success, 1 on failure;
 * `error` gets the sentence, now and later. */
int lines_open(lines *l, const char *name, const void *memory, size_t length, read_error *error);
void lines_close(lines *l);

/* The next line, without its end, LF or CRLF. 1: there is one; 0: there is none; -1: a failure,
 * recorded. A line that begins with '%' may come back cut. */
int lines_next(lines *l, cursor *line);

/* The array with room for this many. NULL: a failure, recorded, with the array unchanged. Room
 * should grow with what has come, not with what is promised. */
void *lines_grow(lines *l, void *array, int64_t count, size_t bytes);

/* ---- refusals: they return 1 ---- */

/* About the last line read, if there is one. */
int lines_fail(lines *l, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  ;

/* Something else was expected at the cursor. */
int lines_fail_expected(lines *l, const cursor *at, const char *what);

/* 0 if nothing but blanks is left. */
int lines_expect_end(lines *l, cursor *at);

#ifdef __cplusplus
}
#endif

#endif
