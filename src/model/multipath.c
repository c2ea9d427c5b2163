#include "model/multipath_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const grove_solver_names[GROVE_SOLVERS] = {"exact", "published", "search"};
const grove_path_load grove_no_load = {.chunks = 0, .place = -1, .limited_by = -1};

/* ---- which paths there are ---- */

static grove_path make_path(const grove_links *l, int from, int to, int stop)
{
  if (stop < 0)
    return (grove_path){.kind = GROVE_PATH_DIRECT,
                        .via = -1,
                        .alpha = l->link[from][to].alpha,
                        .beta = l->link[from][to].rate,
                        .beta2 = INFINITY,
                        .slot_bytes = INFINITY};
  return (grove_path){.kind = stop == GROVE_HOST ? GROVE_PATH_HOST : GROVE_PATH_GPU,
                      .via = stop == GROVE_HOST ? -1 : stop,
                      .alpha = l->link[from][stop].alpha,
                      .beta = l->link[from][stop].rate,
                      .epsilon = l->epsilon[stop],
                      .alpha2 = l->link[stop][to].alpha,
                      .beta2 = l->link[stop][to].rate,
                      .slot_bytes = INFINITY};
}

static int has_path(const grove_links *l, int from, int to, int stop)
{
  if (stop < 0) return grove_link_is_there(l, from, to);
  return stop != from && stop != to && grove_link_is_there(l, from, stop) &&
         grove_link_is_there(l, stop, to);
}

/* A word of the list, up to a comma: -1 for the direct path, else the stop; -2: no such word. */
static int read_path(const char *word, size_t length)
{
  if (length == 6 && memcmp(word, "direct", 6) == 0) return -1;
  if (length == 4 && memcmp(word, "host", 4) == 0) return GROVE_HOST;
  if (length < 4 || length > 5 || memcmp(word, "gpu", 3) != 0) return -2;
  if (length == 5 && word[3] == '0') return -2;
  int number = 0;
  for (size_t i = 3; i < length; i++) {
    if (!isdigit((unsigned char)word[i])) return -2;
    number = 10 * number + (word[i] - '0');
  }
  return number < GROVE_DEVICES ? number : -2;
}

/* Tells which paths there are instead: "direct, gpu2, host". */
static grove_status refuse_path(const grove_machine *m, int from, int to, const char *word,
                                size_t length)
{
  char there[8 * (GROVE_DEVICES + 2)] = "none", name[16];
  size_t used = 0;
  for (int stop = -1; stop <= GROVE_HOST; stop++) {
    if (!has_path(&m->links, from, to, stop)) continue;
    snprintf(name, sizeof name, "gpu%d", stop);
    used += (size_t)snprintf(there + used, sizeof there - used, "%s%s", used > 0 ? ", " : "",
                             stop < 0             ? "direct"
                             : stop == GROVE_HOST ? "host"
                                                  : name);
  }
  return grove_error(GROVE_ERR_ARG, __FILE__, __LINE__,
                     "machine '%.100s' has no path '%.*s' from GPU %d to GPU %d; it has %s",
                     m->name, (int)length, word, from, to, there);
}

/* Sets a bit for each named path: bit 0 for the direct one, bit 1 + s for a stop at s. */
static grove_status read_paths(const grove_machine *m, int from, int to, const char *list,
                               uint32_t *wanted)
{
  *wanted = 0;
  for (const char *at = list;; at++) {
    size_t length = strcspn(at, ",");
    int stop = read_path(at, length);
    GROVE_PASS_CHECK(stop > -2, GROVE_ERR_ARG,
                     "'%.*s' is no path: they are called direct, gpu2 (by GPU 2) and host",
                     (int)(length < 40 ? length : 40), at);
    if (!has_path(&m->links, from, to, stop)) return refuse_path(m, from, to, at, length);
    GROVE_PASS_CHECK(!(*wanted >> (stop + 1) & 1), GROVE_ERR_ARG, "the path '%.*s' is named twice",
                     (int)length, at);
    *wanted |= (uint32_t)1 << (stop + 1);
    at += length;
    if (!*at) break;
  }
  return GROVE_OK;
}

static grove_status check_ends(const grove_machine *m, int from, int to, double bytes)
{
  int devices = m->links.devices;
  GROVE_PASS_CHECK(devices > 0, GROVE_ERR_ARG, "machine '%.100s' has no links between GPUs",
                   m->name);
  GROVE_PASS_CHECK(from >= 0 && from < devices, GROVE_ERR_ARG,
                   "there is no GPU %d: machine '%.100s' has %d, from 0 on", from, m->name,
                   devices);
  GROVE_PASS_CHECK(to >= 0 && to < devices, GROVE_ERR_ARG,
                   "there is no GPU %d: machine '%.100s' has %d, from 0 on", to, m->name, devices);
  GROVE_PASS_CHECK(from != to, GROVE_ERR_ARG, "a copy from GPU %d to itself has no paths", from);
  GROVE_PASS_CHECK(bytes >= 1 && isfinite(bytes), GROVE_ERR_ARG,
                   "a copy needs a number of bytes, 1 or more");
  return GROVE_OK;
}

