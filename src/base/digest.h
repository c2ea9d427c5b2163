/* Digests: short numbers that differ if what they are of differs, as far as chance goes. Not for
 * what somebody may forge. */
#ifndef GROVE_BASE_DIGEST_H
#define GROVE_BASE_DIGEST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of bytes: FNV-1a, 64 bit. */
static inline uint64_t grove_digest_bytes(const void *bytes, int64_t n)
{
  const unsigned char *at = (const unsigned char *)bytes;
  uint64_t sum = 14695981039346656037u;
  for (int64_t i = 0; i < n; i++) sum = (sum ^ at[i]) * 1099511628211u;
  return sum;
}

/* Adds a word to the digest of those before it. A word that changes alone changes the sum: each
 * step can be undone, because the factor is odd. */
static inline uint64_t grove_digest_word(uint64_t sum, uint64_t word)
{
  sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 29;
}

#ifdef __cplusplus
}
#endif

#endif
