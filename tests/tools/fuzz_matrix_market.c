/* Any bytes at all, as a Matrix Market file: refused with a sentence, or read, and then all indices
 * are inside the matrix. See tests/fuzz. */
#include "matrix_market.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int condition)
{
  if (!condition) abort(); /* what both drivers notice */
}

/* Also with values that nobody wants. */
static void read_once(const uint8_t *data, size_t size, int pattern_only)
{
  matrix_market m;
  matrix_market_error error;
  matrix_market_how how = {.pattern_only = pattern_only};
  if (matrix_market_read_memory(data, size, "fuzz", &how, &m, &error)) {
    insist(m.row == NULL && m.count == 0);
    insist(strncmp(error.sentence, "fuzz:", 5) == 0 && strlen(error.sentence) > 10);
    insist(error.line >= 0 && !strchr(error.sentence, '\n'));
    return;
  }
  insist(m.row && m.col && m.rows >= 0 && m.cols >= 0 && m.count >= 0);
  insist(!pattern_only || !m.value);
  for (int64_t k = 0; k < m.count; k++)
    insist(m.row[k] >= 0 && m.row[k] < m.rows && m.col[k] >= 0 && m.col[k] < m.cols);
  matrix_market_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  read_once(data, size, 0);
  read_once(data, size, 1);
  return 0;
}
