/* Random numbers that are the same on every machine. */
#ifndef BENCH_KIT_RANDOM_H
#define BENCH_KIT_RANDOM_H

#include "kit/need.h"

#include <stdint.h>

/* splitmix64 (Steele, Lea and Flood, 2014). */
static inline uint64_t bench_random(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* The same order on every rank that has the same state. */
static inline void bench_shuffle(int64_t *list, int64_t n, uint64_t *state)
{
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t k = (int64_t)(bench_random(state) % (uint64_t)(i + 1)), other = list[k];
    list[k] = list[i];
    list[i] = other;
  }
}

/* 0 .. n-1, shuffled; the caller frees them. */
static inline int64_t *bench_shuffled(int64_t n, uint64_t *state)
{
  int64_t *list = (int64_t *)bench_alloc((size_t)n, sizeof *list);
  for (int64_t i = 0; i < n; i++) list[i] = i;
  bench_shuffle(list, n, state);
  return list;
}

#endif
