/* One path of a copy, against values worked out by hand from the equations of Sojoodi et al.
 * 2025, and its exact form against trying every number of chunks. */
#include "model/path.h"
#include "near.h"
#include "random.h"

/* The first link is the slower one: 10 GB/s after 1 us; then 2 us, 3 us and 40 GB/s. */
static const grove_path first = {GROVE_PATH_GPU, 2, 1e-6, 10e9, 2e-6, 3e-6, 40e9, INFINITY};
/* The second one is: 40 GB/s after 3 us; then 1 us, 1 us and 10 GB/s. */
static const grove_path second = {GROVE_PATH_HOST, -1, 3e-6, 40e9, 1e-6, 1e-6, 10e9, INFINITY};
static const grove_path direct = {GROVE_PATH_DIRECT, -1, 2e-6, 20e9, 0, 0, INFINITY, INFINITY};

static void one_by_one(void)
{
  /* (1), (2): 4 MB at 20 GB/s; at 10 and then at 40 GB/s. */
  CHECK_NEAR(grove_path_whole(&direct, 4e6), 202e-6);
  CHECK_NEAR(grove_path_whole(&first, 4e6), 1e-6 + 400e-6 + 2e-6 + 3e-6 + 100e-6);
  CHECK_NEAR(grove_path_whole(&second, 4e6), 3e-6 + 100e-6 + 1e-6 + 1e-6 + 400e-6);
  /* (12) is (2) of a chunk: 1 MB of four. */
  CHECK_NEAR(grove_path_whole(&first, 1e6), 1e-6 + 100e-6 + 5e-6 + 25e-6);
  CHECK(grove_path_first_is_slower(&first) && !grove_path_first_is_slower(&second), "the cases");
  grove_path even = first;
  even.beta2 = even.beta;
  CHECK(!grove_path_first_is_slower(&even), "links as fast as each other are the second case");
}

static void in_chunks(void)
{
  /* (13), four chunks of 1 MB: 4 (1 + 100) + 5 + 25 us; 3 + 25 + 4 (2 + 100) us. */
  CHECK_NEAR(grove_path_published(&first, 4e6, 4), 434e-6);
  CHECK_NEAR(grove_path_published(&second, 4e6, 4), 436e-6);
  CHECK_NEAR(grove_path_published(&first, 4e6, 1), grove_path_whole(&first, 4e6));
  /* (14): 4e6 / (1e-6 40e9) = 100, so ten chunks; (17): 2 sqrt(1e-4 1e-6) + 400 + 5 us. */
  CHECK_NEAR(grove_path_root_chunks(&first, 4e6), 10);
  CHECK_NEAR(grove_path_root(&first, 4e6), 20e-6 + 400e-6 + 5e-6);
  CHECK_NEAR(grove_path_root(&first, 4e6), grove_path_published(&first, 4e6, 10));
  /* (15): 8e6 / (40e9 2e-6) = 100; (18): 2 sqrt(8e6 2e-6 / 40e9) + 800 + 3 us. */
  CHECK_NEAR(grove_path_root_chunks(&second, 8e6), 10);
  CHECK_NEAR(grove_path_root(&second, 8e6), 40e-6 + 800e-6 + 3e-6);
  CHECK_NEAR(grove_path_root(&second, 8e6), grove_path_published(&second, 8e6, 10));
  CHECK_NEAR(grove_path_root(&direct, 4e6), 202e-6);
  CHECK_NEAR(grove_path_root_chunks(&direct, 4e6), 1);
  CHECK_NEAR(grove_path_rate(&first), 10e9);
}

static void with_phi(void)
{
  double omega = 0, delta = 0;
  /* phi makes (19) ten there, as (14); at four times the bytes (19) says forty, (14) twenty. */
  double phi = grove_path_phi(&first, 4e6);
  CHECK_NEAR(phi, 0.1);
  CHECK_NEAR(grove_path_phi_chunks(&first, phi, 4e6), 10);
  CHECK_NEAR(grove_path_phi_chunks(&first, phi, 16e6), 40);
  /* (22): 1/10e9 + 0.1/40e9 a byte, 2 + 3 + 1/0.1 us; (20) there is (17). */
  grove_path_linear(&first, phi, &omega, &delta);
  CHECK_NEAR(omega, 1e-10 + 0.1 * 2.5e-11);
  CHECK_NEAR(delta, 15e-6);
  CHECK_NEAR(4e6 * omega + delta, grove_path_root(&first, 4e6));
  phi = grove_path_phi(&second, 8e6);
  CHECK_NEAR(phi, 0.1);
  grove_path_linear(&second, phi, &omega, &delta);
  CHECK_NEAR(omega, 0.1 * 2.5e-11 + 1e-10);
  CHECK_NEAR(delta, 3e-6 + 20e-6);
  CHECK_NEAR(8e6 * omega + delta, grove_path_root(&second, 8e6));
  /* Few bytes are one chunk, and (20) is (2). */
  CHECK_NEAR(grove_path_phi(&first, 1000), 1);
  grove_path_linear(&first, 1, &omega, &delta);
  CHECK_NEAR(1000 * omega + delta, grove_path_whole(&first, 1000));
  CHECK_NEAR(grove_path_phi(&first, 0), 1);
  CHECK_NEAR(grove_path_phi(&direct, 4e6), 1);
  grove_path_linear(&direct, 1, &omega, &delta);
  CHECK_NEAR(omega, 5e-11);
  CHECK_NEAR(delta, 2e-6);
}

