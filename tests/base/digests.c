/* Digests of bytes: the same for the same bytes wherever they lie, others for others. */
#include "base/digest.h"
#include "check.h"
#include "random.h"

#include <string.h>

enum { MOST = 41, SHIFTS = 8 };

static void differ(const char *bytes, int n)
{
  char moved[MOST + SHIFTS + 1], changed[MOST];
  uint64_t sum = grove_digest_bytes(bytes, n);
  for (int shift = 0; shift < SHIFTS; shift++) {
    memset(moved, shift, sizeof moved); /* what lies around them does not count */
    memcpy(moved + shift, bytes, (size_t)n);
    CHECK(grove_digest_bytes(moved + shift, n) == sum, "%d bytes, moved by %d", n, shift);
  }
  for (int bit = 0; bit < 8 * n; bit++) {
    memcpy(changed, bytes, (size_t)n);
    changed[bit / 8] ^= (char)(1 << bit % 8);
    CHECK(grove_digest_bytes(changed, n) != sum, "%d bytes, bit %d", n, bit);
  }
  for (int less = 0; less < n; less++)
    CHECK(grove_digest_bytes(bytes, less) != sum, "%d bytes like %d of them", n, less);
}

int main(int argc, char **argv)
{
  char bytes[MOST], zeros[MOST] = {0};
  test_begin(&argc, &argv, "base/digests");
  for (int i = 0; i < MOST; i++) bytes[i] = (char)mix2(test_seed(), (uint64_t)i);
  for (int n = 0; n <= MOST; n++) {
    differ(bytes, n);
    differ(zeros, n);
  }
  return test_end();
}
