/* Division by a number that is known beforehand, as kernels do it. */
#include "pack/kernel.inc"

#include "check.h"
#include "random.h"

static void check_division(int64_t by, int64_t n)
{
  grove_divisor d = grove_divisor_make(by);
  int64_t left = 0, quotient = grove_divide(n, &d, &left);
  CHECK(quotient == n / by && left == n % by, "%lld / %lld is %lld, %lld left", (long long)n,
        (long long)by, (long long)quotient, (long long)left);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "pack/divisors");
  for (int64_t k = 0; k < test_samples(100000); k++) {
    test_case(k);
    rng r = rng_from(test_seed(), (uint64_t)k);
    int64_t by = rng_between(&r, 1, (int64_t)1 << rng_between(&r, 0, 33));
    check_division(by, (int64_t)(rng_next(&r) >> rng_between(&r, 1, 60)));
    check_division(by, by * rng_between(&r, 1, 1 << 20) - k % 2); /* at the edges */
    check_division(by, INT32_MAX - k % 2);
    check_division(by, UINT32_MAX - k % 2);
    check_division(INT32_MAX - k % 3 + 1, INT32_MAX - k % 5 + 2);
  }
  return test_end();
}
