/* grove_cuda.h: copies from device to device, over every path. */
#include "device/copier.h"

#include "grove_cuda.h"

/* ---- making one ---- */

/* The options are those of the environment: there is no context that could have others. */
grove_status grove_copier_create(const grove_machine *m, const char *paths, grove_copier **out)
{
  grove_status status = GROVE_OK;
  grove_options options = {0};
  const grove_driver *driver = NULL;
  int ndevices = 0;
  GROVE_CHECK(out, GROVE_ERR_ARG, "grove_copier_create: out is NULL");
  GROVE_TRY(grove_options_create(&options));
  GROVE_TRY(grove_options_read_environment(&options));
  GROVE_TRY(grove_spaces_driver(&options, &driver, &ndevices));
  if (!paths && options.copy_paths[0]) paths = options.copy_paths;
  GROVE_TRY(grove_copier_open(driver, ndevices, m, paths, options.copy_staging, out));
fail:
  grove_options_free(&options);
  return grove_verdict_alone(status);
}

grove_status grove_copier_free(grove_copier **c)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(c, GROVE_ERR_ARG, "grove_copier_free: the address of the copier is NULL");
  grove_copier_close(*c);
  *c = NULL;
fail:
  return grove_verdict_alone(status);
}

/* ---- copies ---- */

static grove_status check_device(const grove_copier *c, const char *what, const void *memory,
                                 int *device)
{
  grove_range range;
  GROVE_PASS_CHECK(*device >= -1 && *device < c->ndevices, GROVE_ERR_ARG,
                   "%s: there is no device %d; there are %d, from 0 on", what, *device,
                   c->ndevices);
  if (*device >= 0) return GROVE_OK;
  GROVE_PASS_CHECK(c->driver->find(memory, &range), GROVE_ERR_ARG,
                   "%s: %p is in no memory of a device", what, memory);
  GROVE_PASS_CHECK(range.device < c->ndevices, GROVE_ERR_ARG,
                   "%s: %p is in the memory of device %d; copies know %d devices", what, memory,
                   range.device, c->ndevices);
  *device = range.device;
  return GROVE_OK;
}

static grove_status check_copy(const grove_copier *c, const char *dst, int *to, const char *src,
                               int *from, size_t bytes)
{
  GROVE_PASS_CHECK(dst && src, GROVE_ERR_ARG, "a copy between devices: %s is NULL",
                   dst ? "src" : "dst");
  GROVE_PASS_CHECK(bytes <= INT64_MAX, GROVE_ERR_ARG, "a copy between devices: %zu bytes", bytes);
  GROVE_PASS(check_device(c, "dst", dst, to));
  GROVE_PASS(check_device(c, "src", src, from));
  GROVE_PASS_CHECK(dst + bytes <= src || src + bytes <= dst, GROVE_ERR_ARG,
                   "a copy between devices: %zu bytes at %p and at %p overlap", bytes,
                   (const void *)src, (const void *)dst);
  return GROVE_OK;
}

/* For NULL, the default stream of this device. */
static grove_status check_stream(const grove_driver *driver, int device, grove_stream *stream)
{
  GROVE_PASS_CHECK(!driver->is_capturing(device, stream), GROVE_ERR_UNSUPPORTED,
                   "a copy between devices cannot be captured: staging memory is used again");
  return GROVE_OK;
}

/* While a stream waits for an operation of the context. To make something may be to wait for that
 * stream, so what is there must do. */
static grove_status move_meanwhile(grove_copier *c, int from, int to, const grove_copy_order *order)
{
  grove_copy_pair *pair = __atomic_load_n(&c->pairs[from][to], __ATOMIC_ACQUIRE);
  if (pair) return grove_copy_move_at_once(c, pair, order);
  return c->driver->copy(order->device, order->stream, order->to, order->from, order->bytes);
}

static grove_status submit_copy(grove_copier *c, void *dst, int dst_device, const void *src,
                                int src_device, size_t bytes, struct CUstream_st *stream)
{
  grove_copy_pair *pair = NULL;
  GROVE_PASS_CHECK(c, GROVE_ERR_ARG, "grove_copier_copy: the copier is NULL");
  if (bytes == 0) return GROVE_OK;
  GROVE_PASS(check_copy(c, dst, &dst_device, src, &src_device, bytes));
  int device = c->ndevices == 1 ? src_device : c->driver->device_of(stream, src_device);
  GROVE_PASS(check_stream(c->driver, device, stream));
  if (src_device == dst_device || device >= c->ndevices)
    return c->driver->copy(device, stream, dst, src, (int64_t)bytes);
  const grove_copy_order order = {dst, src, (int64_t)bytes, device, stream};
  if (c->ctx && __atomic_load_n(&c->ctx->promises, __ATOMIC_RELAXED) > 0)
    return move_meanwhile(c, src_device, dst_device, &order);
  GROVE_PASS(grove_copy_pair_find(c, src_device, dst_device, &pair));
  return grove_copy_move(c, pair, &order);
}

