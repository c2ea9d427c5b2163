#include "number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NUMBER = 511 };

static const char *word_end(const cursor *c)
{
  const char *at = c->at;
  while (at < c->end && !is_blank(*at)) at++;
  return at;
}

void cursor_word(cursor *c, char *out, size_t room)
{
  skip_blanks(c);
  const char *end = word_end(c);
  size_t used = 0;
  for (; c->at < end; c->at++)
    if (used + 1 < room) out[used++] = (char)tolower((unsigned char)*c->at);
  out[used] = '\0';
}

void cursor_quote(const cursor *c, char *out, size_t room)
{
  cursor here = *c;
  skip_blanks(&here);
  const char *end = word_end(&here);
  size_t used = 0;
  for (; here.at < end && used + 1 < room; here.at++)
    out[used++] = *here.at > 0x20 && *here.at < 0x7f ? *here.at : '?';
  out[used] = '\0';
}

int cursor_integer(cursor *c, double *out)
{
  skip_blanks(c);
  cursor digits = *c;
  int64_t n = 0;
  int minus = c->at < c->end && *c->at == '-';
  if (c->at < c->end && (minus || *c->at == '+')) digits.at++;
  if (digits.at == c->end || is_blank(*digits.at) || cursor_count(&digits, &n)) return 1;
  c->at = digits.at;
  *out = minus ? -(double)n : (double)n;
  return 0;
}

/* ---- reals ---- */

plain_numbers plain_numbers_begin(void)
{
  plain_numbers n = {.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
  if (n.plain) n.before = uselocale(n.plain);
  return n;
}

void plain_numbers_end(plain_numbers *n)
{
  if (!n->plain) return;
  uselocale(n->before);
  freelocale(n->plain);
}

/* The value of a decimal: digits * 10^exponent. */
typedef struct decimal {
  int minus;
  uint64_t digits; /* the first 19 */
  int count;       /* how many there are, without leading zeros */
  int64_t exponent;
} decimal;

static int is_digit(const char *at, const char *end)
{
  return at < end && (unsigned char)(*at - '0') < 10;
}

static const char *scan_digits(const char *at, const char *end, decimal *d)
{
  for (; is_digit(at, end); at++) {
    if (d->count > 0 || *at != '0') d->count++;
    if (d->count <= 19)
      d->digits = 10 * d->digits + (uint64_t)(*at - '0');
    else
      d->exponent++;
  }
  return at;
}

/* The exponent after its letter; NULL if there is none. */
static const char *scan_exponent(const char *at, const char *end, decimal *d)
{
  int minus = at < end && *at == '-';
  int64_t n = 0;
  if (at < end && (minus || *at == '+')) at++;
  if (!is_digit(at, end)) return NULL;
  for (; is_digit(at, end); at++)
    if (n < 100000) n = 10 * n + (*at - '0');
  d->exponent += minus ? -n : n;
  return at;
}

/* Parses the word if it is a decimal. */
static int scan_decimal(const char *at, const char *end, decimal *d)
{
  *d = (decimal){.minus = at < end && *at == '-'};
  if (at < end && (d->minus || *at == '+')) at++;
  const char *whole = at;
  at = scan_digits(at, end, d);
  ptrdiff_t seen = at - whole;
  if (at < end && *at == '.') {
    const char *fraction = ++at;
    at = scan_digits(at, end, d);
    seen += at - fraction;
    d->exponent -= at - fraction;
  }
  if (seen == 0) return 0;
  if (at < end && strchr("eEdD", *at) && *at) at = scan_exponent(at + 1, end, d);
  return at == end;
}

/* Exact: both numbers are exact, and one operation rounds once (Clinger 1990). */
static int convert_simply(const decimal *d, double *out)
{
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (d->count > 19 || d->digits > (uint64_t)1 << 53 || d->exponent < -22 || d->exponent > 22)
    return 0;
  double x = (double)d->digits;
  x = d->exponent < 0 ? x / power[-d->exponent] : x * power[d->exponent];
  *out = d->minus ? -x : x;
  return 1;
}

/* strtod knows e, not Fortran's d; the caller has set the locale. */
static int convert_fully(const char *at, const char *end, double *out)
{
  char text[LONGEST_NUMBER + 1], *stop = NULL;
  size_t n = (size_t)(end - at);
  if (n > LONGEST_NUMBER) return 0;
  for (size_t i = 0; i < n; i++) text[i] = (char)(at[i] == 'd' || at[i] == 'D' ? 'e' : at[i]);
  text[n] = '\0';
  *out = strtod(text, &stop);
  return stop == text + n && isfinite(*out);
}

static int is_word(const char *at, const char *end, const char *word)
{
  size_t n = strlen(word);
  if ((size_t)(end - at) != n) return 0;
  for (size_t i = 0; i < n; i++)
    if (tolower((unsigned char)at[i]) != word[i]) return 0;
  return 1;
}

/* Not a number, or infinite: solvers write these. */
static int convert_special(const char *at, const char *end, double *out)
{
  int minus = at < end && *at == '-';
  if (at < end && (minus || *at == '+')) at++;
  if (is_word(at, end, "inf") || is_word(at, end, "infinity"))
    *out = minus ? -INFINITY : INFINITY;
  else if (is_word(at, end, "nan"))
    *out = NAN;
  else
    return 0;
  return 1;
}

int cursor_real(cursor *c, double *out)
{
  skip_blanks(c);
  const char *end = word_end(c);
  decimal d;
  int good = scan_decimal(c->at, end, &d)
               ? convert_simply(&d, out) || convert_fully(c->at, end, out)
               : convert_special(c->at, end, out);
  if (!good) return 1;
  c->at = end;
  return 0;
}
