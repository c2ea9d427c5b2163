/* Words and numbers of a line. Whole numbers are parsed by hand, since a matrix has millions of
 * them. Reals are parsed by hand where that is exact, else by strtod.
 */
#ifndef MATRIX_MARKET_NUMBER_H
#define MATRIX_MARKET_NUMBER_H

#include <locale.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cursor {
  const char *at, *end;
} cursor;

static inline int is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static inline void skip_blanks(cursor *c)
{
  while (c->at < c->end && is_blank(*c->at)) c->at++;
}

/* Whether nothing but blanks is left. */
static inline int at_end(cursor *c)
{
  skip_blanks(c);
  return c->at == c->end;
}

/* A number without a sign, up to a blank, at most INT64_MAX. 0 on success; otherwise the cursor
 * stays where the word begins. */
static inline int cursor_count(cursor *c, int64_t *out)
{
  skip_blanks(c);
  const char *at = c->at;
  uint64_t n = 0;
  int digits = 0;
  for (; at < c->end && (unsigned char)(*at - '0') < 10; at++) {
    n = 10 * n + (uint64_t)(*at - '0');
    digits += digits > 0 || *at != '0';
  }
  if (at == c->at || (at < c->end && !is_blank(*at)) || digits > 19 || n > INT64_MAX) return 1;
  c->at = at;
  *out = (int64_t)n;
  return 0;
}

/* Likewise: a whole number, possibly with a sign; and a real: "-1.5e-3", "2", ".5", "1d10" (as
 * Fortran writes it), "inf", "nan". A real too large for a double is a failure. */
int cursor_integer(cursor *c, double *out);
int cursor_real(cursor *c, double *out);

/* strtod follows the locale. Between these two calls this thread uses that of C, if available. */
typedef struct plain_numbers {
  locale_t plain, before;
} plain_numbers;

plain_numbers plain_numbers_begin(void);
void plain_numbers_end(plain_numbers *n);

/* The next word, lower case and cut to `room`; "" at the end. */
void cursor_word(cursor *c, char *out, size_t room);

/* The same unchanged, for an error sentence: unprintable characters become question marks. */
void cursor_quote(const cursor *c, char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
