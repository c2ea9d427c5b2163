/* The reader of Matrix Market files: every kind that it takes, every sentence with its line, random
 * matrices written and read back, files cut and damaged at every byte. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "matrix_market.h"
#include "check.h"
#include "random.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef TEST_ZLIB
#include <zlib.h>
#endif

#define BANNER(words) "%%MatrixMarket matrix coordinate " words "\n"

typedef struct text {
  char *bytes;
  size_t length;
} text;

static int read_bytes(const char *bytes, size_t length, matrix_market *m, matrix_market_error *e)
{
  return matrix_market_read_memory(bytes, length, "it", NULL, m, e);
}

/* ---- by hand ---- */

/* The entries as text: "row,col=value " from 0, or "row,col " of a pattern. */
static void check_entries(const char *bytes, const char *expected)
{
  matrix_market m;
  matrix_market_error e;
  char got[512];
  CHECK(!read_bytes(bytes, strlen(bytes), &m, &e), "%s\nof\n%s", e.sentence, bytes);
  int used = snprintf(got, sizeof got, "%" PRId64 "x%" PRId64 ": ", m.rows, m.cols);
  for (int64_t k = 0; k < m.count; k++) {
    used +=
      snprintf(got + used, sizeof got - (size_t)used, "%" PRId64 ",%" PRId64, m.row[k], m.col[k]);
    if (m.value) used += snprintf(got + used, sizeof got - (size_t)used, "=%g", m.value[k]);
    used += snprintf(got + used, sizeof got - (size_t)used, " ");
  }
  CHECK(strcmp(got, expected) == 0, "'%s', and not '%s', of\n%s", got, expected, bytes);
  matrix_market_free(&m);
  CHECK(m.row == NULL && m.count == 0, "a freed matrix is not empty");
}

static void by_hand(void)
{
  check_entries(BANNER("real general") "2 3 3\n1 1 1.5\n2 3 -2e3\n1 2 0\n",
                "2x3: 0,0=1.5 1,2=-2000 0,1=0 ");
  check_entries(BANNER("real symmetric") "3 3 3\n1 1 4\n3 1 -1\n2 2 0.0\n",
                "3x3: 0,0=4 2,0=-1 0,2=-1 1,1=0 ");
  check_entries(BANNER("real skew-symmetric") "3 3 2\n2 1 4\n3 2 -.5\n",
                "3x3: 1,0=4 0,1=-4 2,1=-0.5 1,2=0.5 ");
  check_entries(BANNER("pattern general") "2 2 2\n1 2\n2 1\n", "2x2: 0,1 1,0 ");
  check_entries(BANNER("pattern symmetric") "2 2 2\n2 1\n2 2\n", "2x2: 1,0 0,1 1,1 ");
  check_entries(BANNER("integer general") "2 2 3\n1 1 +7\n2 2 -12\n1 1 7\n",
                "2x2: 0,0=7 1,1=-12 0,0=7 ");
  check_entries(BANNER("integer symmetric") "2 2 1\n1 2 3\n", "2x2: 0,1=3 1,0=3 ");
  check_entries(BANNER("real general") "0 0 0\n", "0x0: ");
  check_entries(BANNER("real general") "5 0 0", "5x0: ");
  check_entries("%%matrixmarket MATRIX Coordinate REAL General\n1 1 1\n1 1 1", "1x1: 0,0=1 ");
  check_entries(BANNER("real general") "% a comment\n%\n\n   \n2 2 2\n\n1 1 1\n% 9 9 9\n\t2  2\t3 "
                                       "\n\n%\n",
                "2x2: 0,0=1 1,1=3 ");
  check_entries("%%MatrixMarket matrix coordinate real general\r\n%\r\n\r\n1 1 1\r\n1 1 2\r\n",
                "1x1: 0,0=2 ");
  check_entries(BANNER("real general") "1 1 2\n1 1 1d2\n0001 01 1.25D-1\n",
                "1x1: 0,0=100 0,0=0.125 ");
  check_entries(BANNER("real general") "1 1 4\n1 1 inf\n1 1 -Infinity\n1 1 NaN\n1 1 1e-400\n",
                "1x1: 0,0=inf 0,0=-inf 0,0=nan 0,0=0 ");
  check_entries(BANNER("real general") "9223372036854775807 1 1\n9223372036854775807 1 1\n",
                "9223372036854775807x1: 9223372036854775806,0=1 ");
}

