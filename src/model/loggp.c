#include "model/loggp.h"

#include <math.h>

const char *const grove_delay_form_names[GROVE_DELAY_FORMS] = {"hidden", "drained", "covered"};

static double is_told_of(double seconds)
{
  return isnan(seconds) ? 0 : seconds;
}

/* The cost of a message regardless of its size. */
static double fixed_cost(const grove_loggp *p)
{
  return is_told_of(p->o_s) + is_told_of(p->L) + is_told_of(p->o_r);
}

/* The time of the bytes behind the first. */
static double tail_of(const grove_loggp *p, double bytes)
{
  return p->G * fmax(bytes - 1, 0);
}

double grove_loggp_spacing(const grove_loggp *p)
{
  return fmax(is_told_of(p->g), fmax(is_told_of(p->o_s), is_told_of(p->o_r)));
}

double grove_loggp_message(const grove_loggp *p, double bytes)
{
  return fixed_cost(p) + tail_of(p, bytes);
}

double grove_loggp_messages(const grove_loggp *p, double n, double bytes)
{
  if (n < 1) return 0;
  return fixed_cost(p) + n * tail_of(p, bytes) + (n - 1) * grove_loggp_spacing(p);
}

void grove_loggp_join(grove_loggp_train *train, const grove_loggp *p, double bytes)
{
  double spacing = grove_loggp_spacing(p);
  if (train->n++ == 0) train->spacing = spacing;
  train->fixed = fmax(train->fixed, fixed_cost(p));
  train->rest += tail_of(p, bytes) + spacing;
}

double grove_loggp_train_seconds(const grove_loggp_train *train)
{
  return train->n > 0 ? train->fixed + train->rest - train->spacing : 0;
}

double grove_loggp_parts(const grove_loggp *p, grove_delay_form form, double bytes, double n,
                         double delay)
{
  double part = tail_of(p, bytes / n);
  double messages = fixed_cost(p) + (n - 1) * grove_loggp_spacing(p) + part;
  if (form == GROVE_HIDDEN) return delay + messages;
  if (form == GROVE_COVERED) return fmax((n - 1) * part, delay) + messages;
  double early = (n - 1) * (part + fmax(is_told_of(p->g), is_told_of(p->o_s)));
  return fmax(early, delay) + fixed_cost(p) + part + (n - 1) * is_told_of(p->o_r);
}

/* As in the profile, or made from its postal parameters. */
static grove_loggp row_of_size(const grove_machine *m, grove_locality where, int64_t bytes)
{
  if (!m) return (grove_loggp){.L = NAN, .o_s = NAN, .o_r = NAN, .g = NAN, .G = NAN};
  const grove_loggp *row = grove_machine_loggp(m, where, bytes);
  if (row && !isnan(row->G)) return *row;
  grove_postal postal = grove_machine_postal(m, GROVE_CPU, where, bytes);
  double G = isnan(postal.alpha) ? (double)NAN : postal.beta;
  return (grove_loggp){.L = postal.alpha, .o_s = NAN, .o_r = NAN, .g = postal.alpha, .G = G};
}

grove_loggp grove_loggp_row(const grove_machine *m, grove_locality where, int64_t bytes)
{
  if (where == GROVE_OVER_FABRIC && !grove_machine_has_fabric(m)) where = GROVE_OFF_NODE;
  grove_loggp row = row_of_size(m, where, bytes);
  if (where >= GROVE_OFF_NODE || !isnan(row.G)) return row;
  return row_of_size(m, where == GROVE_ON_NODE ? GROVE_ON_SOCKET : GROVE_ON_NODE, bytes);
}

/* Parts of the largest of n messages. */
static int64_t largest_size(int64_t parts, int64_t n)
{
  return (parts + n - 1) / n;
}

grove_part_choice grove_loggp_price(const grove_machine *m, const grove_part_cut *cut, int64_t n)
{
  double bytes = cut->parts > 0
                   ? (double)largest_size(cut->parts, n) * ((double)cut->bytes / (double)cut->parts)
                   : 0;
  grove_loggp row = grove_loggp_row(m, cut->where, (int64_t)bytes);
  return (grove_part_choice){
    .messages = n,
    .bytes = bytes,
    .seconds = grove_loggp_parts(&row, cut->form, bytes * (double)n, (double)n, cut->delay),
    .row = row,
  };
}

grove_part_choice grove_loggp_best(const grove_machine *m, const grove_part_cut *cut)
{
  grove_part_choice best = grove_loggp_price(m, cut, 1);
  for (int64_t n = 1; largest_size(cut->parts, n) > 1;) {
    n = largest_size(cut->parts,
                     largest_size(cut->parts, n) - 1); /* the fewest with a smaller largest one */
    if (n > cut->most) break;
    grove_part_choice next = grove_loggp_price(m, cut, n);
    if (next.seconds < best.seconds) best = next;
  }
  return best;
}

grove_status grove_loggp_choose(const grove_machine *m, const grove_part_cut *cut,
                                grove_part_choice *choices, int *nchoices, int *best)
{
  int n = 0;
  GROVE_PASS_CHECK(cut->bytes >= 0 && cut->parts >= 1 && cut->parts <= INT32_MAX &&
                     cut->most >= 1 && cut->most <= cut->parts && cut->delay >= 0,
                   GROVE_ERR_ARG,
                   "%lld bytes in %lld parts and up to %lld messages, late by %g s: nothing may be "
                   "negative, there is 1 message at least, and no more than parts",
                   (long long)cut->bytes, (long long)cut->parts, (long long)cut->most, cut->delay);
  const grove_part_choice fastest = grove_loggp_best(m, cut);
  GROVE_PASS_CHECK(!isnan(fastest.seconds), GROVE_ERR_ARG,
                   "the profile %s has neither LogGP parameters nor alpha and beta %s", m->name,
                   grove_locality_names[cut->where]);
  for (int64_t messages = 1; messages <= cut->most; messages *= 2) {
    choices[n++] = grove_loggp_price(m, cut, messages);
    if (fastest.messages > messages && fastest.messages < 2 * messages) choices[n++] = fastest;
  }
  for (int i = 0; i < n; i++)
    if (choices[i].messages == fastest.messages) *best = i;
  *nchoices = n;
  return GROVE_OK;
}
