#include "route/print.h"

#include "model/forms.h"

#include <math.h>
#include <string.h>

/* ---- the table ---- */

enum { MESSAGES, ON_MESSAGES, OFF_MESSAGES, BYTES, ON_BYTES, OFF_BYTES, COUNTS };

static double count_text(const grove_estimate *e, int which)
{
  const int64_t count[COUNTS] = {[MESSAGES] = e->messages[0] + e->messages[1],
                                 [ON_MESSAGES] = e->messages[0],
                                 [OFF_MESSAGES] = e->messages[1],
                                 [BYTES] = e->bytes[0] + e->bytes[1],
                                 [ON_BYTES] = e->bytes[0],
                                 [OFF_BYTES] = e->bytes[1]};
  return (double)count[which];
}

/* Microseconds, rounded to a thousandth; GROVE_TERMS: the sum. */
static double price_of(const grove_estimate *e, int which)
{
  return round(1e9 * (which < GROVE_TERMS ? e->price.term[which] : e->price.seconds)) / 1e3;
}

/* One number for each candidate. */
static void print_candidate(const grove_choice *choice, const char *name,
                            double (*number)(const grove_estimate *e, int which), int which,
                            FILE *file)
{
  fprintf(file, "  %-26s", name);
  for (int i = 0; i < choice->n; i++) {
    double value = number(&choice->candidates[i].estimate, which);
    if (isnan(value))
      fprintf(file, " %12s", "-");
    else
      fprintf(file, " %12.10g", value);
  }
  fprintf(file, "\n");
}

/* "on-node", for users. */
static const char *name_term(int term, char out[32])
{
  snprintf(out, 32, "%s", grove_term_names[term]);
  for (char *c = out; *c; c++) *c = (char)(*c == '_' ? '-' : *c);
  return out;
}

static int has_price(const grove_choice *choice)
{
  for (int i = 0; i < choice->n; i++)
    if (!isnan(choice->candidates[i].seconds)) return 1;
  return 0;
}

void grove_choice_print_table(const grove_choice *choice, const grove_machine *m,
                              int64_t unit_bytes, FILE *file)
{
  static const char *const names[COUNTS] = {"messages", "  inside nodes", "  between nodes",
                                            "bytes",    "  inside nodes", "  between nodes"};
  fprintf(file, "What an exchange of %lld-byte values costs on %s\n", (long long)unit_bytes,
          m->name);
  fprintf(file, "  %-26s", "route");
  for (int i = 0; i < choice->n; i++) fprintf(file, " %12s", choice->candidates[i].route->name);
  fprintf(file, "\n");
  for (int k = 0; k < COUNTS; k++) print_candidate(choice, names[k], count_text, k, file);
  print_candidate(choice, "microseconds", price_of, GROVE_TERMS, file);
  for (int t = 0; t < GROVE_TERMS && has_price(choice); t++) {
    char word[32], name[40];
    snprintf(name, sizeof name, "  %s", name_term(t, word));
    print_candidate(choice, name, price_of, t, file);
  }
}

void grove_choice_print_lifts(const grove_machine *m, FILE *file)
{
  fprintf(file, "%s\n",
          grove_machine_has_copies(m)
            ? "Arrays lie on devices: copy has the launches and the copies to the host and back."
            : GROVE_LACKS_COPIES);
}

/* ---- the choice and why ---- */

static int has_messages(const grove_machine *m, grove_locality where)
{
  return grove_form_has_messages(m, GROVE_CPU, where);
}

void grove_choice_lacks(const grove_choice *choice, const grove_machine *m,
                        char out[GROVE_LACKS_BYTES])
{
  const grove_estimate *e = &choice->candidates[0].estimate;
  int off = e->messages[1] > 0 && !has_messages(m, GROVE_OFF_NODE);
  int on = e->messages[0] > 0 && !grove_machine_has_shared(m) &&
           !has_messages(m, GROVE_ON_SOCKET) && !has_messages(m, GROVE_ON_NODE);
  snprintf(out, GROVE_LACKS_BYTES, "the profile %.200s lacks %s%s%s%s", m->name,
           off || on ? "alpha and beta of messages " : "a number that the price needs",
           off ? "between nodes" : "", off && on ? " and " : "", on ? "inside a node" : "");
}

double grove_choice_gain(const grove_choice *choice)
{
  if (choice->runner_up < 0 || !(choice->candidates[choice->chosen].seconds > 0)) return NAN;
  return choice->candidates[choice->runner_up].seconds / choice->candidates[choice->chosen].seconds;
}

/* The meaning of the binding term. */
static const char *const meaning[GROVE_TERMS] = {
  [GROVE_TERM_LATENCY] = "the number of messages between nodes: fewer of them would help most",
  [GROVE_TERM_BANDWIDTH] =
    "the bytes of the busiest rank: fewer, or better spread, would help most",
  [GROVE_TERM_INJECTION] = "the bytes that the ranks of a node push through one interface",
  [GROVE_TERM_QUEUE] = "the search for receives: a rank has too many messages at once",
  [GROVE_TERM_CONTENTION] = "a link that many messages share",
  [GROVE_TERM_ON_NODE] = "the number of messages inside nodes",
  [GROVE_TERM_COPY] = "the bytes copied inside nodes",
  [GROVE_TERM_CORES] = "the work of the ranks, which have too few cores for it",
};

