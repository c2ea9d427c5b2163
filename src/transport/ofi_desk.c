#ifdef GROVE_LIBFABRIC

#include "transport/ofi_desk.h"

#include "base/pause.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Turns of the context between two polls that nobody asked for; polls for what has not left, and
 * seconds of them at the end. */
enum { TURNS = 32, LAST_POLLS = 1000 };
static const double LAST_SECONDS = 0.5;

typedef struct entry {
  struct entry *next;
  char *name; /* what was asked for */
  int within_host, endpoints, manner;
  grove_fabric *f;
} entry;

typedef struct grove_fabric_desk {
  grove_active active; /* first; listed while somebody holds it, or something has to leave */
  grove_context *ctx;
  entry *entries;
  int holds;
  unsigned turns;
} desk;

/* ---- going on ---- */

static int desk_is_quiet(const desk *d)
{
  for (const entry *e = d->entries; e; e = e->next)
    if (!grove_fabric_is_quiet(e->f)) return 0;
  return 1;
}

/* Who has something under way hears of failures; this here is for others. */
static void poll_desk(desk *d)
{
  grove_sentence before;
  grove_error_keep(&before);
  for (entry *e = d->entries; e; e = e->next)
    if (grove_fabric_poll(e->f) != GROVE_OK) grove_error_restore(&before);
}

void grove_fabrics_poll(grove_context *ctx)
{
  poll_desk(ctx->fabrics);
}

static void advance_desk(grove_active *active)
{
  desk *d = (desk *)active;
  if (++d->turns % TURNS != 0) return;
  poll_desk(d);
  if (d->holds == 0 && (desk_is_quiet(d) || d->turns > TURNS * LAST_POLLS))
    grove_context_deactivate(active);
}

void grove_fabric_hold(grove_context *ctx)
{
  desk *d = ctx->fabrics;
  d->holds++;
  if (!d->active.next) grove_context_activate(ctx, &d->active);
}

void grove_fabric_release(grove_context *ctx)
{
  ctx->fabrics->holds--;
  ctx->fabrics->turns = 0;
}

/* ---- opening and closing ---- */

/* Operations that were freed within a round get a chance to end, and to tell the other side. */
static void close_desk(grove_context *ctx)
{
  desk *d = ctx->fabrics;
  grove_pause pause;
  grove_pause_begin(&pause, 0);
  while ((d->holds > 0 || !desk_is_quiet(d)) && !grove_pause_expired(&pause, LAST_SECONDS)) {
    if (d->holds > 0 && !ctx->broken && !grove_mpi_is_gone()) grove_context_progress(ctx);
    poll_desk(d);
    grove_pause_step(&pause);
  }
  if (d->active.next) grove_context_deactivate(&d->active);
  while (d->entries) {
    entry *e = d->entries;
    d->entries = e->next;
    grove_fabric_close(&e->f);
    free(e->name);
    free(e);
  }
  free(d);
  ctx->fabrics = NULL;
}

static grove_status open_desk(grove_context *ctx)
{
  if (ctx->fabrics) return GROVE_OK;
  GROVE_PASS_NEW(ctx->fabrics, 1);
  ctx->fabrics->ctx = ctx;
  ctx->fabrics->active.advance = advance_desk;
  ctx->close_fabrics = close_desk;
  return GROVE_OK;
}

static int is_as_asked(const entry *e, const grove_fabric_wish *wish)
{
  return strcmp(e->name, wish->provider) == 0 && e->within_host == wish->within_host &&
         e->endpoints == wish->endpoints && e->manner == (int)wish->manner;
}

static grove_status open_entry(desk *d, const grove_fabric_wish *wish, grove_fabric **out)
{
  grove_status status = GROVE_OK;
  entry *e = d->entries;
  while (e && !is_as_asked(e, wish)) e = e->next;
  if (!e) {
    GROVE_NEW(e, 1);
    *e = (entry){.name = strdup(wish->provider),
                 .within_host = wish->within_host,
                 .endpoints = wish->endpoints,
                 .manner = (int)wish->manner};
    GROVE_CHECK(e->name, GROVE_ERR_MEMORY, "no memory for the name of a provider");
    GROVE_TRY(grove_fabric_open(wish, &e->f));
    e->next = d->entries;
    d->entries = e;
  }
  *out = e->f;
  return GROVE_OK;
fail:
  if (e) free(e->name);
  free(e);
  return status;
}

grove_status grove_fabric_of(grove_context *ctx, int peer, const char *provider, grove_fabric **out)
{
  const grove_options *o = &ctx->options;
  int same_host = ctx->place[peer].domain == ctx->place[ctx->rank].domain;
  grove_fabric_wish wish = {.provider = o->fabric,
                            .within_host = same_host && strcasecmp(o->fabric, "auto") == 0,
                            .endpoints = o->endpoints,
                            .manner = (grove_fabric_manner)o->fabric_writes};
  if (strcasecmp(o->fabric, "auto") == 0) wish.provider = "auto";
  GROVE_PASS(open_desk(ctx));
  GROVE_PASS(open_entry(ctx->fabrics, &wish, out));
  if (!provider || strcmp(grove_fabric_describe(*out)->provider, provider) == 0) return GROVE_OK;
  wish.provider = provider;
  wish.within_host = 0;
  return open_entry(ctx->fabrics, &wish, out);
}

grove_status grove_fabric_count_endpoints(grove_context *ctx, int peer, int *n)
{
  grove_fabric *f = NULL;
  grove_context_enter(ctx);
  grove_status status = grove_fabric_of(ctx, peer, NULL, &f);
  if (status == GROVE_OK) *n = grove_fabric_endpoints(f);
  grove_context_leave(ctx);
  return status;
}

grove_status grove_fabric_of_all(grove_context *ctx, grove_fabric **out)
{
  const grove_options *o = &ctx->options;
  int is_auto = strcasecmp(o->fabric, "auto") == 0;
  const grove_fabric_wish wish = {.provider = is_auto ? "auto" : o->fabric,
                                  .endpoints = o->endpoints,
                                  .manner = (grove_fabric_manner)o->fabric_writes};
  GROVE_PASS(open_desk(ctx));
  return open_entry(ctx->fabrics, &wish, out);
}

#endif
