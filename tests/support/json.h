/* A strict reader of JSON, for tests: what is not JSON to the letter brings the test down, with the
 * place. Strings are UTF-8, with their escapes resolved. */
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

/* What the object has under this key, or NULL; and of the kind it must have. */
const json *json_find(const json *object, const char *key);
double json_number(const json *object, const char *key);
const char *json_text(const json *object, const char *key);

/* A whole file as text, which the caller frees. */
char *read_whole(const char *path);

#endif