/* Where latencies make the faster link the one that all wait for, (13) is too small. */
static void the_slower_link(void)
{
  const grove_path p = {GROVE_PATH_GPU, 2, 1e-6, 10e9, 10e-6, 10e-6, 11e9, INFINITY};
  /* Chunks of 100 kB: 11 us, then 20 + 9.0909 us. */
  const double t1 = 11e-6, t2 = 20e-6 + 1e5 / 11e9;
  CHECK_NEAR(grove_path_seconds(&p, 1e6, 10), t1 + 10 * t2);
  CHECK_NEAR(grove_path_published(&p, 1e6, 10), 10 * t1 + t2);
  CHECK_NEAR(grove_path_seconds(&first, 4e6, 4), grove_path_published(&first, 4e6, 4));
  CHECK_NEAR(grove_path_seconds(&second, 4e6, 4), grove_path_published(&second, 4e6, 4));
  CHECK_NEAR(grove_path_seconds(&direct, 4e6, 1), 202e-6);
}

/* Latencies that are 0 ask for chunks without end, and get the most that there may be. */
static void limits(void)
{
  grove_path p = first;
  int64_t chunks = 0;
  double slope = 0;
  p.alpha = p.alpha2 = p.epsilon = 0;
  CHECK(grove_path_carries(&p, 1e-3, &chunks, &slope) > 0 && chunks == GROVE_CHUNKS, "%lld chunks",
        (long long)chunks);
  CHECK_NEAR(grove_path_phi(&p, 1e6), 1.0 / GROVE_CHUNKS);
  CHECK(grove_path_carries(&first, 5.9e-6, &chunks, &slope) == 0, "nothing before the latencies");
  CHECK(grove_path_carries(&first, -1, &chunks, &slope) == 0, "nothing before the beginning");
  CHECK(grove_path_chunks(&first, 0) == 1 && grove_path_chunks(&direct, 1e9) == 1, "one chunk");
  /* A slot of 100 kB: 4 MB are forty chunks. */
  p = first;
  p.slot_bytes = 1e5;
  CHECK(grove_path_chunks(&p, 4e6) == 40, "%lld chunks", (long long)grove_path_chunks(&p, 4e6));
  double bytes = grove_path_carries(&p, grove_path_seconds(&p, 4e6, 40), &chunks, &slope);
  CHECK(chunks == 40, "%lld chunks", (long long)chunks);
  CHECK_NEAR(bytes, 4e6);
}

static double between(rng *r, double low, double high)
{
  return low * pow(high / low, (double)rng_below(r, 1 << 30) / (1 << 30));
}

/* No number of chunks carries more, or takes less time, than the one that is found. */
static void against_trying(void)
{
  for (int64_t i = 0; i < test_samples(2000); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    grove_path p = {GROVE_PATH_GPU,          1,
                    between(&r, 1e-7, 2e-5), between(&r, 1e9, 3e11),
                    between(&r, 1e-8, 2e-5), between(&r, 1e-7, 2e-5),
                    between(&r, 1e9, 3e11),  rng_one_in(&r, 3) ? between(&r, 1e4, 1e7) : INFINITY};
    double seconds = p.alpha + p.epsilon + p.alpha2 + between(&r, 1e-8, 2e-3), slope = 0, most = 0;
    int64_t chunks = 0;
    double bytes = grove_path_carries(&p, seconds, &chunks, &slope);
    CHECK_NEAR(bytes < 0.999 * p.slot_bytes * (double)chunks
                 ? grove_path_seconds(&p, bytes, (double)chunks)
                 : seconds,
               seconds);
    /* By halving, what k chunks carry: a way of its own to find it. */
    for (int k = 1; k <= 3000; k++) {
      double low = 0, high = k * fmin(p.slot_bytes, 1e10);
      if (grove_path_seconds(&p, 0, k) > seconds) break;
      if (k > 40 && k % 7 != (int)(chunks % 7)) continue;
      for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        *(grove_path_seconds(&p, middle, k) <= seconds ? &low : &high) = middle;
      }
      most = fmax(most, low);
    }
    CHECK(bytes >= most * (1 - 1e-9), "%.17g bytes in %lld chunks, and %.17g in others", bytes,
          (long long)chunks, most);
    int64_t best = grove_path_chunks(&p, bytes);
    CHECK((double)best * p.slot_bytes >= bytes * (1 - 1e-9), "chunks do not fit their slots");
    CHECK(grove_path_seconds(&p, bytes, (double)best) <= seconds * (1 + 1e-9),
          "%lld chunks take longer than %lld", (long long)best, (long long)chunks);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/path_forms");
  one_by_one();
  in_chunks();
  with_phi();
  the_slower_link();
  limits();
  against_trying();
  return test_end();
}
