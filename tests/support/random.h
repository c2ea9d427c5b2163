/* Random numbers that are the same everywhere: a test draws its cases from one seed on every rank,
 * so that all ranks know the whole case without communicating. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

typedef struct rng {
  uint64_t state;
} rng;

/* splitmix64 (Steele, Lea, Flood 2014): also a good hash of its argument. */
static inline uint64_t mix(uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static inline uint64_t mix2(uint64_t a, uint64_t b)
{
  return mix(mix(a) ^ b);
}

static inline rng rng_from(uint64_t a, uint64_t b)
{
  return (rng){mix2(a, b)};
}

static inline uint64_t rng_next(rng *r)
{
  r->state += 0x9e3779b97f4a7c15u;
  return mix(r->state);
}

/* 0 <= result < n, for n > 0. */
static inline int64_t rng_below(rng *r, int64_t n)
{
  return (int64_t)(rng_next(r) % (uint64_t)n);
}

/* first <= result <= last. */
static inline int64_t rng_between(rng *r, int64_t first, int64_t last)
{
  return first + rng_below(r, last - first + 1);
}

/* True one time in n. */
static inline int rng_one_in(rng *r, int n)
{
  return rng_below(r, n) == 0;
}

/* Puts n numbers into random order. */
static inline void rng_shuffle(rng *r, int64_t n, int64_t *a)
{
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = rng_below(r, i + 1), t = a[i];
    a[i] = a[j];
    a[j] = t;
  }
}

#endif
