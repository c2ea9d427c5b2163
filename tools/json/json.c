/* One pass over the bytes. Values and texts lie in blocks of memory that are freed together. */
#include "json/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 16 };

typedef struct block {
  struct block *next;
  size_t used, room;
} block;

typedef struct reader {
  const char *name;
  const char *begin, *at, *end;
  int deep;
  json_document *out;
  json_error *error;
} reader;

/* ---- what is wrong ---- */

static int complain(reader *r, const char *at, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 3, 4)))
#endif
  ;

/* Returns 1. */
static int complain(reader *r, const char *at, const char *format, ...)
{
  char why[200];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  r->error->line = r->error->column = 1;
  for (const char *c = r->begin; c < at; c++) {
    r->error->column++;
    if (*c == '\n') r->error->line++, r->error->column = 1;
  }
  snprintf(r->error->sentence, sizeof r->error->sentence, "%.200s, line %d, column %d: %s", r->name,
           r->error->line, r->error->column, why);
  return 1;
}

/* Names what stands at `at`. */
static int complain_of(reader *r, const char *at, const char *wanted)
{
  if (at >= r->end) return complain(r, r->end, "the file ends where %s should be", wanted);
  if (*at > ' ' && *at < 127) return complain(r, at, "'%c' stands where %s should be", *at, wanted);
  return complain(r, at, "byte %d stands where %s should be", (unsigned char)*at, wanted);
}

/* ---- memory ---- */

static void *take(reader *r, size_t bytes)
{
  block *b = r->out->blocks;
  size_t whole = (bytes + 15) / 16 * 16, head = (sizeof *b + 15) / 16 * 16;
  if (!b || b->used + whole > b->room) {
    size_t room = whole > BLOCK_BYTES ? whole : BLOCK_BYTES;
    b = malloc(head + room);
    if (!b) return NULL;
    *b = (block){.next = r->out->blocks, .room = room};
    r->out->blocks = b;
  }
  void *memory = (char *)b + head + b->used;
  b->used += whole;
  return memory;
}

void json_close(json_document *document)
{
  for (block *b = document->blocks, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  *document = (json_document){0};
}

/* ---- texts ---- */

/* The number of bytes of the UTF-8 character at `c`, with `left` bytes available; 0: it is invalid.
 * */
static int character_bytes(const unsigned char *c, ptrdiff_t left)
{
  int n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
  if (n == 0 || c[0] > 0xf4 || n > left) return 0;
  for (int i = 1; i < n; i++)
    if (c[i] >> 6 != 2) return 0;
  if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f)) return 0;
  if ((c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)) return 0;
  return n;
}

static char *put_character(char *out, uint32_t code)
{
  if (code < 0x80) {
    *out++ = (char)code;
    return out;
  }
  if (code < 0x800) {
    *out++ = (char)(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      *out++ = (char)(0xe0 | code >> 12);
    } else {
      *out++ = (char)(0xf0 | code >> 18);
      *out++ = (char)(0x80 | (code >> 12 & 0x3f));
    }
    *out++ = (char)(0x80 | (code >> 6 & 0x3f));
  }
  *out++ = (char)(0x80 | (code & 0x3f));
  return out;
}

/* Four hexadecimal digits at r->at; UINT32_MAX: there are none. */
static uint32_t read_hex(reader *r)
{
  uint32_t code = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    char c = r->at < r->end ? *r->at : '\0';
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return UINT32_MAX;
    code = 16 * code + (uint32_t)digit;
  }
  return code;
}

