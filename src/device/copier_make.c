/* Making a copier: for a driver, for a context, and for the stations of that. */
#include "device/copier.h"

#include <stdlib.h>
#include <string.h>

/* "direct", "host", "gpu2": bits 0, 1 + GROVE_HOST, 3; 0: no such path. */
static uint32_t bit_of_path(const char *word, size_t length)
{
  char name[16];
  for (int stop = -1; stop < GROVE_ENDS; stop++) {
    snprintf(name, sizeof name, "gpu%d", stop);
    if (stop < 0) grove_copy_text(name, sizeof name, "direct");
    if (stop == GROVE_HOST) grove_copy_text(name, sizeof name, "host");
    if (strlen(name) == length && memcmp(name, word, length) == 0) return (uint32_t)1 << (stop + 1);
  }
  return 0;
}

/* One device has no paths at all, so that there it does not matter what the list says. */
static int is_there(uint32_t bit, int ndevices)
{
  uint32_t any = (uint32_t)1 | (uint32_t)1 << (GROVE_HOST + 1);
  return ndevices == 1 || ((any | (((uint32_t)1 << ndevices) - 1) << 1) & bit) != 0;
}

static grove_status read_wanted(const char *list, int ndevices, uint32_t *out)
{
  *out = list ? 0 : UINT32_MAX;
  for (const char *at = list; at; at = *at ? at + 1 : NULL) {
    size_t length = strcspn(at, ",");
    uint32_t bit = bit_of_path(at, length);
    GROVE_PASS_CHECK(bit, GROVE_ERR_ARG,
                     "'%.*s' is no path: they are called direct, gpu2 (by GPU 2) and host",
                     (int)(length < 40 ? length : 40), at);
    GROVE_PASS_CHECK(is_there(bit, ndevices), GROVE_ERR_ARG,
                     "there is no path '%.*s': there are %d devices, from 0 on", (int)length, at,
                     ndevices);
    GROVE_PASS_CHECK(!(*out & bit), GROVE_ERR_ARG, "the path '%.*s' is named twice", (int)length,
                     at);
    *out |= bit;
    at += length;
  }
  return GROVE_OK;
}

grove_status grove_copier_open(const grove_driver *driver, int ndevices, const grove_machine *m,
                               const char *paths, int64_t staging_bytes, grove_copier **out)
{
  grove_status status = GROVE_OK;
  grove_copier *c = NULL;
  GROVE_NEW(c, 1);
  pthread_mutex_init(&c->lock, NULL);
  c->driver = driver;
  c->ndevices = ndevices < GROVE_DEVICES ? ndevices : GROVE_DEVICES;
  c->staging_bytes = staging_bytes;
  GROVE_TRY(read_wanted(paths, c->ndevices, &c->wanted));
  if (m)
    GROVE_TRY(grove_machine_copy(m, &c->machine));
  else
    GROVE_TRY(grove_copy_links_measure(driver, c->ndevices, &c->found, &c->machine));
  *out = c;
  return GROVE_OK;
fail:
  grove_copier_close(c);
  return status;
}

void grove_copier_close(grove_copier *c)
{
  if (!c) return;
  for (int from = 0; from < GROVE_DEVICES; from++)
    for (int to = 0; to < GROVE_DEVICES; to++) grove_copy_pair_free(c, c->pairs[from][to]);
  grove_machine_free(&c->machine);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

/* ---- of a context ---- */

/* A profile without links says nothing of copies. */
grove_status grove_copier_make(grove_context *ctx)
{
  const char *paths = ctx->options.copy_paths[0] ? ctx->options.copy_paths : NULL;
  const grove_machine *m = ctx->machine && ctx->machine->links.devices > 0 ? ctx->machine : NULL;
  ctx->close_copier = grove_copier_close;
  GROVE_PASS(grove_copier_open((*ctx->spaces)->driver, ctx->ndevices, m, paths,
                               ctx->options.copy_staging, &ctx->copier));
  ctx->copier->ctx = ctx;
  return GROVE_OK;
}

/* By a station, in the middle of something: streams may wait for that. */
static grove_status carry_far(const grove_station *s, grove_stream *stream,
                              const grove_device_copy *copy)
{
  grove_copy_pair *pair = s->ctx->copier->pairs[s->device][copy->to_device];
  const grove_copy_order order = {copy->to, copy->from, copy->bytes, s->device, stream};
  return grove_copy_move_at_once(s->ctx->copier, pair, &order);
}

static grove_status prepare_carrying(const grove_station *s, int to, int64_t bytes)
{
  grove_copy_pair *pair = NULL;
  const grove_copy_order order = {
    .bytes = bytes, .device = s->device, .stream = s->tracks[GROVE_OUT].stream};
  if (!s->ctx->copier) GROVE_PASS(grove_copier_make(s->ctx));
  GROVE_PASS_CHECK(s->device < s->ctx->copier->ndevices && to < s->ctx->copier->ndevices,
                   GROVE_ERR_DEVICE, "copies know %d devices", s->ctx->copier->ndevices);
  GROVE_PASS(grove_copy_pair_find(s->ctx->copier, s->device, to, &pair));
  return grove_copy_prepare(s->ctx->copier, pair, &order);
}

int grove_copier_serve(grove_station *s, int to, int64_t bytes)
{
  grove_sentence before;
  grove_error_keep(&before);
  int is_ready = prepare_carrying(s, to, bytes) == GROVE_OK;
  if (is_ready) s->carry = carry_far;
  grove_error_restore(&before);
  return is_ready;
}
