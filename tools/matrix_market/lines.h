/* The lines of a file or of memory, plain or gzipped, one after the other and without copying: a
 * line lies in a buffer until the next one is asked for. Of a file that is cut, damaged or
 * unreadable it says so in a sentence.
 */
#ifndef MATRIX_MARKET_LINES_H
#define MATRIX_MARKET_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LINES_LONGEST = 1 << 16 }; /* bytes of a line; comments may be longer */

typedef struct lines {
  FILE *file;                  /* NULL: from memory */
  const unsigned char *memory; /* what is left of it */
  size_t memory_left;
  int64_t done, all; /* bytes read, and all there are; 0: not known */

  unsigned char *raw; /* as read */
  size_t raw_begin, raw_end;
  void *unpacker; /* zlib's; NULL: not compressed, or not yet seen to be */
  int members;    /* compressed parts that have begun */
  int between;    /* after one of them, before the next */

  char *text; /* unpacked */
  size_t begin, end;
  int finished;   /* nothing comes after the text that is there */
  int64_t number; /* of the last line, from 1 */
  const char *why;
  char words[128]; /* what `why` may point at */
} lines;

/* A file, or memory where `path` is NULL. 0 on success; else `why` tells. */
int lines_open(lines *l, const char *path, const void *memory, size_t length);
void lines_close(lines *l);

/* The next line, without its end, be that LF or CRLF. 1: there is one, 0: there is none, -1: `why`
 * tells. A line that begins with '%' may come back cut. */
int lines_next(lines *l, const char **begin, const char **end);

#ifdef __cplusplus
}
#endif

#endif
