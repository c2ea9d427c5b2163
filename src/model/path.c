#include "model/path.h"

#include <math.h>

const char *const grove_path_kind_names[GROVE_PATH_KINDS] = {"direct", "gpu", "host"};

/* The delay of a chunk at the stop before it moves on. */
static double second_alpha(const grove_path *p)
{
  return p->epsilon + p->alpha2;
}

double grove_path_rate(const grove_path *p)
{
  return fmin(p->beta, p->beta2);
}

/* ---- as published ---- */

double grove_path_whole(const grove_path *p, double bytes)
{
  return p->alpha + bytes / p->beta + p->epsilon + p->alpha2 + bytes / p->beta2;
}

int grove_path_first_is_slower(const grove_path *p)
{
  return p->beta < p->beta2;
}

double grove_path_published(const grove_path *p, double bytes, double k)
{
  double first = p->alpha + bytes / k / p->beta;
  double second = second_alpha(p) + bytes / k / p->beta2;
  return grove_path_first_is_slower(p) ? k * first + second : first + k * second;
}

/* The size of a chunk for which the slower link's latency equals the other link's time: (14) and
 * (15) are the square root of the number of such chunks in `bytes`. */
static double unit_bytes(const grove_path *p)
{
  return grove_path_first_is_slower(p) ? p->alpha * p->beta2 : second_alpha(p) * p->beta;
}

double grove_path_root_chunks(const grove_path *p, double bytes)
{
  if (p->kind == GROVE_PATH_DIRECT) return 1;
  return sqrt(bytes / unit_bytes(p));
}

double grove_path_root(const grove_path *p, double bytes)
{
  if (p->kind == GROVE_PATH_DIRECT) return grove_path_whole(p, bytes);
  double alpha2 = second_alpha(p);
  return grove_path_first_is_slower(p)
           ? 2 * sqrt(bytes * p->alpha / p->beta2) + bytes / p->beta + alpha2
           : 2 * sqrt(bytes * alpha2 / p->beta) + bytes / p->beta2 + p->alpha;
}

double grove_path_phi(const grove_path *p, double bytes)
{
  if (p->kind == GROVE_PATH_DIRECT) return 1;
  double phi = sqrt(unit_bytes(p) / bytes);
  return phi < 1 ? fmax(phi, 1.0 / GROVE_CHUNKS) : 1;
}

double grove_path_phi_chunks(const grove_path *p, double phi, double bytes)
{
  if (p->kind == GROVE_PATH_DIRECT) return 1;
  double unit = unit_bytes(p);
  return unit > 0 ? phi * bytes / unit : 1 / phi;
}

void grove_path_linear(const grove_path *p, double phi, double *omega, double *delta)
{
  if (grove_path_first_is_slower(p)) {
    *omega = 1 / p->beta + phi / p->beta2;
    *delta = second_alpha(p) + p->alpha / phi;
  } else {
    *omega = phi / p->beta + 1 / p->beta2;
    *delta = p->alpha + second_alpha(p) / phi;
  }
}

/* ---- exactly ---- */

double grove_path_seconds(const grove_path *p, double bytes, double k)
{
  double first = p->alpha + bytes / k / p->beta;
  double second = second_alpha(p) + bytes / k / p->beta2;
  return first + second + (k - 1) * fmax(first, second);
}

/* Bytes of a chunk if the first link (or the second) is the bottleneck. */
static double chunk_by_first(const grove_path *p, double seconds, double k)
{
  return (seconds - k * p->alpha - second_alpha(p)) / (k / p->beta + 1 / p->beta2);
}

static double chunk_by_second(const grove_path *p, double seconds, double k)
{
  return (seconds - p->alpha - k * second_alpha(p)) / (1 / p->beta + k / p->beta2);
}

static double carries_in(const grove_path *p, double seconds, double k)
{
  double chunk = fmin(chunk_by_first(p, seconds, k), chunk_by_second(p, seconds, k));
  return k * fmin(chunk, p->slot_bytes);
}

/* The k that maximizes k (rest - k alpha) / (k / beta + 1 / other): the root of a quadratic,
 * written so that small latencies do not cancel. */
static double peak_rate(double rest, double alpha, double beta, double other)
{
  return fmin(rest / (alpha + sqrt(alpha * alpha + alpha * rest * other / beta)), GROVE_CHUNKS);
}

/* The best real k from 1 on. For each k, what is carried is the least of what either link and the
 * slot allow. Each of the three has one peak, and so has their minimum. */
static double best_chunks(const grove_path *p, double seconds)
{
  double alpha2 = second_alpha(p);
  /* With one chunk both allow the same; differences from rounding alone do not count. */
  double k = fmax(peak_rate(seconds - alpha2, p->alpha, p->beta, p->beta2), 1);
  if (chunk_by_first(p, seconds, k) > chunk_by_second(p, seconds, k) * (1 + 1e-12)) {
    k = fmax(peak_rate(seconds - p->alpha, alpha2, p->beta2, p->beta), 1);
    if (chunk_by_second(p, seconds, k) > chunk_by_first(p, seconds, k) * (1 + 1e-12)) {
      /* Both links take equally long for this chunk. */
      double chunk = (alpha2 - p->alpha) / (1 / p->beta - 1 / p->beta2);
      k = seconds / (p->alpha + chunk / p->beta) - 1;
    }
  }
  double chunk = fmin(chunk_by_first(p, seconds, k), chunk_by_second(p, seconds, k));
  if (chunk > p->slot_bytes) { /* more chunks, until they fit */
    double c = p->slot_bytes;
    k = fmin((seconds - alpha2 - c / p->beta2) / (p->alpha + c / p->beta),
             (seconds - p->alpha - c / p->beta) / (alpha2 + c / p->beta2));
  }
  return k;
}

double grove_path_carries(const grove_path *p, double seconds, int64_t *chunks, double *slope)
{
  *chunks = 1;
  *slope = 0;
  double rest = seconds - p->alpha - second_alpha(p);
  if (!(rest > 0)) return 0;
  if (p->kind == GROVE_PATH_DIRECT) {
    *slope = p->beta;
    return rest * p->beta;
  }
  double k = floor(fmin(fmax(best_chunks(p, seconds), 1), GROVE_CHUNKS));
  double bytes = carries_in(p, seconds, k), more = carries_in(p, seconds, k + 1);
  if (more > bytes && k < GROVE_CHUNKS) {
    bytes = more;
    k++;
  }
  double first = chunk_by_first(p, seconds, k), second = chunk_by_second(p, seconds, k);
  *chunks = (int64_t)k;
  *slope = fmin(first, second) > p->slot_bytes ? 0
           : first <= second                   ? k / (k / p->beta + 1 / p->beta2)
                                               : k / (1 / p->beta + k / p->beta2);
  return bytes;
}

/* The times have one valley: bisects on where they fall. */
int64_t grove_path_chunks(const grove_path *p, double bytes)
{
  int64_t low = 1, high = GROVE_CHUNKS;
  if (p->kind == GROVE_PATH_DIRECT || !(bytes > 0)) return 1;
  double least = ceil(bytes / p->slot_bytes * (1 - 1e-12)); /* rounding must not add a chunk */
  if (least > (double)low) low = least < GROVE_CHUNKS ? (int64_t)least : GROVE_CHUNKS;
  while (low < high) {
    int64_t k = low + (high - low) / 2;
    if (grove_path_seconds(p, bytes, (double)k) > grove_path_seconds(p, bytes, (double)k + 1))
      low = k + 1;
    else
      high = k;
  }
  return low;
}
