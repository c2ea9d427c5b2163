/* Digests: short numbers that differ if what they are of differs, as far as chance goes. Not for
 * what somebody may forge. */
#ifndef GROVE_BASE_DIGEST_H
#define GROVE_BASE_DIGEST_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds a word to the digest of those before it. A word that changes alone changes the sum: each
 * step can be undone, because the factor is odd. */
static inline uint64_t grove_digest_word(uint64_t sum, uint64_t word)
{
  sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 29;
}

/* Of bytes, eight at a time. */
static inline uint64_t grove_digest_bytes(const void *bytes, int64_t n)
{
  const char *at = (const char *)bytes;
  uint64_t sum = (uint64_t)n, word = 0;
  for (; n >= (int64_t)sizeof word; n -= (int64_t)sizeof word, at += sizeof word) {
    memcpy(&word, at, sizeof word);
    sum = grove_digest_word(sum, word);
  }
  word = 0;
  if (n > 0) memcpy(&word, at, (size_t)n);
  return grove_digest_word(sum, word);
}

#ifdef __cplusplus
}
#endif

#endif
