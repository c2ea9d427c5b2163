#include "json.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

typedef struct reader {
  const char *text, *at;
} reader;

static void wrong(const reader *r, const char *what)
{
  CHECK(0, "%s at byte %ld: '%.60s'", what, (long)(r->at - r->text), r->at);
}

static void skip_blanks(reader *r)
{
  r->at += strspn(r->at, " \t\r\n");
}

static int next_is(reader *r, char c)
{
  skip_blanks(r);
  if (*r->at != c) return 0;
  r->at++;
  return 1;
}

static unsigned read_hex(reader *r)
{
  unsigned value = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    const char *digits = "0123456789abcdef", *d = *r->at ? strchr(digits, *r->at | 32) : NULL;
    if (d == NULL) wrong(r, "no hexadecimal digit");
    value = 16 * value + (unsigned)(d - digits);
  }
  return value;
}

static char *put_utf8(char *out, unsigned c)
{
  if (c < 0x80) {
    *out++ = (char)c;
  } else if (c < 0x800) {
    *out++ = (char)(0xc0 | c >> 6);
    *out++ = (char)(0x80 | (c & 0x3f));
  } else {
    *out++ = (char)(0xe0 | c >> 12);
    *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    *out++ = (char)(0x80 | (c & 0x3f));
  }
  return out;
}

static char *read_escape(reader *r, char *out)
{
  static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
  char c = *r->at++;
  if (c == 'u') return put_utf8(out, read_hex(r)); /* pairs are not expected */
  const char *found = c ? strchr(letters, c) : NULL;
  if (found == NULL) wrong(r, "no such escape");
  *out++ = means[found - letters];
  return out;
}

/* A character of several bytes, as it must be. */
static char *read_bytes(reader *r, char *out)
{
  unsigned char first = (unsigned char)*r->at;
  int n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) wrong(r, "no UTF-8");
  for (int i = 0; i < n; i++, r->at++) {
    if (i > 0 && ((unsigned char)*r->at & 0xc0) != 0x80) wrong(r, "no UTF-8");
    *out++ = *r->at;
  }
  return out;
}

static char *read_string(reader *r)
{
  char *text = need(strlen(r->at) < 4096 ? strlen(r->at) + 1 : 4096), *out = text;
  if (!next_is(r, '"')) wrong(r, "no string");
  while (*r->at != '"') {
    unsigned char c = (unsigned char)*r->at;
    CHECK(out - text < 4000, "a string that does not end");
    if (c < ' ') wrong(r, "a control character in a string");
    if (c == '\\') {
      r->at++;
      out = read_escape(r, out);
    } else if (c >= 0x80) {
      out = read_bytes(r, out);
    } else {
      *out++ = *r->at++;
    }
  }
  r->at++;
  *out = '\0';
  return text;
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? */
static double read_number(reader *r)
{
  const char *begin = r->at, *digits = begin + (*begin == '-');
  size_t n = strspn(digits, "0123456789");
  if (n == 0 || (n > 1 && *digits == '0')) wrong(r, "no number");
  r->at = digits + n;
  if (*r->at == '.') {
    n = strspn(r->at + 1, "0123456789");
    if (n == 0) wrong(r, "no digit after the point");
    r->at += 1 + n;
  }
  if ((*r->at | 32) == 'e') {
    const char *power = r->at + 1 + (r->at[1] == '+' || r->at[1] == '-');
    n = strspn(power, "0123456789");
    if (n == 0) wrong(r, "no power");
    r->at = power + n;
  }
  return strtod(begin, NULL);
}

static json read_value(reader *r);

static void read_members(reader *r, json *v, char end)
{
  int room = 0;
  if (next_is(r, end)) return;
  do {
    if (v->n == room) {
      room = room > 0 ? 2 * room : 4;
      v->items = realloc(v->items, (size_t)room * sizeof *v->items);
      v->keys = realloc(v->keys, (size_t)room * sizeof *v->keys);
      CHECK(v->items != NULL && v->keys != NULL, "no memory");
    }
    v->keys[v->n] = NULL;
    if (v->kind == JSON_OBJECT) {
      v->keys[v->n] = read_string(r);
      if (!next_is(r, ':')) wrong(r, "no colon");
    }
    v->items[v->n++] = read_value(r);
  } while (next_is(r, ','));
  if (!next_is(r, end)) wrong(r, "no comma and no end");
}

static int next_is_word(reader *r, const char *word)
{
  if (strncmp(r->at, word, strlen(word)) != 0) return 0;
  r->at += strlen(word);
  return 1;
}

static json read_value(reader *r)
{
  json v = {.kind = JSON_NULL};
  skip_blanks(r);
  if (*r->at == '"') {
    v.kind = JSON_STRING;
    v.text = read_string(r);
  } else if (*r->at == '{' || *r->at == '[') {
    v.kind = *r->at == '{' ? JSON_OBJECT : JSON_LIST;
    r->at++;
    read_members(r, &v, v.kind == JSON_OBJECT ? '}' : ']');
  } else if (next_is_word(r, "true")) {
    v.kind = JSON_TRUE;
  } else if (next_is_word(r, "false")) {
    v.kind = JSON_FALSE;
  } else if (!next_is_word(r, "null")) {
    v.kind = JSON_NUMBER;
    v.number = read_number(r);
  }
  return v;
}

json *json_read(const char *text)
{
  reader r = {text, text};
  json *value = need(sizeof *value);
  *value = read_value(&r);
  skip_blanks(&r);
  if (*r.at != '\0') wrong(&r, "something behind the end");
  return value;
}

/* ---- looking ---- */

static void free_inside(json *v)
{
  for (int i = 0; i < v->n; i++) {
    free_inside(&v->items[i]);
    free(v->keys[i]);
  }
  free(v->items);
  free(v->keys);
  free(v->text);
}

void json_free(json *value)
{
  free_inside(value);
  free(value);
}

const json *json_find(const json *object, const char *key)
{
  CHECK(object != NULL && object->kind == JSON_OBJECT, "no object to have '%s'", key);
  for (int i = 0; i < object->n; i++)
    if (strcmp(object->keys[i], key) == 0) return &object->items[i];
  return NULL;
}

static const json *find_kind(const json *object, const char *key, json_kind kind)
{
  const json *value = json_find(object, key);
  CHECK(value != NULL && value->kind == kind, "'%s' is %s", key,
        value ? "of a wrong kind" : "gone");
  return value;
}

double json_number(const json *object, const char *key)
{
  return find_kind(object, key, JSON_NUMBER)->number;
}

const char *json_text(const json *object, const char *key)
{
  return find_kind(object, key, JSON_STRING)->text;
}

char *read_whole(const char *path)
{
  FILE *file = fopen(path, "r");
  CHECK(file != NULL, "there is no %s", path);
  fseek(file, 0, SEEK_END);
  long bytes = ftell(file);
  rewind(file);
  char *text = need((size_t)bytes + 1);
  CHECK(fread(text, 1, (size_t)bytes, file) == (size_t)bytes, "%s cannot be read", path);
  text[bytes] = '\0';
  CHECK(strlen(text) == (size_t)bytes, "a byte of 0 in %s", path);
  fclose(file);
  return text;
}
