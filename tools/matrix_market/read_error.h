/* Why a file was not read. */
#ifndef MATRIX_MARKET_READ_ERROR_H
#define MATRIX_MARKET_READ_ERROR_H

#include <stdint.h>

/* A sentence: "FILE:LINE: ...", or "FILE: ..." where no line is to blame. */
typedef struct read_error {
  int64_t line; /* 0: none */
  char sentence[1024];
} read_error;

#endif
