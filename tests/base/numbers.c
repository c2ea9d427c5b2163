/* Numbers as text: what is taken for one, what is wrong with the rest, and how they are written. */
#include "base/number.h"
#include "check.h"

#include <math.h>
#include <string.h>

static void reads(void)
{
  static const struct {
    const char *word;
    double value;
  } good[] = {
    {"0", 0},
    {"40", 40},
    {"007", 7},
    {"1.5", 1.5},
    {".5", 0.5},
    {"5.", 5},
    {"1e3", 1000},
    {"1E3", 1000},
    {"1e+3", 1000},
    {"25e-2", 0.25},
    {"3.67e-07", 3.67e-07},
    {"1e308", 1e308},
    {"4.9e-324", 4.9e-324},
    {"1e-999", 0},
    {"inf", INFINITY},
  };
  static const struct {
    const char *word, *why;
  } bad[] = {
    {"", "is not a number"},         {".", "is not a number"},
    {"e3", "is not a number"},       {"1e", "is not a number"},
    {"1e+", "is not a number"},      {"1e-x", "is not a number"},
    {"1,5", "is not a number"},      {"1.5.2", "is not a number"},
    {"0x10", "is not a number"},     {"nan", "is not a number"},
    {"infinity", "is not a number"}, {"+1", "is not a number"},
    {" 1", "is not a number"},       {"1 ", "is not a number"},
    {"1s", "is not a number"},       {"-1", "is negative"},
    {"-0", "is negative"},           {"-.5e3", "is negative"},
    {"--1", "is not a number"},      {"-", "is not a number"},
    {"-inf", "is not a number"},     {"1e999", "is too large a number"},
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    double value = -1;
    const char *why = grove_number_read(good[i].word, &value);
    CHECK(!why && value == good[i].value, "'%s' %s: %g", good[i].word, why ? why : "is read",
          value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    double value = -1;
    const char *why = grove_number_read(bad[i].word, &value);
    CHECK(why && strcmp(why, bad[i].why) == 0, "'%s' %s", bad[i].word, why ? why : "is read");
    CHECK(value == -1, "'%s' was taken nevertheless", bad[i].word);
  }
}

/* As few digits as give the same number back. */
static void prints(void)
{
  static const struct {
    double value;
    const char *text;
  } row[] = {
    {0, "0"},
    {40, "40"},
    {9999999, "9999999"},
    {10000000, "1e+07"},
    {12345678, "12345678"},
    {-40, "-40"},
    {-10000000, "-1e+07"},
    {0.5, "0.5"},
    {0.1, "0.1"},
    {3.67e-07, "3.67e-07"},
    {1.0 / 3, "0.3333333333333333"},
    {1e300, "1e+300"},
    {5e-324, "5e-324"},
    {123.456, "123.456"},
    {9007199254740993.0, "9007199254740992"},
    {0.1 + 0.2, "0.30000000000000004"},
    {INFINITY, "inf"},
    {-INFINITY, "-inf"},
    {NAN, "nan"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    char text[GROVE_NUMBER_BYTES];
    grove_number_print(row[i].value, text);
    CHECK(strcmp(text, row[i].text) == 0, "%.17g is written %s, not %s", row[i].value, text,
          row[i].text);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/numbers");
  reads();
  prints();
  return test_end();
}