/* ---- what is refused ---- */

static void check_refused(const char *bytes, int64_t line, const char *words)
{
  matrix_market m = {.rows = 7};
  matrix_market_error e;
  CHECK(read_bytes(bytes, strlen(bytes), &m, &e), "this is taken:\n%s", bytes);
  CHECK(m.row == NULL && m.rows == 0, "a failure leaves a matrix");
  CHECK(strstr(e.sentence, words), "'%s' does not say '%s'", e.sentence, words);
  CHECK(e.line == line, "line %" PRId64 ", and not %" PRId64 ": %s", e.line, line, e.sentence);
  char begin[40];
  snprintf(begin, sizeof begin, line > 0 ? "it:%" PRId64 ": " : "it: ", line);
  CHECK(strncmp(e.sentence, begin, strlen(begin)) == 0, "'%s' has no place", e.sentence);
  CHECK(!strchr(e.sentence, '\n'), "more than one line: %s", e.sentence);
}

static void refuses_headers(void)
{
  check_refused("", 0, "empty");
  check_refused("\n", 1, "%%MatrixMarket");
  check_refused("hello\n", 1, "%%MatrixMarket");
  check_refused("%MatrixMarket matrix coordinate real general\n", 1, "%%MatrixMarket");
  check_refused("%%MatrixMarket\n", 1, "'matrix'");
  check_refused("%%MatrixMarket vector coordinate real general\n1 1 1\n", 1, "'vector'");
  check_refused("%%MatrixMarket matrix array real general\n1 1\n1\n", 1, "dense");
  check_refused("%%MatrixMarket matrix list real general\n1 1\n1\n", 1, "'list'");
  check_refused(BANNER("complex general") "1 1 1\n1 1 1 1\n", 1, "complex");
  check_refused(BANNER("complex hermitian") "1 1 1\n1 1 1 1\n", 1, "complex");
  check_refused(BANNER("real hermitian") "1 1 1\n1 1 1\n", 1, "hermitian");
  check_refused(BANNER("quaternion general") "1 1 1\n1 1 1\n", 1, "'quaternion'");
  check_refused(BANNER("real crooked") "1 1 1\n1 1 1\n", 1, "'crooked'");
  check_refused(BANNER("real") "1 1 1\n1 1 1\n", 1, "'general'");
  check_refused(BANNER("real general indeed") "1 1 1\n1 1 1\n", 1, "'indeed'");
}

static void refuses_sizes(void)
{
  check_refused(BANNER("real general"), 1, "before the line of rows");
  check_refused(BANNER("real general") "%\n\n", 3, "before the line of rows");
  check_refused(BANNER("real general") "%\nx 1 1\n", 3, "number of rows is expected, and not 'x'");
  check_refused(BANNER("real general") "3\n", 2, "number of columns is expected, and the line");
  check_refused(BANNER("real general") "3 3\n", 2, "number of entries");
  check_refused(BANNER("real general") "3 -3 1\n", 2, "'-3'");
  check_refused(BANNER("real general") "3 3 1.5\n", 2, "'1.5'");
  check_refused(BANNER("real general") "3 3 1 1\n", 2, "end of the line");
  check_refused(BANNER("real general") "9223372036854775808 3 1\n", 2, "'9223372036854775808'");
  check_refused(BANNER("real general") "18446744073709551616 3 1\n", 2, "'18446744073709551616'");
  check_refused(BANNER("real general") "3 99999999999999999999999999 1\n", 2, "columns");
  check_refused(BANNER("pattern symmetric") "2 3 0\n", 2, "square");
}