/* After "\u": one code, or the two of a character beyond 16 bits. */
static int read_code(reader *r, const char *begin, char **out)
{
  uint32_t code = read_hex(r), low = 0;
  if (code == UINT32_MAX) return complain(r, begin, "\\u without four hexadecimal digits");
  if (code >= 0xd800 && code < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' &&
      r->at[1] == 'u') {
    r->at += 2;
    low = read_hex(r);
    if (low >= 0xdc00 && low < 0xe000) code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (code == 0 || (code >= 0xd800 && code < 0xe000))
    return complain(r, begin, "\\u that stands for no character");
  *out = put_character(*out, code);
  return 0;
}

/* At a backslash. */
static int read_escape(reader *r, char **out)
{
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *begin = r->at++;
  char c = r->at < r->end ? *r->at++ : '\0';
  if (c == 'u') return read_code(r, begin, out);
  const char *name = c ? strchr(names, c) : NULL;
  if (!name) return complain(r, begin, "there is no such escape in JSON");
  *(*out)++ = values[name - names];
  return 0;
}

/* At its first quote. The text read is never longer than its source. */
static int read_text(reader *r, const char **out)
{
  const char *begin = r->at++, *close = r->at;
  while (close < r->end && *close != '"') close += *close == '\\' && close + 1 < r->end ? 2 : 1;
  if (close >= r->end) return complain(r, begin, "this text has no end");
  char *text = take(r, (size_t)(close - r->at) + 1), *to = text;
  if (!text) return complain(r, begin, "no memory left");
  while (r->at < close) {
    unsigned char c = (unsigned char)*r->at;
    if (c == '\\') {
      if (read_escape(r, &to)) return 1;
      continue;
    }
    int n = character_bytes((const unsigned char *)r->at, close - r->at);
    if (c < ' ') return complain(r, r->at, "byte %d stands in a text, and must be escaped", c);
    if (n == 0) return complain(r, r->at, "this is not UTF-8");
    memcpy(to, r->at, (size_t)n);
    to += n;
    r->at += n;
  }
  *to = '\0';
  *out = text;
  r->at = close + 1;
  return 0;
}

/* ---- numbers ---- */

static int is_digit(const reader *r)
{
  return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static int skip_digits(reader *r)
{
  if (!is_digit(r)) return complain_of(r, r->at, "a digit");
  while (is_digit(r)) r->at++;
  return 0;
}

static int is_at(const reader *r, const char *any)
{
  return r->at < r->end && *r->at && strchr(any, *r->at);
}

/* The digits between two places, as a number times a power of ten. strtod would depend on the
 * locale. */
static double convert(const char *at, const char *end)
{
  double mantissa = 0;
  int negative = *at == '-', scale = 0, point = 0, power = 0, minus = 0;
  for (at += negative; at < end && *at != 'e' && *at != 'E'; at++) {
    if (*at == '.') {
      point = 1;
    } else if (mantissa < 1e17) {
      mantissa = 10 * mantissa + (*at - '0');
      scale -= point;
    } else {
      scale += !point;
    }
  }
  for (at += at < end; at < end; at++) {
    if (*at == '-') minus = 1;
    if (*at >= '0' && power < 100000) power = 10 * power + (*at - '0');
  }
  scale += minus ? -power : power;
  double value = mantissa;
  if (scale > 0 && mantissa > 0) value *= pow(10, scale);
  if (scale < -300) value = value / 1e300 * pow(10, scale + 300);
  if (scale < 0 && scale >= -300) value /= pow(10, -scale); /* so that 0.1 is exact */
  return negative ? -value : value;
}

static int read_number(reader *r, json_value *v)
{
  const char *begin = r->at;
  r->at += *r->at == '-';
  const char *digits = r->at;
  if (skip_digits(r)) return 1;
  if (*digits == '0' && r->at > digits + 1) return complain(r, digits, "a number begins with 0");
  if (is_at(r, ".")) {
    r->at++;
    if (skip_digits(r)) return 1;
  }
  if (is_at(r, "eE")) {
    r->at++;
    if (is_at(r, "+-")) r->at++;
    if (skip_digits(r)) return 1;
  }
  v->number = convert(begin, r->at);
  return 0;
}

/* ---- values ---- */

static void skip_blanks(reader *r)
{
  while (is_at(r, " \t\r\n")) r->at++;
}

static int read_value(reader *r, json_value *v);

/* A member of a list or object, allocated separately. */
static int read_item(reader *r, json_value *parent, json_value **link)
{
  const char *key = NULL;
  if (parent->type == JSON_IS_OBJECT) {
    skip_blanks(r);
    if (!is_at(r, "\"")) return complain_of(r, r->at, "a name in quotes");
    if (read_text(r, &key)) return 1;
    skip_blanks(r);
    if (!is_at(r, ":")) return complain_of(r, r->at, "a colon");
    r->at++;
  }
  json_value *v = take(r, sizeof *v);
  if (!v) return complain(r, r->at, "no memory left");
  *v = (json_value){.key = key};
  *link = v;
  parent->count++;
  return read_value(r, v);
}

static int read_items(reader *r, json_value *v, const char *close)
{
  json_value **link = &v->first;
  const char *wanted = *close == ']' ? "a comma or ]" : "a comma or }";
  if (++r->deep > JSON_DEEPEST) return complain(r, r->at, "lists lie too deep in each other");
  r->at++;
  skip_blanks(r);
  if (!is_at(r, close)) {
    for (;;) {
      if (read_item(r, v, link)) return 1;
      link = &(*link)->next;
      skip_blanks(r);
      if (is_at(r, close)) break;
      if (!is_at(r, ",")) return complain_of(r, r->at, wanted);
      r->at++;
    }
  }
  r->at++;
  r->deep--;
  return 0;
}

static int read_word(reader *r, json_value *v)
{
  static const struct {
    const char *word;
    json_type type;
  } words[] = {{"null", JSON_IS_NULL}, {"true", JSON_IS_TRUE}, {"false", JSON_IS_FALSE}};
  for (int i = 0; i < 3; i++) {
    size_t n = strlen(words[i].word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, words[i].word, n) != 0) continue;
    v->type = words[i].type;
    r->at += n;
    return 0;
  }
  return complain_of(r, r->at, "a value");
}

static int read_value(reader *r, json_value *v)
{
  skip_blanks(r);
  if (is_at(r, "{[")) {
    v->type = *r->at == '{' ? JSON_IS_OBJECT : JSON_IS_LIST;
    return read_items(r, v, *r->at == '{' ? "}" : "]");
  }
  if (is_at(r, "\"")) {
    v->type = JSON_IS_TEXT;
    return read_text(r, &v->text);
  }
  if (is_at(r, "-") || is_digit(r)) {
    v->type = JSON_IS_NUMBER;
    return read_number(r, v);
  }
  return read_word(r, v);
}

static int read_root(reader *r)
{
  json_value *root = take(r, sizeof *root);
  if (!root) return complain(r, r->at, "no memory left");
  *root = (json_value){0};
  r->out->root = root;
  if (read_value(r, root)) return 1;
  skip_blanks(r);
  return r->at < r->end ? complain_of(r, r->at, "the end of the file") : 0;
}

int json_parse(const char *bytes, size_t length, const char *name, json_document *out,
               json_error *error)
{
  reader r = {name, bytes, bytes, bytes + length, 0, out, error};
  *out = (json_document){0};
  *error = (json_error){0};
  if (read_root(&r) == 0) return 0;
  json_close(out);
  return 1;
}

/* ---- files ---- */

/* All of a file, of any kind; the caller frees it. On failure NULL and errno. */
static char *read_file(const char *path, size_t *length)
{
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t used = 0, room = 0, n = 0;
  if (!file) return NULL;
  do {
    room = 2 * room + BLOCK_BYTES;
    char *more = realloc(text, room);
    if (!more) break;
    text = more;
    n = fread(text + used, 1, room - used, file);
    used += n;
  } while (used == room);
  if (used == room || ferror(file)) {
    free(text);
    text = NULL;
  }
  int why = errno;
  fclose(file);
  errno = why;
  *length = used;
  return text;
}

int json_open(const char *path, json_document *out, json_error *error)
{
  size_t length = 0;
  char *text = read_file(path, &length);
  *out = (json_document){0};
  *error = (json_error){0};
  if (!text) {
    snprintf(error->sentence, sizeof error->sentence, "%.200s cannot be read: %s", path,
             strerror(errno));
    return 1;
  }
  int failed = json_parse(text, length, path, out, error);
  free(text);
  return failed;
}

/* ---- looking things up ---- */

const json_value *json_member(const json_value *object, const char *key)
{
  if (!object || object->type != JSON_IS_OBJECT) return NULL;
  for (const json_value *v = object->first; v; v = v->next)
    if (strcmp(v->key, key) == 0) return v;
  return NULL;
}

double json_number_of(const json_value *object, const char *key, double otherwise)
{
  const json_value *v = json_member(object, key);
  return v && v->type == JSON_IS_NUMBER ? v->number : otherwise;
}

const char *json_text_of(const json_value *object, const char *key, const char *otherwise)
{
  const json_value *v = json_member(object, key);
  return v && v->type == JSON_IS_TEXT ? v->text : otherwise;
}

static int same_text(const char *a, const char *b)
{
  return a == b || (a && b && strcmp(a, b) == 0);
}

int json_same(const json_value *a, const json_value *b)
{
  if (a->type != b->type || a->count != b->count || a->number != b->number) return 0;
  if (!same_text(a->text, b->text) || !same_text(a->key, b->key)) return 0;
  const json_value *x = a->first, *y = b->first;
  for (; x && json_same(x, y); x = x->next) y = y->next;
  return x == NULL;
}

int json_is_true(const json_value *object, const char *key)
{
  const json_value *v = json_member(object, key);
  return v && v->type == JSON_IS_TRUE;
}
