/* Any bytes at all, as JSON: refused with a sentence that has a place, or read, and then every
 * value is whole. See tests/fuzz. */
#include "json/json.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int condition)
{
  if (!condition) abort(); /* what both drivers notice */
}

static void look_at(const json_value *v, int deep)
{
  int n = 0;
  insist(deep <= JSON_DEEPEST);
  insist((v->type == JSON_IS_TEXT) == (v->text != NULL));
  insist(v->type == JSON_IS_NUMBER ? !isnan(v->number) : v->number == 0);
  for (const json_value *c = v->first; c; c = c->next, n++) {
    insist((v->type == JSON_IS_OBJECT) == (c->key != NULL));
    if (c->key) insist(json_member(v, c->key) != NULL);
    look_at(c, deep + 1);
  }
  insist(n == v->count && (n == 0 || v->type >= JSON_IS_LIST));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  json_document d;
  json_error error;
  if (json_parse((const char *)data, size, "fuzz", &d, &error)) {
    insist(d.root == NULL && d.blocks == NULL);
    insist(strncmp(error.sentence, "fuzz, line ", 11) == 0 && !strchr(error.sentence, '\n'));
    insist(error.line >= 1 && error.column >= 1 && (size_t)error.column <= size + 1);
    return 0;
  }
  look_at(d.root, 0);
  insist(json_same(d.root, d.root));
  json_close(&d);
  return 0;
}