static void refuses_entries(void)
{
  check_refused(BANNER("real general") "2 2 1\n", 2, "ends after 0 entries, and line 2 promises 1");
  check_refused(BANNER("real general") "2 2 2\n1 1 1\n%\n", 4, "ends after 1 entries");
  check_refused(BANNER("real general") "2 2 1\n1 1 1\n\n2 2 1\n", 5, "more entries than the 1");
  check_refused(BANNER("real general") "2 2 9223372036854775807\n1 1 1\n", 3, "ends after 1");
  check_refused(BANNER("real general") "2 3 1\n3 1 1\n", 3, "a row from 1 to 2 is expected");
  check_refused(BANNER("real general") "2 3 1\n1 4 1\n", 3, "a column from 1 to 3");
  check_refused(BANNER("real general") "2 3 1\n0 1 1\n", 3, "not '0'");
  check_refused(BANNER("real general") "2 3 1\n1 0 1\n", 3, "not '0'");
  check_refused(BANNER("real general") "2 3 1\n-1 1 1\n", 3, "not '-1'");
  check_refused(BANNER("real general") "2 3 1\n1.0 1 1\n", 3, "not '1.0'");
  check_refused(BANNER("real general") "2 3 1\n18446744073709551617 1 1\n", 3, "row");
  check_refused(BANNER("real general") "2 3 1\n1\n", 3, "column");
  check_refused(BANNER("real general") "2 3 1\n1 1\n", 3, "real number is expected, and the line");
  check_refused(BANNER("pattern general") "2 3 1\n1 1 1\n", 3, "end of the line");
  check_refused(BANNER("real general") "2 3 1\n1 1 1 2\n", 3, "not '2'");
  check_refused(BANNER("integer general") "2 3 1\n1 1 1.0\n", 3, "whole number");
  check_refused(BANNER("integer general") "2 3 1\n1 1 -\n", 3, "whole number");
  check_refused(BANNER("integer general") "2 3 1\n1 1 - 1\n", 3, "whole number");
  check_refused(BANNER("real general") "2 3 1\n1 1 \x01z\xff\n", 3, "'?z?'");
  check_refused(BANNER("real skew-symmetric") "2 2 1\n2 2 0\n", 3, "(2, 2) is on the diagonal");
  check_refused(BANNER("real general") "0 0 1\n1 1 1\n", 3, "from 1 to 0");
  static const char *const no_real[] = {"x",   ".",     "+",      "e5",    "1e",
                                        "1e+", "1.2.3", "--1",    "0x1",   "1e5x",
                                        "1,5", "infi",  "nan(1)", "1e400", "1f"};
  for (size_t i = 0; i < sizeof no_real / sizeof *no_real; i++) {
    char bytes[200];
    snprintf(bytes, sizeof bytes, "%s1 1 1\n1 1 %s\n", BANNER("real general"), no_real[i]);
    check_refused(bytes, 3, "a real number is expected");
  }
}

static void long_lines(void)
{
  enum { LONG = 3 << 20 };
  char *bytes = need(LONG + 200);
  matrix_market m;
  matrix_market_error e;
  for (int comment = 0; comment < 2; comment++) {
    int used = sprintf(bytes, "%s%s", BANNER("real general"), comment ? "%" : "");
    memset(bytes + used, comment ? 'x' : '1', LONG);
    strcpy(bytes + used + LONG, comment ? "\n1 1 1\n1 1 2 x\n" : "\n");
    CHECK(read_bytes(bytes, strlen(bytes), &m, &e), "a line of 3 MiB is taken");
    CHECK(e.line == (comment ? 4 : 2), "%s", e.sentence);
    CHECK(strstr(e.sentence, comment ? "'x'" : "too long"), "%s", e.sentence);
  }
  memset(bytes, '%', LONG); /* a first line without an end */
  CHECK(read_bytes(bytes, LONG, &m, &e) && e.line == 1, "%s", e.sentence);
  free(bytes);
}

/* ---- numbers ---- */

static void check_real(const char *word, double expected)
{
  char bytes[400];
  matrix_market m;
  matrix_market_error e;
  snprintf(bytes, sizeof bytes, "%s1 1 1\n1 1 %s\n", BANNER("real general"), word);
  CHECK(!read_bytes(bytes, strlen(bytes), &m, &e), "%s", e.sentence);
  CHECK(m.value[0] == expected && !signbit(m.value[0]) == !signbit(expected),
        "%s is %a, and not %a", word, m.value[0], expected);
  matrix_market_free(&m);
}

