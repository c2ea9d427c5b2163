/* Reading an option back. */
#include "context/context.h"

#include <string.h>

/* With the lock: another thread may just be changing options. */
static grove_status copy_option(const grove_context *ctx, const char *key, char *value,
                                size_t bytes)
{
  const char *text = NULL;
  GROVE_PASS(grove_options_get(&ctx->options, key, &text));
  size_t needed = strlen(text) + 1;
  GROVE_PASS_CHECK(needed <= bytes, GROVE_ERR_ARG,
                   "rank %d: grove_context_get: the value of %.100s takes %zu bytes, and there is "
                   "room for %zu",
                   ctx->rank, key, needed, bytes);
  memcpy(value, text, needed);
  return GROVE_OK;
}

grove_status grove_context_get(grove_context *ctx, const char *key, char *value, size_t bytes)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx && key && value, GROVE_ERR_ARG, "grove_context_get: the %s is NULL",
              !ctx  ? "context"
              : key ? "value"
                    : "key");
  grove_context_enter(ctx);
  status = copy_option(ctx, key, value, bytes);
  grove_context_leave(ctx);
fail:
  return grove_verdict(ctx, status);
}
