#include "base/number.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C library reads and prints numbers with the decimal point of the locale. So this thread's
 * locale is changed for a moment; other threads keep theirs. */
typedef struct plain {
  locale_t c, before;
} plain;

static plain plain_begin(void)
{
  plain p = {.c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
  if (p.c != (locale_t)0) p.before = uselocale(p.c);
  return p;
}

static void plain_end(plain p)
{
  if (p.c == (locale_t)0) return;
  uselocale(p.before);
  freelocale(p.c);
}

static const char *skip_digits(const char *at)
{
  while (isdigit((unsigned char)*at)) at++;
  return at;
}

/* strtod alone would take hexadecimal numbers, "nan" and blanks too. */
static int well_formed(const char *word)
{
  const char *at = skip_digits(word);
  int any = at > word;
  if (*at == '.') {
    const char *fraction = ++at;
    at = skip_digits(at);
    any = any || at > fraction;
  }
  if (!any) return 0;
  if (*at == 'e' || *at == 'E') {
    at++;
    if (*at == '+' || *at == '-') at++;
    if (!isdigit((unsigned char)*at)) return 0;
    at = skip_digits(at);
  }
  return *at == '\0';
}

const char *grove_number_read(const char *word, double *out)
{
  if (strcmp(word, "inf") == 0) {
    *out = INFINITY;
    return NULL;
  }
  if (*word == '-' && well_formed(word + 1)) return "is negative";
  if (!well_formed(word)) return "is not a number";
  plain p = plain_begin();
  double value = strtod(word, NULL);
  plain_end(p);
  if (isinf(value)) return "is too large a number";
  *out = value;
  return NULL;
}

void grove_number_print(double value, char out[GROVE_NUMBER_BYTES])
{
  char text[GROVE_NUMBER_BYTES] = "nan";
  plain p = plain_begin();
  if (isinf(value))
    strcpy(text, value > 0 ? "inf" : "-inf");
  else if (value == floor(value) && fabs(value) < 1e7) /* %g would make 4e+01 of 40 */
    snprintf(text, sizeof text, "%.0f", value);
  else if (!isnan(value))
    for (int precision = 1; precision <= 17; precision++) {
      snprintf(text, sizeof text, "%.*g", precision, value);
      if (strtod(text, NULL) == value) break;
    }
  plain_end(p);
  memcpy(out, text, sizeof text);
}
