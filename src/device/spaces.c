/* Which memory an address is in; and the kinds of memory that devices have, one for each driver. */
#include "device/emulated.h"
#include "device/lift.h"

static int owns_range(const grove_space_kind *kind, const void *array, int *device)
{
  grove_range range;
  if (!kind->driver->find(array, &range)) return 0;
  *device = range.device;
  return 1;
}

static grove_status copy_now(const grove_space_kind *kind, int device, void *to, const void *from,
                             int64_t bytes)
{
  GROVE_PASS(kind->driver->copy(device, NULL, to, from, bytes));
  return kind->driver->finish(device, NULL);
}

#define DEVICE_KIND(driver_name)                                                                   \
  {                                                                                                \
    .name = #driver_name, .bit = GROVE_SPACE_DEVICE, .driver = &grove_driver_##driver_name,        \
    .owns = owns_range, .copy = copy_now, .pack = grove_lift_pack, .unpack = grove_lift_unpack,    \
    .fetch = grove_lift_fetch, .open = grove_lift_open, .close = grove_lift_close,                 \
    .cover = grove_lift_cover, .mirror = grove_lift_mirror, .share = grove_lift_share,             \
    .liken = grove_lift_liken, .prepare = grove_lift_prepare, .merge = grove_lift_merge,           \
    .keep_inside = grove_lift_keep_inside, .pass_on = grove_lift_pass_on,                          \
    .begin = grove_lift_begin, .flush = grove_lift_flush, .proceed = grove_lift_proceed,           \
    .begun = grove_lift_begun, .passed = grove_lift_passed, .weigh = grove_lift_weigh              \
  }

const grove_space_kind grove_space_emulated = DEVICE_KIND(emulated);
#ifdef GROVE_CUDA
const grove_space_kind grove_space_cuda = DEVICE_KIND(cuda);
#endif

/* ---- which of them a context has ---- */

static const grove_space_kind *const emulated_only[] = {&grove_space_emulated, NULL};
#ifdef GROVE_CUDA
static const grove_space_kind *const cuda_only[] = {&grove_space_cuda, NULL};
#endif

/* What the option means; NULL: none. */
static const grove_space_kind *const *kinds_meant(const grove_options *options)
{
  switch (options->device) {
  case GROVE_DEVICE_EMULATED:
  case GROVE_DEVICE_EMULATED_LAZY:
  case GROVE_DEVICE_EMULATED_RANDOM: return emulated_only;
#ifdef GROVE_CUDA
  case GROVE_DEVICE_AUTO:
  case GROVE_DEVICE_CUDA: return cuda_only;
#endif
  default: return NULL;
  }
}

/* Before the driver is opened, which tells how many there are. */
static grove_status set_devices(const grove_options *options)
{
  GROVE_PASS_CHECK(options->emulated_devices <= GROVE_EMULATED_DEVICES, GROVE_ERR_OPTION,
                   "option emulated_devices: %d are too many; there may be %d",
                   options->emulated_devices, GROVE_EMULATED_DEVICES);
  if (options->emulated_devices > 0) grove_emulated_set_devices(options->emulated_devices);
  return GROVE_OK;
}

static void set_temper(const grove_options *options)
{
  if (options->device == GROVE_DEVICE_EMULATED_LAZY)
    grove_emulated_set_temper(GROVE_TEMPER_LAZY, 1);
  if (options->device == GROVE_DEVICE_EMULATED_RANDOM)
    grove_emulated_set_temper(GROVE_TEMPER_RANDOM, 1);
}

grove_status grove_spaces_driver(const grove_options *options, const grove_driver **out,
                                 int *ndevices)
{
  const grove_space_kind *const *kinds = kinds_meant(options);
  GROVE_PASS_CHECK(options->device != GROVE_DEVICE_NONE, GROVE_ERR_DEVICE,
                   "there is no device, for the option device is none");
  GROVE_PASS_CHECK(kinds, GROVE_ERR_DEVICE,
                   "this library was built without CUDA; device=emulated does without");
  GROVE_PASS(set_devices(options));
  GROVE_PASS((*kinds)->driver->open(ndevices));
  set_temper(options);
  *out = (*kinds)->driver;
  return GROVE_OK;
}

grove_status grove_spaces_open(grove_context *ctx)
{
  int ndevices = 0;
  const grove_space_kind *const *kinds = kinds_meant(&ctx->options);
  GROVE_PASS_CHECK(ctx->options.device != GROVE_DEVICE_NONE, GROVE_ERR_DEVICE,
                   "rank %d: there is no device, for the option device is none", ctx->rank);
  GROVE_PASS_CHECK(kinds, GROVE_ERR_DEVICE,
                   "rank %d: this library was built without CUDA; device=emulated does without",
                   ctx->rank);
  GROVE_PASS(set_devices(&ctx->options));
  GROVE_PASS((*kinds)->driver->open(&ndevices));
  GROVE_PASS_CHECK(ctx->options.device_number < ndevices, GROVE_ERR_OPTION,
                   "rank %d: option device_number: there is no device %d; there are %d, from 0 on",
                   ctx->rank, ctx->options.device_number, ndevices);
  set_temper(&ctx->options);
  ctx->spaces = kinds;
  ctx->ndevices = ndevices;
  return GROVE_OK;
}

void grove_spaces_look(grove_context *ctx)
{
  grove_sentence before;
  const grove_space_kind *const *kinds = kinds_meant(&ctx->options);
  if (!kinds || kinds == ctx->spaces || !(*kinds)->driver->is_in_use()) return;
  grove_error_keep(&before);
  if (grove_spaces_open(ctx) != GROVE_OK) grove_error_restore(&before);
}

int grove_spaces_device(const grove_context *ctx)
{
  if (ctx->options.device_number >= 0) return ctx->options.device_number;
  int current = (*ctx->spaces)->driver->current();
  return current >= 0 ? current : ctx->rank_in_domain % ctx->ndevices;
}

grove_space grove_space_found(const grove_context *ctx, const void *address)
{
  int device = 0;
  for (const grove_space_kind *const *kind = ctx->spaces; kind && *kind; kind++)
    if ((*kind)->owns(*kind, address, &device)) return (grove_space){*kind, device, NULL};
  return (grove_space){&grove_space_host, 0, NULL};
}

grove_space grove_space_of(const grove_context *ctx, const void *array)
{
  if (!array || !ctx->spaces || ctx->options.memory == GROVE_MEMORY_HOST)
    return (grove_space){&grove_space_host, 0, NULL};
  if (ctx->options.memory == GROVE_MEMORY_DEVICE)
    return (grove_space){*ctx->spaces, grove_spaces_device(ctx), NULL};
  return grove_space_found(ctx, array);
}
