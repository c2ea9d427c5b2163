/* grove_forest_explain: the table says what is sent and adds up, the choice is the one that its
 * numbers lead to, and what is wrong with a call is told to all ranks alike. */
#include "check.h"
#include "generate.h"
#include "places.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUTES = 4 };

/* ---- reading the page ---- */

/* What rank 0 prints; "" on others. The caller frees it. */
static char *explain(const place *p, grove_forest *f, size_t unit_bytes)
{
  enum { MOST = 1 << 16 };
  char *page = need(MOST);
  FILE *file = p->rank == 0 ? tmpfile() : NULL;
  size_t length = 0;
  CHECK(p->rank > 0 || file, "there is no place for a file");
  CHECK_OK(grove_forest_explain(f, unit_bytes, file));
  if (file) {
    rewind(file);
    length = fread(page, 1, MOST - 1, file);
    fclose(file);
  }
  page[length] = '\0';
  return page;
}

static void check_words(const char *page, const char *words)
{
  CHECK(strstr(page, words), "'%s' is not in:\n%s", words, page);
}

/* The numbers of the row of this name, the `nth` such row; returns how many there are. */
static int read_row(const char *page, const char *name, int nth, double *out)
{
  char begin[64];
  int n = 0;
  snprintf(begin, sizeof begin, "\n  %s ", name);
  const char *row = page;
  for (int i = 0; i <= nth; i++) {
    row = strstr(row, begin);
    CHECK(row, "row '%s' is not in:\n%s", name, page);
    row += strlen(begin) - 1;
  }
  for (const char *end = strchr(row, '\n'); n < MOST_ROUTES; n++) {
    char *next = NULL;
    row += strspn(row, " ");
    if (row >= end) break;
    out[n] = *row == '-' ? NAN : strtod(row, &next);
    row = *row == '-' ? row + 1 : next;
  }
  return n;
}

/* Rows of numbers and their parts, to the last digit that is printed. */
static void check_sums(const char *page, int n)
{
  static const char *const terms[] = {"latency",    "bandwidth", "injection", "queue",
                                      "contention", "on-node",   "copy",      "cores"};
  double sum[MOST_ROUTES], one[MOST_ROUTES], rest[MOST_ROUTES];
  for (int which = 0; which < 2; which++) {
    CHECK(read_row(page, which ? "bytes" : "messages", 0, sum) == n, "not %d routes", n);
    CHECK(read_row(page, "  inside nodes", which, one) == n, "not %d routes", n);
    CHECK(read_row(page, "  between nodes", which, rest) == n, "not %d routes", n);
    for (int i = 0; i < n; i++)
      CHECK(one[i] + rest[i] == sum[i], "%g and %g are not %g", one[i], rest[i], sum[i]);
  }
  CHECK(read_row(page, "microseconds", 0, sum) == n, "not %d routes", n);
  for (int i = 0; i < n; i++) rest[i] = 0;
  for (size_t t = 0; t < sizeof terms / sizeof *terms; t++) {
    char name[40];
    snprintf(name, sizeof name, "  %s", terms[t]);
    CHECK(read_row(page, name, 0, one) == n, "not %d routes", n);
    for (int i = 0; i < n; i++) rest[i] += one[i];
  }
  for (int i = 0; i < n; i++)
    CHECK(fabs(rest[i] - sum[i]) <= 0.005, "the terms add up to %g, not %g", rest[i], sum[i]);
}

/* Which route is first, by what is asked of it without a measured profile. */
static void check_choice(const char *page, int n)
{
  static const char *const names[] = {"standard", "2-step", "3-step", "split"};
  double us[MOST_ROUTES];
  char words[64];
  int best = 0;
  read_row(page, "microseconds", 0, us);
  for (int i = 1; i < n; i++)
    if (us[i] < us[best]) best = i;
  if (fabs(us[0] / us[best] - 1.3) < 0.01) return; /* rounded */
  if (!(us[0] > 1.3 * us[best])) best = 0;
  snprintf(words, sizeof words, "The choice: %s (", names[best]);
  check_words(page, words);
}

/* ---- what is sent ---- */

static void count_messages(const graph *g, const grove_context *ctx, double *on, double *off)
{
  *on = *off = 0;
  for (int from = 0; from < g->nranks; from++)
    for (int to = 0; to < g->nranks; to++) {
      int a = 0, b = 0, needs = 0;
      for (int64_t j = 0; j < g->part[to].nleaves; j++) needs |= g->part[to].root[j].rank == from;
      CHECK_OK(grove_context_node((grove_context *)ctx, from, &a, NULL));
      CHECK_OK(grove_context_node((grove_context *)ctx, to, &b, NULL));
      if (needs && from != to) *(a == b ? on : off) += 1;
    }
}

static void check_page(const place *p, const graph *g, const char *page, int nnodes)
{
  double on, off, got[MOST_ROUTES];
  int n = nnodes > 1 && nnodes < p->size ? MOST_ROUTES : 1;
  char words[64];
  snprintf(words, sizeof words, "ranks %d, nodes %d (", p->size, nnodes);
  check_words(page, words);
  check_words(page, "What an exchange of ");
  check_words(page, "The numbers are those of the profile tcp-10g");
  check_words(page, "\n  assumed     sockets, ranks, ");
  check_sums(page, n);
  check_choice(page, n);
  count_messages(g, p->ctx, &on, &off);
  read_row(page, "  inside nodes", 0, got);
  CHECK(got[0] == on, "%g messages inside nodes, not %g", got[0], on);
  read_row(page, "  between nodes", 0, got);
  CHECK(got[0] == off, "%g messages between nodes, not %g", got[0], off);
  if (nnodes == 1)
    check_words(page, "No other route can help: all ranks are on one node.");
  else if (n == 1)
    check_words(page, "No other route can help: every node has one rank.");
}

