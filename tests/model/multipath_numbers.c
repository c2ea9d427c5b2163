/* Not a test by itself: prints what the model says of random paths and copies, with all digits,
 * for a program that has read the paper on its own (tests/tools/multipath_paper.py). A line is a
 * JSON object.
 *
 *     multipath_numbers CASES SEED */
#include "model/multipath_parts.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double between(rng *r, double low, double high)
{
  return low * pow(high / low, (double)rng_below(r, 1 << 30) / (1 << 30));
}

static void number(const char *name, double value)
{
  printf(", \"%s\": %.17g", name, value);
}

static void one_path(rng *r)
{
  grove_path p = {GROVE_PATH_GPU,         1,
                  between(r, 1e-7, 2e-5), between(r, 1e9, 3e11),
                  between(r, 1e-8, 2e-5), between(r, 1e-7, 2e-5),
                  between(r, 1e9, 3e11),  INFINITY};
  if (rng_one_in(r, 8)) p.beta2 = p.beta;
  double n = floor(between(r, 1e2, 1e9)), k = (double)rng_between(r, 1, 200), omega, delta;
  double phi = grove_path_phi(&p, n);
  printf("{\"what\": \"path\"");
  number("alpha", p.alpha);
  number("beta", p.beta);
  number("epsilon", p.epsilon);
  number("alpha2", p.alpha2);
  number("beta2", p.beta2);
  number("n", n);
  number("k", k);
  number("eq1",
         grove_path_whole(
           &(grove_path){GROVE_PATH_DIRECT, -1, p.alpha, p.beta, 0, 0, INFINITY, INFINITY}, n));
  number("eq2", grove_path_whole(&p, n));
  number("eq12", grove_path_whole(&p, n / k));
  number("eq13", grove_path_published(&p, n, k));
  number("eq14_15", grove_path_root_chunks(&p, n));
  number("eq17_18", grove_path_root(&p, n));
  number("phi", phi);
  number("eq19", grove_path_phi_chunks(&p, phi, n));
  grove_path_linear(&p, phi, &omega, &delta);
  number("omega", omega);
  number("delta", delta);
  number("eq20", n * omega + delta);
  number("pipelined", grove_path_seconds(&p, n, k));
  printf("}\n");
}

static void shares(rng *r)
{
  int paths = (int)rng_between(r, 1, 8);
  double omega[8], delta[8], share[8], n = between(r, 1e5, 1e9);
  printf("{\"what\": \"shares\"");
  number("n", n);
  for (int i = 0; i < paths; i++) {
    omega[i] = 1 / between(r, 1e9, 3e11);
    delta[i] = between(r, 1e-7, 1e-4);
  }
  grove_linear_shares(paths, omega, delta, n, share);
  printf(", \"paths\": [");
  for (int i = 0; i < paths; i++)
    printf("%s{\"omega\": %.17g, \"delta\": %.17g, \"share\": %.17g}", i > 0 ? ", " : "", omega[i],
           delta[i], share[i]);
  printf("]}\n");
}

int main(int argc, char **argv)
{
  long cases = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  for (long i = 0; i < cases; i++) {
    rng r = rng_from(seed, (uint64_t)i);
    one_path(&r);
    shares(&r);
  }
  return 0;
}
