/* Redirects standard error to a file for a while: what Grove prints comes back as text. */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

#include <stdio.h>

enum { CAPTURE_BYTES = 32768 };

typedef struct capture {
  FILE *file;
  int before;
} capture;

capture capture_begin(void);

/* `text` has room for CAPTURE_BYTES. */
void capture_end(capture *c, char *text);

#endif
