/* Options of one forest. They say how its operations are made. What else an option may be about,
 * such as where ranks sit and what carries messages, the ranks of a context have settled together.
 */
#include "base/options.h"
#include "forest/forest.h"

#include <stddef.h>
#include <strings.h>

/* Where an option that a forest may have lies, here and among the context's. */
typedef struct place {
  const char *name;
  size_t here, there;
} place;

#define PLACE(name)                                                                                \
  {                                                                                                \
#name, offsetof(grove_settings, name), offsetof(grove_options, name)                           \
  }

static const place places[] = {
  PLACE(route), PLACE(effort), PLACE(choose_after), PLACE(deterministic), PLACE(order),
};

enum { PLACES = sizeof places / sizeof *places };

static int *value_here(grove_settings *settings, int i)
{
  return (int *)((char *)settings + places[i].here);
}

static int value_there(const grove_options *options, int i)
{
  return *(const int *)((const char *)options + places[i].there);
}

grove_settings grove_context_settings(const grove_context *ctx)
{
  grove_settings all;
  for (int i = 0; i < PLACES; i++) *value_here(&all, i) = value_there(&ctx->options, i);
  return all;
}

grove_settings grove_forest_settings_of(const grove_forest *f)
{
  grove_settings all = grove_context_settings(f->ctx), own = f->own;
  for (int i = 0; i < PLACES && f->set; i++)
    if (f->set & 1u << i) *value_here(&all, i) = *value_here(&own, i);
  return all;
}

/* This rank's failure, which is that of all: they were found to have the same key. */
static grove_status find_setting(const char *key, int *out)
{
  for (int i = 0; i < PLACES; i++)
    if (strcasecmp(key, places[i].name) == 0) {
      *out = i;
      return GROVE_OK;
    }
  return grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__,
                     "grove_forest_set: a forest has no option '%.100s' of its own, but route, "
                     "effort, choose_after, deterministic and order; grove_context_set takes all",
                     key);
}

/* Agreed by all. */
static grove_status set_own(grove_forest *f, const char *key, const char *value)
{
  grove_status status = GROVE_OK;
  grove_options next = {0};
  int i = 0;
  GROVE_TRY(grove_context_change_option(f->ctx, key, value, &next));
  GROVE_TRY(find_setting(key, &i));
  *value_here(&f->own, i) = value_there(&next, i);
  f->set |= 1u << i;
  f->changes++;
fail:
  grove_options_free(&next);
  return status;
}

grove_status grove_forest_set(grove_forest *f, const char *key, const char *value)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(f, GROVE_ERR_ARG, "grove_forest_set: the forest is NULL");
  GROVE_TRY(grove_context_enter_call(f->ctx, "grove_forest_set"));
  status = set_own(f, key, value);
  grove_context_leave_call(f->ctx);
fail:
  return GROVE_VERDICT(f, status);
}
