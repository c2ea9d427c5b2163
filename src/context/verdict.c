/* What public calls do where they fail: the option on_error. */
#include "context/context.h"

grove_status grove_context_fail(const grove_context *ctx, grove_status status)
{
  if (!ctx || ctx->size == 0) return grove_verdict_alone(status); /* that of a bundle of none */
  return grove_verdict_by(__atomic_load_n(&ctx->on_error, __ATOMIC_RELAXED), status);
}
