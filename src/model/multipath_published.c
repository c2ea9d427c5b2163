/* The published solver: Algorithm 1, with a phi for each size class. Rates are those left when all
 * copies run at once (multipath_resources.c). */
#include "model/multipath_parts.h"

#include <math.h>

enum { MOST_ROUNDS = 40 };

void grove_linear_shares(int n, const double *omega, const double *delta, double bytes,
                         double *share)
{
  double inverse = 0, sum = 0;
  for (int i = 0; i < n; i++) {
    inverse += 1 / omega[i];
    sum += delta[i] / omega[i];
  }
  for (int i = 0; i < n; i++)
    share[i] = n == 1 ? 1 : (1 - delta[i] / bytes * inverse + sum / bytes) / (omega[i] * inverse);
}

/* The paths in use, in the order of launching. */
typedef struct ranks_of_paths {
  int n;
  int entry[GROVE_PATHS];
  grove_path path[GROVE_PATHS];
  double phi[GROVE_PATHS], omega[GROVE_PATHS], delta[GROVE_PATHS], launch[GROVE_PATHS];
  double share[GROVE_PATHS];
} line;

/* The direct path first, then by rate; equals in their own order. */
static int goes_before(const grove_path *a, const grove_path *b)
{
  if (a->kind == GROVE_PATH_DIRECT || b->kind == GROVE_PATH_DIRECT)
    return a->kind == GROVE_PATH_DIRECT;
  return grove_path_rate(a) > grove_path_rate(b);
}

static line line_up(const grove_copy_paths *copy, const double *rates)
{
  line l = {.n = 0};
  for (int i = 0; i < copy->npaths; i++) {
    if (!(rates[i] > 0)) continue;
    grove_path p = copy->path[i];
    p.beta = fmin(p.beta, rates[i]);
    if (p.kind != GROVE_PATH_DIRECT) p.beta2 = fmin(p.beta2, rates[i]);
    int k = l.n++;
    for (; k > 0 && goes_before(&p, &l.path[k - 1]); k--) {
      l.path[k] = l.path[k - 1];
      l.entry[k] = l.entry[k - 1];
    }
    l.path[k] = p;
    l.entry[k] = i;
  }
  return l;
}

static void leave_path_out(line *l, int which)
{
  l->n--;
  for (int i = which; i < l->n; i++) {
    l->path[i] = l->path[i + 1];
    l->entry[i] = l->entry[i + 1];
  }
}

/* (22), and line 18: the alphas of earlier paths. */
static void set_linear(line *l)
{
  double sum = 0;
  for (int i = 0; i < l->n; i++) {
    grove_path_linear(&l->path[i], l->phi[i], &l->omega[i], &l->delta[i]);
    l->launch[i] = sum;
    l->delta[i] += sum;
    sum += l->path[i].alpha;
  }
}

/* Finds each phi for this many bytes. A phi is right for some share, and gives other shares. (20)
 * is a tangent of (17) or (18) at that share, so this is Newton's method. */
static void find_phi(line *l, double bytes)
{
  double sum = 0;
  for (int i = 0; i < l->n; i++) sum += grove_path_rate(&l->path[i]);
  for (int i = 0; i < l->n; i++) l->share[i] = grove_path_rate(&l->path[i]) / sum;
  for (int round = 0; round < MOST_ROUNDS; round++) {
    double change = 0, old[GROVE_PATHS];
    for (int i = 0; i < l->n; i++) {
      old[i] = l->share[i];
      l->phi[i] = grove_path_phi(&l->path[i], l->share[i] * bytes);
    }
    set_linear(l);
    grove_linear_shares(l->n, l->omega, l->delta, bytes, l->share);
    for (int i = 0; i < l->n; i++) change = fmax(change, fabs(l->share[i] - old[i]));
    if (change <= 1e-12) break;
  }
}

/* The worst path other than the direct one, by its share; -1: all are of use. */
static int worst_path(const line *l)
{
  int out = -1;
  for (int i = 0; i < l->n; i++)
    if (l->path[i].kind != GROVE_PATH_DIRECT && !(l->share[i] > 0) && l->n > 1 &&
        (out < 0 || l->share[i] < l->share[out]))
      out = i;
  return out;
}

static void solve_published(line *l, double bytes)
{
  double centre = grove_size_class_centre(grove_size_class((int64_t)bytes));
  for (;;) {
    find_phi(l, centre);
    int drop = worst_path(l);
    if (drop < 0) {
      grove_linear_shares(l->n, l->omega, l->delta, bytes, l->share);
      drop = worst_path(l);
    }
    if (drop < 0) return;
    leave_path_out(l, drop);
  }
}

/* A whole number of chunks: of the two around k the one for which (13) is less. It is on k's side
 * of their geometric mean. */
static double whole_chunks(double k)
{
  double below = fmax(floor(k), 1);
  return k * k > below * (below + 1) ? below + 1 : below;
}

static void take_published_loads(const grove_copy_paths *copy, const line *l, const int *stopped,
                                 grove_split *out)
{
  out->npaths = copy->npaths;
  out->seconds = 0;
  for (int i = 0; i < copy->npaths; i++) out->load[i] = grove_no_load;
  for (int i = 0; i < l->n; i++) {
    int entry = l->entry[i];
    const grove_path *p = &l->path[i];
    double bytes = l->share[i] * copy->bytes;
    double k =
      fmax(whole_chunks(grove_path_phi_chunks(p, l->phi[i], bytes)), ceil(bytes / p->slot_bytes));
    out->load[entry] = (grove_path_load){
      .share = l->share[i],
      .chunks = (int64_t)fmin(k, GROVE_CHUNKS),
      .phi = l->phi[i],
      .omega = l->omega[i],
      .delta = l->delta[i],
      .launch = l->launch[i],
      .beta = p->beta,
      .beta2 = p->beta2,
      .seconds = bytes * l->omega[i] + l->delta[i],
      .place = i,
      .limited_by = stopped[entry] >= 0 ? stopped[entry] : copy->limited[entry],
    };
    out->seconds = fmax(out->seconds, out->load[entry].seconds);
  }
}

grove_status grove_multipath_published(const grove_copies *set, grove_split *out)
{
  double rates[GROVE_COPIES][GROVE_PATHS];
  int stopped[GROVE_COPIES][GROVE_PATHS];
  grove_resources_rates(set, rates, stopped);
  for (int c = 0; c < set->count; c++) {
    line l = line_up(&set->copy[c], rates[c]);
    solve_published(&l, set->copy[c].bytes);
    take_published_loads(&set->copy[c], &l, stopped[c], &out[c]);
  }
  return GROVE_OK;
}