/* Whatever the locale takes for a decimal point; strtod, of the C locale, is the judge. */
static void reals(void)
{
  static const char *const places[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"};
  rng r = rng_from(test_seed(), 5);
  for (int i = 0; i < 4000; i++) {
    char word[64];
    int digits = (int)rng_between(&r, 0, 24), exponent = (int)rng_between(&r, -330, 300);
    double x = (double)rng_next(&r) * pow(10, (double)rng_between(&r, -40, 20));
    snprintf(word, sizeof word, "%s%.*e", rng_one_in(&r, 2) ? "-" : "", digits, x);
    if (rng_one_in(&r, 2)) snprintf(strchr(word, 'e'), 20, "E%d", exponent);
    double expected = strtod(word, NULL);
    if (isinf(expected)) continue;
    setlocale(LC_ALL, places[i % 5]);
    check_real(word, expected);
    setlocale(LC_ALL, "C");
  }
  check_real("-0", -0.0);
  check_real("9007199254740993", 9007199254740992.0);
  check_real("00000000000000000000000000000001.50000000000000000000000000000000", 1.5);
  check_real("123456789012345678901234567890e-10", 123456789012345678901234567890e-10);
  check_real("0.0000000000000000000000000000000000001e37", 1);
  check_real("5.", 5);
}

/* ---- random matrices, written and read back ---- */

typedef struct sample {
  int symmetry, field; /* of the words below */
  int64_t n, count;
  int64_t *row, *col;
  double *value;
} sample;

static const char *const symmetry_words[] = {"general", "symmetric", "skew-symmetric"};
static const char *const field_words[] = {"pattern", "real", "integer"};

static sample sample_random(rng *r)
{
  sample s = {.symmetry = (int)rng_below(r, 3), .field = (int)rng_below(r, 3)};
  s.n = rng_between(r, 2, rng_one_in(r, 3) ? 1000000 : 12);
  s.count = rng_below(r, 60);
  s.row = need((size_t)(s.count + 1) * sizeof *s.row);
  s.col = need((size_t)(s.count + 1) * sizeof *s.col);
  s.value = need((size_t)(s.count + 1) * sizeof *s.value);
  for (int64_t k = 0; k < s.count; k++) {
    do {
      s.row[k] = rng_below(r, s.n);
      s.col[k] = rng_below(r, s.n);
    } while (s.symmetry == 2 && s.row[k] == s.col[k]);
    s.value[k] = s.field == 2 ? (double)rng_between(r, -99999, 99999)
                              : (double)rng_next(r) / 3 * pow(2, (double)rng_between(r, -90, 20));
  }
  return s;
}

static void sample_free(sample *s)
{
  free(s->row);
  free(s->col);
  free(s->value);
}

static text sample_write(const sample *s, rng *r)
{
  text t = {0};
  FILE *file = open_memstream(&t.bytes, &t.length);
  const char *end = rng_one_in(r, 2) ? "\r\n" : "\n", *blank = rng_one_in(r, 2) ? "\t" : "  ";
  CHECK(file, "no memory for a text");
  fprintf(file, "%%%%MatrixMarket matrix coordinate %s %s%s%%%s", field_words[s->field],
          symmetry_words[s->symmetry], end, end);
  fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 "%s", s->n, s->n, s->count, end);
  for (int64_t k = 0; k < s->count; k++) {
    if (rng_one_in(r, 9)) fprintf(file, "%%nothing%s %s", end, end);
    fprintf(file, "%" PRId64 "%s%" PRId64, s->row[k] + 1, blank, s->col[k] + 1);
    if (s->field > 0) fprintf(file, "%s%.17g", blank, s->value[k]);
    if (k + 1 < s->count || rng_one_in(r, 2)) fprintf(file, "%s", end);
  }
  fclose(file);
  return t;
}

static void check_entry(const matrix_market *m, int64_t at, int64_t row, int64_t col, double value)
{
  CHECK(at < m->count && m->row[at] == row && m->col[at] == col, "entry %" PRId64 " is another",
        at);
  CHECK(!m->value || m->value[at] == value, "%a, and not %a", m->value[at], value);
}