grove_status grove_copies_add(grove_copies *set, const grove_machine *m, int from, int to,
                              double bytes, const char *paths)
{
  uint32_t wanted = UINT32_MAX;
  grove_copy_paths *copy = &set->copy[set->count];
  GROVE_PASS_CHECK(set->count < GROVE_COPIES, GROVE_ERR_ARG, "more than %d copies at once",
                   GROVE_COPIES);
  GROVE_PASS(check_ends(m, from, to, bytes));
  if (paths) GROVE_PASS(read_paths(m, from, to, paths, &wanted));
  *copy = (grove_copy_paths){.from = from, .to = to, .bytes = bytes};
  for (int stop = -1; stop < GROVE_ENDS; stop++)
    if ((wanted >> (stop + 1) & 1) && has_path(&m->links, from, to, stop))
      copy->path[copy->npaths++] = make_path(&m->links, from, to, stop);
  GROVE_PASS_CHECK(copy->npaths > 0, GROVE_ERR_ARG,
                   "machine '%.100s' has no path from GPU %d to GPU %d", m->name, from, to);
  set->m = m;
  GROVE_PASS(grove_resources_add(set, copy));
  set->count++;
  return GROVE_OK;
}

/* ---- loads ---- */

/* With k chunks (21) is exact if phi is 1 / k and the slower link for a chunk decides the case. */
void grove_load_describe(const grove_path *p, double bytes, grove_path_load *load)
{
  double k = (double)load->chunks, second = p->epsilon + p->alpha2;
  double t1 = p->alpha + bytes / k / p->beta, t2 = second + bytes / k / p->beta2;
  int first = p->kind == GROVE_PATH_DIRECT || t1 > t2;
  load->beta = p->beta;
  load->beta2 = p->beta2;
  load->phi = 1 / k;
  load->omega = first ? 1 / p->beta + 1 / (k * p->beta2) : 1 / (k * p->beta) + 1 / p->beta2;
  load->delta = load->launch + (first ? second + k * p->alpha : p->alpha + k * second);
}

/* The first path gets what is left. */
void grove_split_round(const grove_copy_paths *copy, grove_split *split)
{
  const double align = GROVE_SPLIT_ALIGNMENT;
  int64_t left = (int64_t)copy->bytes;
  int first = -1;
  for (int i = 0; i < split->npaths; i++) {
    grove_path_load *load = &split->load[i];
    load->bytes = 0;
    if (!(load->share > 0)) continue;
    if (first < 0) {
      first = i;
      continue;
    }
    int64_t bytes = (int64_t)(floor(load->share * copy->bytes / align + 0.5) * align);
    load->bytes = bytes < left ? bytes : left;
    left -= load->bytes;
  }
  if (first >= 0) split->load[first].bytes = left;
}

/* ---- solving ---- */

grove_status grove_multipath_solve(const grove_copies *set, grove_solver solver, grove_split *out)
{
  grove_status status = solver == GROVE_SOLVER_EXACT       ? grove_multipath_exact(set, out)
                        : solver == GROVE_SOLVER_PUBLISHED ? grove_multipath_published(set, out)
                                                           : grove_multipath_search(set, out);
  if (status != GROVE_OK) return status;
  int binds = -1;
  double checked = grove_resources_check(set, out, &binds);
  for (int c = 0; c < set->count; c++) {
    grove_split_round(&set->copy[c], &out[c]);
    out[c].checked = checked;
    out[c].binds = binds;
  }
  return GROVE_OK;
}

/* Keeps one path of each copy: the direct one, or number i. */
static int keep_one(const grove_copies *set, int i, grove_copies *out)
{
  *out = *set;
  for (int c = 0; c < out->count; c++) {
    grove_copy_paths *copy = &out->copy[c];
    int k = copy->path[0].kind == GROVE_PATH_DIRECT ? 0 : i;
    if (k >= copy->npaths) return 0;
    copy->path[0] = copy->path[k];
    copy->ncrossings[0] = copy->ncrossings[k];
    memcpy(copy->crossing[0], copy->crossing[k], sizeof copy->crossing[0]);
    copy->limited[0] = copy->limited[k];
    copy->useless[0] = -1;
    copy->npaths = 1;
  }
  return 1;
}

/* The best single path: its time, and the set reduced to it. */
static double best_single(const grove_copies *set, grove_copies *kept, int *which)
{
  grove_copies trial;
  double best = INFINITY;
  for (int i = 0; keep_one(set, i, &trial); i++) {
    grove_split splits[GROVE_COPIES];
    if (grove_multipath_exact(&trial, splits) != GROVE_OK) break;
    double seconds = splits[0].seconds;
    for (int c = 1; c < set->count; c++) seconds = fmax(seconds, splits[c].seconds);
    if (seconds < best) {
      best = seconds;
      *kept = trial;
      *which = i;
    }
    if (set->copy[0].path[0].kind == GROVE_PATH_DIRECT) break;
  }
  return best;
}

double grove_multipath_single(const grove_copies *set, grove_split *out, int *entry)
{
  const grove_copy_paths *copy = &set->copy[0];
  if (!out && set->count == 1 && copy->path[0].kind == GROVE_PATH_DIRECT)
    return grove_path_seconds(&copy->path[0], copy->bytes, 1);
  grove_copies kept;
  int which = 0;
  double seconds = best_single(set, &kept, &which);
  if (!out) return seconds;
  grove_multipath_solve(&kept, GROVE_SOLVER_EXACT, out);
  for (int c = 0; c < set->count; c++)
    entry[c] = set->copy[c].path[0].kind == GROVE_PATH_DIRECT ? 0 : which;
  return seconds;
}

static double first_rate(const grove_copies *set)
{
  double rates[GROVE_COPIES][GROVE_PATHS], sum = 0;
  int stopped[GROVE_COPIES][GROVE_PATHS];
  grove_resources_rates(set, rates, stopped);
  for (int i = 0; i < set->copy[0].npaths; i++) sum += rates[0][i];
  return sum;
}

double grove_multipath_bound(const grove_copies *set)
{
  grove_copies kept;
  int which = 0;
  best_single(set, &kept, &which);
  return first_rate(set) / first_rate(&kept);
}
