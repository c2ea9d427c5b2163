/* Reads Matrix Market files, the text form in which sparse matrices are exchanged:
 *
 *     %%MatrixMarket matrix coordinate real symmetric
 *     % what it is and where it came from
 *     3 3 4              rows, columns, entries that follow
 *     1 1  2.0           row, column, value; both count from 1
 *     2 1 -1.0
 *     2 2  2.0
 *     3 3  1.0
 *
 *     matrix_market m;
 *     matrix_market_error error;
 *     if (matrix_market_read("A.mtx.gz", NULL, &m, &error)) return complain(error.sentence);
 *     for (int64_t k = 0; k < m.count; k++) y[m.row[k]] += m.value[k] * x[m.col[k]];
 *     matrix_market_free(&m);
 *
 * Reads coordinate files: `real`, `integer` or `pattern`; `general`, `symmetric` or
 * `skew-symmetric`; plain or gzipped (recognised by their first bytes, not by name; gzip needs a
 * build with zlib). Dense (`array`), complex and hermitian ones are refused. Needs neither Grove
 * nor the locale.
 */
#ifndef MATRIX_MARKET_H
#define MATRIX_MARKET_H

#include "read_error.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* of the library grove_readers */

/* Entries are in the order of the file. In a symmetric file every entry off the diagonal is
 * followed by its mirror image, with the opposite sign if skew-symmetric: `count` counts both.
 * Explicit zeros are entries. An entry that occurs twice stays twice: usually such are meant to be
 * added up. */
typedef struct matrix_market {
  int64_t rows, cols, count;
  int64_t *row, *col; /* from 0 */
  double *value;      /* NULL: a pattern, or not wanted; integers beyond 2^53 are rounded */
} matrix_market;

typedef struct matrix_market_how {
  int pattern_only; /* values are checked, but not kept */
  /* Called now and then with the bytes of the file read so far (compressed, if it is), and with its
   * size; 0: unknown. */
  void (*progress)(void *user, int64_t done, int64_t all);
  void *user;
} matrix_market_how;

typedef read_error matrix_market_error;

/* 0 on success, 1 on failure; then `error` says why and `out` is empty. `how` may be NULL. */
int matrix_market_read(const char *path, const matrix_market_how *how, matrix_market *out,
                       matrix_market_error *error);

/* The same from memory; `name` is for error sentences. */
int matrix_market_read_memory(const void *bytes, size_t length, const char *name,
                              const matrix_market_how *how, matrix_market *out,
                              matrix_market_error *error);

void matrix_market_free(matrix_market *m);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
