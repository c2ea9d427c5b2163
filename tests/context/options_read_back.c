/* grove_context_get: every option reads back as a text that grove_context_set takes, and what it
 * refuses. And grove_version. */
#include "check.h"
#include "places.h"

#include <stdio.h>
#include <string.h>

static void reads(const place *p, const char *key, const char *expected)
{
  char value[256] = "untouched";
  grove_status status = grove_context_get(p->ctx, key, value, sizeof value);
  CHECK(status == GROVE_OK, "%s: %s", key, grove_last_error());
  CHECK(strcmp(value, expected) == 0, "%s is '%s', not '%s'", key, value, expected);
}

static void goes_round(const place *p, const char *key, const char *value)
{
  CHECK_OK(grove_context_set(p->ctx, key, value));
  reads(p, key, value);
  char text[256];
  CHECK_OK(grove_context_get(p->ctx, key, text, sizeof text));
  CHECK_OK(grove_context_set(p->ctx, key, text));
  reads(p, key, value);
}

static void values(const place *p)
{
  static const char *const set[][2] = {
    {"route", "3-step"}, {"route", "auto"},    {"message_cap", "4096"}, {"message_cap", "auto"},
    {"check", "on"},     {"check", "0"},       {"timeout", "60.5"},     {"timeout", "0"},
    {"node_size", "2"},  {"node_size", "0"},   {"node_map", ""},        {"machine", "lassen"},
    {"chunk", "64"},     {"delta", "0.00002"}, {"part_table", "here"},  {"part_table", ""},
  };
  for (size_t i = 0; i < sizeof set / sizeof *set; i++) goes_round(p, set[i][0], set[i][1]);
  CHECK_OK(grove_context_set(p->ctx, "ROUTE", "split"));
  reads(p, "Route", "split");
  CHECK_STATUS(grove_context_set(p->ctx, "route", "scenic"), GROVE_ERR_OPTION);
  reads(p, "route", "split"); /* a refusal changes nothing */
}

static void room(const place *p)
{
  char value[8] = "abcdefg";
  CHECK_OK(grove_context_set(p->ctx, "route", "2-step"));
  CHECK_STATUS(grove_context_get(p->ctx, "route", value, 6), GROVE_ERR_ARG);
  CHECK(strcmp(value, "abcdefg") == 0, "a refused call has written '%s'", value);
  CHECK_NUMBER_IN(grove_last_error(), 7);
  CHECK_STATUS(grove_context_get(p->ctx, "route", value, 0), GROVE_ERR_ARG);
  CHECK_OK(grove_context_get(p->ctx, "route", value, 7));
  CHECK(strcmp(value, "2-step") == 0, "it is '%s'", value);
}

static void refusals(const place *p)
{
  char value[8] = "abcdefg";
  CHECK_STATUS(grove_context_get(NULL, "route", value, 8), GROVE_ERR_ARG);
  CHECK_STATUS(grove_context_get(p->ctx, NULL, value, 8), GROVE_ERR_ARG);
  CHECK_STATUS(grove_context_get(p->ctx, "route", NULL, 8), GROVE_ERR_ARG);
  CHECK_STATUS(grove_context_get(p->ctx, "roote", value, 8), GROVE_ERR_OPTION);
  char own[1024], sets[1024];
  snprintf(own, sizeof own, "%s", grove_last_error());
  CHECK(strstr(own, "'roote'"), "no name in '%s'", own);
  CHECK_STATUS(grove_context_set(p->ctx, "roote", "auto"), GROVE_ERR_OPTION);
  snprintf(sets, sizeof sets, "%s", grove_last_error());
  CHECK(strstr(sets, "there is") && strncmp(strstr(sets, "there is"), own, strlen(own)) == 0,
        "get says '%s', set says '%s'", own, sets);
  CHECK(strcmp(value, "abcdefg") == 0, "a refused call has written '%s'", value);
}

static void version(void)
{
  int major = -1, minor = -1, patch = -1;
  CHECK_OK(grove_version(&major, &minor, &patch));
  CHECK(major == GROVE_VERSION_MAJOR && minor == GROVE_VERSION_MINOR &&
          patch == GROVE_VERSION_PATCH,
        "version %d.%d.%d", major, minor, patch);
  CHECK_OK(grove_version(NULL, NULL, NULL));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/options_read_back");
  version();
  place p = place_create(split(0));
  values(&p);
  room(&p);
  refusals(&p);
  place_free(&p);
  return test_end();
}