static void check_sample(const matrix_market *m, const sample *s, int wants_values)
{
  int64_t at = 0;
  CHECK(m->rows == s->n && m->cols == s->n, "%" PRId64 " rows", m->rows);
  CHECK((m->value != NULL) == (s->field > 0 && wants_values), "values");
  for (int64_t k = 0; k < s->count; k++) {
    check_entry(m, at++, s->row[k], s->col[k], s->value[k]);
    if (s->symmetry == 0 || s->row[k] == s->col[k]) continue;
    check_entry(m, at++, s->col[k], s->row[k], s->symmetry == 2 ? -s->value[k] : s->value[k]);
  }
  CHECK(at == m->count, "%" PRId64 " entries too many", m->count - at);
}

/* What the callback was told. */
typedef struct told {
  int64_t times, done, all;
} told;

static void note_progress(void *user, int64_t done, int64_t all)
{
  told *t = user;
  CHECK(done > t->done && done <= all, "%" PRId64 " of %" PRId64 " bytes", done, all);
  *t = (told){t->times + 1, done, all};
}

static void write_file(const char *path, const text *t)
{
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(t->bytes, 1, t->length, file) == t->length, "%s cannot be written", path);
  fclose(file);
}

static void read_back(const sample *s, const text *t, const char *path)
{
  matrix_market m;
  matrix_market_error e;
  told progress = {0};
  matrix_market_how how = {.pattern_only = 1, .progress = note_progress, .user = &progress};
  CHECK(!read_bytes(t->bytes, t->length, &m, &e), "%s", e.sentence);
  check_sample(&m, s, 1);
  matrix_market_free(&m);
  write_file(path, t);
  CHECK(!matrix_market_read(path, &how, &m, &e), "%s", e.sentence);
  check_sample(&m, s, 0);
  CHECK(progress.times > 0 && progress.done == (int64_t)t->length, "%" PRId64 " bytes were told of",
        progress.done);
  matrix_market_free(&m);
}

/* Every beginning of it: refused, or good where nothing but blanks and comments is missing. */
static void cut_everywhere(const sample *s, const text *t, int compressed)
{
  for (size_t length = 0; length < t->length; length++) {
    char *part = need(length + 1); /* of its own, so that a checker sees a step beyond it */
    matrix_market m;
    matrix_market_error e;
    memcpy(part, t->bytes, length);
    if (read_bytes(part, length, &m, &e))
      CHECK(e.sentence[0], "a failure without a word");
    else
      CHECK(!compressed && (m.count >= s->count), "cut at byte %zu of %zu, and taken", length,
            t->length);
    matrix_market_free(&m);
    free(part);
  }
}

static void damage(const sample *s, const text *t, rng *r, int compressed)
{
  for (int i = 0; i < 200; i++) {
    size_t at = (size_t)rng_below(r, (int64_t)t->length);
    char before = t->bytes[at];
    matrix_market m;
    matrix_market_error e;
    t->bytes[at] = (char)rng_next(r);
    if (!read_bytes(t->bytes, t->length, &m, &e) && compressed) check_sample(&m, s, 1);
    t->bytes[at] = before;
    matrix_market_free(&m);
  }
}

/* ---- compressed ---- */

#ifdef TEST_ZLIB

static text pack(const char *bytes, size_t length)
{
  z_stream z = {0};
  CHECK(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  size_t room = deflateBound(&z, length) + 64;
  text t = {.bytes = need(room)};
  z.next_in = (Bytef *)(uintptr_t)bytes;
  z.avail_in = (uInt)length;
  z.next_out = (Bytef *)t.bytes;
  z.avail_out = (uInt)room;
  CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END, "zlib");
  t.length = room - z.avail_out;
  deflateEnd(&z);
  return t;
}

static text join(const text *a, const char *bytes, size_t length)
{
  text t = {need(a->length + length + 1), a->length + length};
  memcpy(t.bytes, a->bytes, a->length);
  memcpy(t.bytes + a->length, bytes, length);
  return t;
}