static void print_binding(const grove_price *price, FILE *file)
{
  int most = 0;
  for (int t = 1; t < GROVE_TERMS; t++)
    if (price->term[t] > price->term[most]) most = t;
  fprintf(file, "What binds, with %.0f %% of its price: %s.\n",
          100 * price->term[most] / price->seconds, meaning[most]);
}

/* The term in which the more expensive of the two differs most. */
static void print_deciding(const grove_candidate *cheap, const grove_candidate *dear, FILE *file)
{
  const double *a = cheap->estimate.price.term, *b = dear->estimate.price.term;
  int most = 0;
  char word[32];
  for (int t = 1; t < GROVE_TERMS; t++)
    if (b[t] - a[t] > b[most] - a[most]) most = t;
  if (b[most] > a[most])
    fprintf(file, "What decides is %s: %.6g us with %s, %.6g us with %s.\n", name_term(most, word),
            1e6 * a[most], cheap->route->name, 1e6 * b[most], dear->route->name);
}

/* What standard would take instead, and the runner-up if that is another. */
static void print_gain(const grove_choice *choice, FILE *file)
{
  const grove_candidate *best = &choice->candidates[choice->chosen];
  const grove_candidate *standard = &choice->candidates[0];
  fprintf(file, "It is %.2f times as fast as standard.\n", standard->seconds / best->seconds);
  print_deciding(best, standard, file);
  if (choice->runner_up <= 0) return;
  const grove_candidate *next = &choice->candidates[choice->runner_up];
  fprintf(file, "The runner-up, %s, would take %.2f times as long.\n", next->route->name,
          next->seconds / best->seconds);
}

/* Why standard stays. */
static void print_loss(const grove_choice *choice, const grove_machine *m, FILE *file)
{
  const grove_candidate *standard = &choice->candidates[0];
  const grove_candidate *next = &choice->candidates[choice->runner_up > 0 ? choice->runner_up : 0];
  if (next->seconds < standard->seconds) {
    fprintf(file,
            "The runner-up, %s, would be %.2f times as fast by the model. Standard is left for a "
            "gain of\nmore than %.3g with a profile that was %smeasured.\n",
            next->route->name, standard->seconds / next->seconds, choice->needed,
            grove_machine_is_measured(m) ? "" : "not ");
  } else if (next->seconds > standard->seconds) {
    fprintf(file, "The runner-up, %s, would take %.2f times as long.\n", next->route->name,
            next->seconds / standard->seconds);
    print_deciding(standard, next, file);
  }
}

void grove_choice_print_reason(const grove_choice *choice, const grove_machine *m,
                               const char *alone, FILE *file)
{
  const grove_candidate *best = &choice->candidates[choice->chosen];
  char lacks[GROVE_LACKS_BYTES];
  if (isnan(best->seconds)) {
    grove_choice_lacks(choice, m, lacks);
    fprintf(file, "No price, and so no choice: %s.\n", lacks);
    return;
  }
  fprintf(file, "The choice: %s (%s).\n", best->route->name, best->route->description);
  if (alone)
    fprintf(file, "No other route can help: %s.\n", alone);
  else if (choice->chosen > 0)
    print_gain(choice, file);
  else
    print_loss(choice, m, file);
  if (best->seconds > 0)
    print_binding(&best->estimate.price, file);
  else
    fprintf(file, "There is nothing to send.\n");
}

/* ---- where the numbers came from ---- */

static int seen_before(const grove_machine *m, int row, grove_origin origin)
{
  for (int i = 0; i < row; i++)
    if (m->rows[i].known && grove_row_origin(&m->rows[i]) == origin &&
        strcmp(m->rows[i].term, m->rows[row].term) == 0)
      return 1;
  return 0;
}

static void print_origin(const grove_machine *m, grove_origin origin, const char *name, FILE *file)
{
  int numbers = 0;
  for (int i = 0; i < m->nrows; i++) {
    if (!m->rows[i].known || grove_row_origin(&m->rows[i]) != origin) continue;
    if (!seen_before(m, i, origin))
      fprintf(file, "%s%s", numbers > 0 ? ", " : name, m->rows[i].term);
    numbers++;
  }
  if (numbers > 0) fprintf(file, " (%d number%s)\n", numbers, numbers > 1 ? "s" : "");
}

void grove_choice_print_inputs(const grove_machine *m, FILE *file)
{
  static const char *const names[GROVE_ORIGINS] = {[GROVE_ORIGIN_MEASURED] = "  measured    ",
                                                   [GROVE_ORIGIN_CITED] = "  published   ",
                                                   [GROVE_ORIGIN_ASSUMED] = "  assumed     "};
  char missing[GROVE_LACKS_BYTES];
  fprintf(file, "The numbers are those of the profile %s%s%s\n", m->name, m->about ? ": " : "",
          m->about ? m->about : "");
  for (int i = 0; i < GROVE_ORIGINS; i++) print_origin(m, (grove_origin)i, names[i], file);
  grove_machine_missing(m, missing, sizeof missing);
  if (*missing) fprintf(file, "  not told    %s\n", missing);
}
