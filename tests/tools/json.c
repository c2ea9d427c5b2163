/* The reader of JSON: what it makes of numbers, texts and lists, and what it says of everything
 * that is no JSON, with the place. */
#include "json/json.h"
#include "check.h"

#include <math.h>
#include <string.h>

static json_document read(const char *text)
{
  json_document d;
  json_error error;
  CHECK(json_parse(text, strlen(text), "t", &d, &error) == 0, "%s: %s", text, error.sentence);
  return d;
}

static void numbers(void)
{
  const struct {
    const char *text;
    double value;
  } cases[] = {
    {"0", 0},
    {"-0.5", -0.5},
    {"12", 12},
    {"0.1", 0.1},
    {"1e3", 1000},
    {"1E+3", 1000},
    {"25e-4", 0.0025},
    {"6.63184545e-4", 6.63184545e-4},
    {"1e400", INFINITY},
    {"-1e400", -INFINITY},
    {"1e-400", 0},
    {"0e99999999999", 0},
    {"9007199254740993000", 9007199254740993000.0},
    {" \t\r\n7 ", 7},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_document d = read(cases[i].text);
    double got = d.root->number, wanted = cases[i].value;
    int close = got == wanted || fabs(got - wanted) <= 4e-16 * fabs(wanted);
    CHECK(d.root->type == JSON_IS_NUMBER && close, "%s is %.17g", cases[i].text, got);
    json_close(&d);
  }
}

static void texts(void)
{
  const char *const cases[][2] = {
    {"\"\"", ""},
    {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t"},
    {"\"\\u00b5\\u20AC\"", "\xc2\xb5\xe2\x82\xac"},
    {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
    {"\"\xc2\xb5s\"", "\xc2\xb5s"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_document d = read(cases[i][0]);
    CHECK(d.root->type == JSON_IS_TEXT && strcmp(d.root->text, cases[i][1]) == 0, "%s is '%s'",
          cases[i][0], d.root->text);
    json_close(&d);
  }
}

static void members(void)
{
  json_document d = read("{\"a\": [1, {}, []], \"b\": true, \"c\": null, \"d\": \"x\", \"a\": 2}");
  const json_value *a = json_member(d.root, "a");
  CHECK(d.root->count == 5 && a->count == 3 && a->first->number == 1, "the list is not as written");
  CHECK(a->first->next->type == JSON_IS_OBJECT && a->first->next->next->next == NULL, "its rest");
  CHECK(json_is_true(d.root, "b") && !json_is_true(d.root, "c"), "true and null");
  CHECK(strcmp(json_text_of(d.root, "d", "?"), "x") == 0, "a text");
  CHECK(json_number_of(d.root, "d", 7) == 7 && json_number_of(d.root, "e", 8) == 8, "no numbers");
  CHECK(json_member(a, "a") == NULL && json_member(NULL, "a") == NULL, "no objects");
  json_document same = read("[1, [2, \"a\"]]"), again = read("[1,[2,\"a\"]]");
  json_document other = read("[1,[2,\"b\"]]");
  CHECK(json_same(same.root, again.root) && !json_same(same.root, other.root), "the same");
  json_close(&d);
  json_close(&same);
  json_close(&again);
  json_close(&other);
}

static void refusals(void)
{
  const char *const cases[][2] = {
    {"", "t, line 1, column 1: the file ends where a value should be"},
    {"[1,\n 2", "t, line 2, column 3: the file ends where a comma or ] should be"},
    {"[1,]", "t, line 1, column 4: ']' stands where a value should be"},
    {"{\"a\" 1}", "t, line 1, column 6: '1' stands where a colon should be"},
    {"{a: 1}", "t, line 1, column 2: 'a' stands where a name in quotes should be"},
    {"01", "t, line 1, column 1: a number begins with 0"},
    {"1.", "t, line 1, column 3: the file ends where a digit should be"},
    {"-", "t, line 1, column 2: the file ends where a digit should be"},
    {"+1", "t, line 1, column 1: '+' stands where a value should be"},
    {"nul", "t, line 1, column 1: 'n' stands where a value should be"},
    {"1 2", "t, line 1, column 3: '2' stands where the end of the file should be"},
    {"\"a", "t, line 1, column 1: this text has no end"},
    {"\"\\x\"", "t, line 1, column 2: there is no such escape in JSON"},
    {"\"\\u12g4\"", "t, line 1, column 2: \\u without four hexadecimal digits"},
    {"\"\\ud800\"", "t, line 1, column 2: \\u that stands for no character"},
    {"\"\\u0000\"", "t, line 1, column 2: \\u that stands for no character"},
    {"\"a\nb\"", "t, line 1, column 3: byte 10 stands in a text, and must be escaped"},
    {"\"\xc3\"", "t, line 1, column 2: this is not UTF-8"},
    {"\xff", "t, line 1, column 1: byte 255 stands where a value should be"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_document d;
    json_error error;
    CHECK(json_parse(cases[i][0], strlen(cases[i][0]), "t", &d, &error) == 1, "'%s' is read",
          cases[i][0]);
    CHECK(strcmp(error.sentence, cases[i][1]) == 0, "of '%s': %s", cases[i][0], error.sentence);
    CHECK(d.root == NULL && d.blocks == NULL, "something is left");
  }
}

static void deep(int levels, int wanted)
{
  char text[2 * JSON_DEEPEST + 10];
  json_document d;
  json_error error;
  memset(text, '[', (size_t)levels);
  memset(text + levels, ']', (size_t)levels);
  CHECK(json_parse(text, 2 * (size_t)levels, "t", &d, &error) == wanted, "%d levels", levels);
  json_close(&d);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "json");
  numbers();
  texts();
  members();
  refusals();
  deep(JSON_DEEPEST, 0);
  deep(JSON_DEEPEST + 1, 1);
  return test_end();
}