/* Two members, zeros behind them, and what is not allowed there. */
static void members(const sample *s, const text *plain, rng *r)
{
  static const char zeros[700] = {0};
  size_t middle = (size_t)rng_below(r, (int64_t)plain->length + 1);
  text first = pack(plain->bytes, middle);
  text second = pack(plain->bytes + middle, plain->length - middle);
  text both = join(&first, second.bytes, second.length);
  text padded = join(&both, zeros, sizeof zeros), dirty = join(&padded, "x", 1);
  matrix_market m;
  matrix_market_error e;
  CHECK(!read_bytes(both.bytes, both.length, &m, &e), "%s", e.sentence);
  check_sample(&m, s, 1);
  matrix_market_free(&m);
  CHECK(!read_bytes(padded.bytes, padded.length, &m, &e), "%s", e.sentence);
  matrix_market_free(&m);
  CHECK(read_bytes(dirty.bytes, dirty.length, &m, &e), "rubbish behind it is taken");
  CHECK(strstr(e.sentence, "behind the compressed data"), "%s", e.sentence);
  text *all[] = {&first, &second, &both, &padded, &dirty};
  for (int i = 0; i < 5; i++) free(all[i]->bytes);
}

static void compressed(const sample *s, const text *plain, rng *r, const char *path)
{
  text t = pack(plain->bytes, plain->length);
  read_back(s, &t, path);
  cut_everywhere(s, &t, 1);
  damage(s, &t, r, 1);
  members(s, plain, r);
  free(t.bytes);
}

#else

/* Without zlib: one sentence. */
static void compressed(const sample *s, const text *plain, rng *r, const char *path)
{
  matrix_market m;
  matrix_market_error e;
  (void)s, (void)plain, (void)r, (void)path;
  CHECK(read_bytes("\x1f\x8b\x08", 3, &m, &e), "gzip is taken");
  CHECK(strstr(e.sentence, "zlib"), "%s", e.sentence);
}

#endif

static void at_random(uint64_t number, const char *path)
{
  rng r = rng_from(test_seed(), number);
  sample s = sample_random(&r);
  text t = sample_write(&s, &r);
  read_back(&s, &t, path);
  if (number < 40) cut_everywhere(&s, &t, 0);
  damage(&s, &t, &r, 0);
  if (number < 60) compressed(&s, &t, &r, path);
  free(t.bytes);
  sample_free(&s);
}

/* Larger than every buffer, so that lines lie across their edges. */
static void large(const char *path)
{
  enum { N = 150000 };
  text t = {0};
  FILE *file = open_memstream(&t.bytes, &t.length);
  fprintf(file, "%s%d %d %d\n", BANNER("real general"), N, N, N);
  for (int k = 0; k < N; k++) fprintf(file, "%d %d %d.25\n", k + 1, N - k, k);
  fclose(file);
  for (int packed = 0; packed < 2; packed++) {
    matrix_market m;
    matrix_market_error e;
#ifdef TEST_ZLIB
    if (packed) {
      text small = pack(t.bytes, t.length);
      free(t.bytes);
      t = small;
    }
#endif
    write_file(path, &t);
    CHECK(!matrix_market_read(path, NULL, &m, &e), "%s", e.sentence);
    for (int k = 0; k < N; k++)
      CHECK(m.row[k] == k && m.col[k] == N - k - 1 && m.value[k] == k + .25, "entry %d", k);
    matrix_market_free(&m);
  }
  free(t.bytes);
}

static void no_files(const char *folder)
{
  matrix_market m;
  matrix_market_error e;
  CHECK(matrix_market_read("/no/such/file.mtx", NULL, &m, &e), "what is not there is read");
  CHECK(strstr(e.sentence, "/no/such/file.mtx: cannot be opened: "), "%s", e.sentence);
  CHECK(matrix_market_read(folder, NULL, &m, &e), "a folder is read");
  CHECK(strstr(e.sentence, "cannot be read"), "%s", e.sentence);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "tools/matrix_market");
  char folder[] = "/tmp/grove-matrix-XXXXXX", path[80];
  CHECK(mkdtemp(folder), "no folder for files");
  snprintf(path, sizeof path, "%s/a.mtx", folder);
  by_hand();
  refuses_headers();
  refuses_sizes();
  refuses_entries();
  long_lines();
  reals();
  no_files(folder);
  for (int64_t i = 0; i < test_samples(200); i++) {
    test_case(i);
    at_random((uint64_t)i, path);
  }
  large(path);
  unlink(path);
  rmdir(folder);
  return test_end();
}
