/* A strict reader of JSON, for tests: any deviation from JSON ends the test, with the place.
 * Strings are UTF-8, with their escapes resolved. */
#ifndef TEST_JSON_H
#define TEST_JSON_H

typedef enum json_kind {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_NUMBER,
  JSON_STRING,
  JSON_LIST,
  JSON_OBJECT
} json_kind;

typedef struct json {
  json_kind kind;
  double number;
  char *text;
  int n; /* of a list or object */
  struct json *items;
  char **keys; /* of an object */
} json;

/* The whole text is one value. */
json *json_read(const char *text);
void json_free(json *value);

/* The object's value for this key, or NULL; and one of the required kind. */
const json *json_find(const json *object, const char *key);
double json_number(const json *object, const char *key);
const char *json_text(const json *object, const char *key);

/* A whole file as text; the caller frees it. */
char *read_whole(const char *path);

#endif