static void at_random(const place *p, uint64_t number)
{
  static const char *const sizes[] = {"1", "2", "3", "1000"};
  rng r = rng_from(test_seed(), number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS), p->size);
  int nnodes = 0;
  CHECK_OK(grove_context_set(p->ctx, "node_size", sizes[rng_below(&r, 4)]));
  CHECK_OK(grove_context_node(p->ctx, 0, NULL, &nnodes));
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  char *page = explain(p, f, (size_t)rng_between(&r, 1, 5000));
  if (p->rank == 0) check_page(p, g, page, nnodes);
  free(page);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

/* ---- sentences ---- */

static grove_forest *all_to_all(const place *p)
{
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLTOALL, 2));
  CHECK_OK(grove_forest_set_name(f, "all of us"));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static void names_what_it_knows(const place *p)
{
  grove_forest *f = all_to_all(p);
  CHECK_OK(grove_context_set(p->ctx, "node_map", p->size == 5 ? "0,1,0,1,2" : ""));
  CHECK_OK(grove_context_set(p->ctx, "route", "standard"));
  CHECK_OK(grove_context_set(p->ctx, "message_cap", "4096"));
  char *page = explain(p, f, 8);
  if (p->rank == 0) {
    check_words(page, "Forest 'all of us': ");
    if (p->size == 5) {
      check_words(page, "nodes 3 (by the option node_map)");
      check_words(page, "up to 4096 bytes in a message between nodes (the option message_cap)");
      check_words(page, "The option route says standard");
    }
  }
  free(page);
  CHECK_OK(grove_context_set(p->ctx, "node_map", ""));
  CHECK_OK(grove_context_set(p->ctx, "route", "auto"));
  CHECK_OK(grove_context_set(p->ctx, "message_cap", "auto"));
  CHECK_OK(grove_forest_free(&f));
}

/* A machine that says nothing of messages: counts, and no price. */
static void without_a_price(const place *p)
{
  grove_forest *f = all_to_all(p);
  CHECK_OK(grove_context_set(p->ctx, "machine", "frontier"));
  CHECK_OK(grove_context_set(p->ctx, "node_size", "2"));
  CHECK_OK(grove_context_set(p->ctx, "transport_on_node", "mpi"));
  char *page = explain(p, f, 8);
  if (p->rank == 0 && p->size > 2)
    check_words(page, "No price, and so no choice: the profile frontier lacks alpha and beta");
  free(page);
  CHECK_OK(grove_context_set(p->ctx, "machine", "tcp-10g"));
  CHECK_OK(grove_context_set(p->ctx, "node_size", "0"));
  CHECK_OK(grove_context_set(p->ctx, "transport_on_node", "shm"));
  CHECK_OK(grove_forest_free(&f));
}

static void check_refused(const place *p, grove_forest *f, size_t unit_bytes, FILE *file,
                          grove_status expected, const char *words)
{
  grove_status status = grove_forest_explain(f, unit_bytes, file);
  CHECK_STATUS(status, expected);
  CHECK_SAME_ERROR(p->comm, status);
  CHECK(strstr(grove_last_error(), words), "'%s' is not in '%s'", words, grove_last_error());
}

static void refuses(const place *p)
{
  grove_forest *f = NULL;
  check_refused(p, NULL, 8, stdout, GROVE_ERR_ARG, "the forest is NULL");
  CHECK_OK(grove_forest_create(p->ctx, &f));
  check_refused(p, f, 8, stdout, GROVE_ERR_STATE, "is not set up");
  CHECK_OK(grove_forest_free(&f));
  f = all_to_all(p);
  check_refused(p, f, 0, stdout, GROVE_ERR_ARG, "units of 0 bytes");
  check_refused(p, f, (size_t)1 << 40, stdout, GROVE_ERR_ARG, "units of 1099511627776 bytes");
  check_refused(p, f, 8, NULL, GROVE_ERR_ARG, "rank 0: grove_forest_explain: there is no file");
  if (p->size > 1)
    check_refused(p, f, p->rank == 1 ? 16 : 8, stdout, GROVE_ERR_ARG,
                  "rank 1: grove_forest_explain: unit_bytes is 16, but on rank 0 it is 8");
  FILE *full = p->rank == 0 ? fopen("/dev/full", "w") : NULL;
  check_refused(p, f, 8, full, GROVE_ERR_SYSTEM, "rank 0: grove_forest_explain cannot write");
  if (full) fclose(full);
  free(explain(p, f, 8)); /* all is well after that */
  CHECK_OK(grove_forest_free(&f));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/explains");
  places all = places_create();
  for (int i = 0; i < all.n; i++) {
    CHECK_OK(grove_context_set(all.place[i].ctx, "machine", "tcp-10g"));
    refuses(&all.place[i]);
    names_what_it_knows(&all.place[i]);
    without_a_price(&all.place[i]);
  }
  for (int64_t i = 0; i < test_samples(30); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    at_random(p, (uint64_t)i * 2 + (uint64_t)p->side);
  }
  places_free(&all);
  return test_end();
}
