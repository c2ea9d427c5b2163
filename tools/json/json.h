/* Reads JSON (RFC 8259) into a tree:
 *
 *     json_document d;
 *     json_error error;
 *     if (json_open("run.json", &d, &error)) return complain(error.sentence);
 *     for (const json_value *v = json_member(d.root, "routes")->first; v; v = v->next)
 *       puts(json_text_of(v, "route", "?"));
 *     json_close(&d);
 *
 * Strict: no comments, no trailing comma, UTF-8 only. Needs neither Grove nor the locale.
 */
#ifndef JSON_READER_H
#define JSON_READER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum json_type {
  JSON_IS_NULL,
  JSON_IS_FALSE,
  JSON_IS_TRUE,
  JSON_IS_NUMBER,
  JSON_IS_TEXT,
  JSON_IS_LIST,
  JSON_IS_OBJECT
} json_type;

/* The maximum nesting of lists and objects. */
enum { JSON_DEEPEST = 100 };

typedef struct json_value {
  json_type type;
  double number;                   /* of a number; too large for a double: infinite */
  const char *text;                /* of a text: UTF-8, its escapes resolved, no \u0000 */
  const char *key;                 /* as a member of an object; else NULL */
  int count;                       /* of a list or object */
  struct json_value *first, *next; /* its first member; its next sibling */
} json_value;

typedef struct json_document {
  json_value *root;
  void *blocks; /* of memory that hold all values */
} json_document;

/* What is wrong: "FILE, line 3, column 7: ...", or "FILE: ..." where it cannot be read at all. */
typedef struct json_error {
  int line, column; /* from 1; in bytes */
  char sentence[500];
} json_error;

/* 0 on success, 1 on failure; then `error` says why, and `out` is empty. */
int json_open(const char *path, json_document *out, json_error *error);

/* The same from memory; `name` is for error sentences. */
int json_parse(const char *bytes, size_t length, const char *name, json_document *out,
               json_error *error);

void json_close(json_document *document);

/* The member of an object, the first if a key occurs twice; NULL: it has none, or is not an object.
 * */
const json_value *json_member(const json_value *object, const char *key);

/* A member if it has the wanted type, else the given default. */
double json_number_of(const json_value *object, const char *key, double otherwise);
const char *json_text_of(const json_value *object, const char *key, const char *otherwise);
int json_is_true(const json_value *object, const char *key);

/* Whether two values are equal, with members in the same order. */
int json_same(const json_value *a, const json_value *b);

#ifdef __cplusplus
}
#endif

#endif