grove_status grove_copier_copy(grove_copier *c, void *dst, int dst_device, const void *src,
                               int src_device, size_t bytes, struct CUstream_st *stream)
{
  return grove_verdict_alone(submit_copy(c, dst, dst_device, src, src_device, bytes, stream));
}

/* ---- of a context ---- */

/* To make one would spoil the capture of a stream. */
static grove_status open_copier(grove_context *ctx, int device, grove_stream *stream)
{
  GROVE_PASS(grove_spaces_open(ctx));
  const grove_driver *driver = (*ctx->spaces)->driver;
  GROVE_PASS(check_stream(driver, driver->device_of(stream, device), stream));
  return grove_copier_make(ctx);
}

/* Made at the first copy, when no stream waits for an operation. */
static grove_status find_copier(grove_context *ctx, int device, grove_stream *stream,
                                grove_copier **out)
{
  grove_status status = GROVE_OK;
  if (!__atomic_load_n(&ctx->copier, __ATOMIC_ACQUIRE)) GROVE_PASS(grove_station_settle(ctx));
  grove_context_enter(ctx);
  if (!ctx->copier) status = open_copier(ctx, device, stream);
  *out = ctx->copier;
  grove_context_leave(ctx);
  return status;
}

grove_status grove_copy_async(grove_context *ctx, void *dst, int dst_device, const void *src,
                              int src_device, size_t bytes, struct CUstream_st *stream)
{
  grove_status status = GROVE_OK;
  grove_copier *copier = NULL;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_copy_async: the context is NULL");
  GROVE_TRY(find_copier(ctx, src_device >= 0 ? src_device : 0, stream, &copier));
  status = submit_copy(copier, dst, dst_device, src, src_device, bytes, stream);
fail:
  return grove_verdict(ctx, status);
}

/* ---- explain ---- */

static void explain_decision(const grove_copy_route *route, const grove_copy_decision *d,
                             int64_t bytes, FILE *file)
{
  int64_t part[GROVE_PATHS];
  char end[8];
  grove_copy_decision_bytes(d, bytes, part);
  fprintf(file, "path      share %%          bytes  chunks\n");
  for (int i = 0; i < d->npaths; i++) {
    const grove_path *p = &route->path[d->path[i]];
    char name[16];
    snprintf(name, sizeof name, "%s%s", grove_path_kind_names[p->kind],
             p->kind == GROVE_PATH_GPU ? grove_end_name(p->via, end) : "");
    fprintf(file, "%-8s %8.3f %14lld %7lld\n", name, 100 * (double)part[i] / (double)bytes,
            (long long)part[i], (long long)d->chunks[i]);
  }
}

static grove_status explain_pair(const grove_copier *c, grove_copy_pair *pair, int64_t bytes,
                                 FILE *file)
{
  const grove_copy_route *route = __atomic_load_n(&pair->route, __ATOMIC_ACQUIRE);
  const grove_copy_decision *d = grove_copy_route_decide(route, bytes);
  double seconds = 0, single = 0;
  char end[8];
  fprintf(file, "%lld bytes from GPU %d to GPU %d, links of machine '%s'\n", (long long)bytes,
          pair->from, pair->to, c->machine->name);
  if (d) {
    GROVE_PASS(grove_copy_pair_predict(c, pair, bytes, &seconds, &single));
    explain_decision(route, d, bytes, file);
    fprintf(file, "%.2f us in all; one path alone %.2f us: a gain of %.3f\n", 1e6 * seconds,
            1e6 * single, single / seconds);
  } else {
    fprintf(file, "the driver's own copy: no other path is left, or they gain too little\n");
  }
  for (int stop = 0; stop < GROVE_ENDS; stop++)
    if (__atomic_load_n(&pair->struck, __ATOMIC_RELAXED) >> stop & 1)
      fprintf(file, "the path by %s%s has failed, and is not used\n",
              stop == GROVE_HOST ? "the " : "GPU ", grove_end_name(stop, end));
  return GROVE_OK;
}

static grove_status explain_copy(grove_copier *c, int from, int to, size_t bytes, FILE *file)
{
  grove_copy_pair *pair = NULL;
  GROVE_PASS_CHECK(c && file, GROVE_ERR_ARG, "grove_copier_explain: %s is NULL",
                   c ? "the file" : "the copier");
  int is_known = from >= 0 && from < c->ndevices && to >= 0 && to < c->ndevices;
  GROVE_PASS_CHECK(is_known, GROVE_ERR_ARG,
                   "grove_copier_explain: GPU %d to GPU %d; there are %d, from 0 on", from, to,
                   c->ndevices);
  GROVE_PASS_CHECK(from != to && bytes > 0 && bytes <= INT64_MAX, GROVE_ERR_ARG,
                   "grove_copier_explain: %zu bytes from GPU %d to GPU %d are nothing to divide",
                   bytes, from, to);
  GROVE_PASS(grove_copy_pair_find(c, from, to, &pair));
  return explain_pair(c, pair, (int64_t)bytes, file);
}

grove_status grove_copier_explain(grove_copier *c, int from, int to, size_t bytes, FILE *file)
{
  return grove_verdict_alone(explain_copy(c, from, to, bytes, file));
}
