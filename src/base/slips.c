#include "base/slips.h"

#include <ctype.h>

enum { MOST_BYTES = 64 };

static int fewer_edits(int a, int b)
{
  return a < b ? a : b;
}

static int same_letter(char a, char b)
{
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Letters to change, leave out, put in, or exchange with their neighbour, to make one of the other.
 * Row i has what it takes for the first i letters of `a`. */
static int count_edits(const char *a, size_t na, const char *b, size_t nb)
{
  int rows[MOST_BYTES + 1][MOST_BYTES + 1];
  for (size_t i = 0; i <= na; i++)
    for (size_t k = 0; k <= nb; k++) {
      rows[i][k] = i == 0 ? (int)k : k == 0 ? (int)i : 0;
      if (i == 0 || k == 0) continue;
      int changed = rows[i - 1][k - 1] + !same_letter(a[i - 1], b[k - 1]);
      rows[i][k] = fewer_edits(changed, 1 + fewer_edits(rows[i - 1][k], rows[i][k - 1]));
      if (i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) && same_letter(a[i - 2], b[k - 1]))
        rows[i][k] = fewer_edits(rows[i][k], rows[i - 2][k - 2] + 1);
    }
  return rows[na][nb];
}

/* Short names are close to many words: one slip in them, two in others. */
static int allowed_edits(size_t letters)
{
  return letters < 6 ? 1 : 2;
}

int grove_slips(const char *word, size_t bytes, const char *right, size_t right_bytes)
{
  if (bytes > MOST_BYTES || right_bytes > MOST_BYTES) return -1;
  int edits = count_edits(word, bytes, right, right_bytes);
  return edits <= allowed_edits(right_bytes) ? edits : -1;
}
