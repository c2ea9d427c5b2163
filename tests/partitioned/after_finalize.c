/* Channels that outlive MPI: they may still be freed, in any state and order. What needs MPI is
 * refused with a sentence. */
#include "channel.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

typedef enum state { FRESH, IDLE, STARTED, MARKED, TESTED, STATES } state;

/* A ring: an end to the next rank and one from the rank before, in every state. */
typedef struct world {
  place p;
  channel c[STATES][2]; /* receives, sends */
} world;

static void bring(channel *c, state x)
{
  if (x == FRESH) return;
  for (int k = 0; k < 2; k++) channel_start(&c[k]);
  if (x == STARTED) return;
  channel_ready(&c[1], 0, x == MARKED ? c[1].parts / 2 : c[1].parts);
  if (x == MARKED) return;
  if (x == TESTED) {
    for (int k = 0; k < 2; k++) channel_poll(&c[k]);
    return;
  }
  for (int k = 0; k < 2; k++) channel_wait(&c[k]);
}

/* What waits for somebody comes first: nobody looks after the others. */
static void create(world *w, const units *types)
{
  static const state order[STATES] = {FRESH, IDLE, TESTED, STARTED, MARKED};
  w->p = place_create(split(0));
  int next = (w->p.rank + 1) % w->p.size, previous = (w->p.rank + w->p.size - 1) % w->p.size;
  for (int i = 0; i < STATES; i++) {
    channel *c = w->c[order[i]];
    for (int k = 0; k < 2; k++) {
      c[k] = (channel){.ctx = w->p.ctx, .sends = k, .peer = k ? next : previous, .tag = i};
      c[k].parts = 6;
      c[k].count = 4;
      c[k].u = units_find(types, i % 2 ? "vector of ints with gaps" : "MPI_INT");
      c[k].seed = mix2(test_seed(), (uint64_t)(k ? w->p.rank : previous));
      channel_open(&c[k]);
    }
    bring(c, order[i]);
  }
}

static void free_channels(world *w)
{
  for (int x = 0; x < STATES; x++)
    for (int k = 0; k < 2; k++) {
      CHECK_OK(grove_op_free(&w->c[x][k].op));
      CHECK(w->c[x][k].op == NULL, "a freed operation is not NULL");
    }
}

static void free_context(world *w)
{
  CHECK_OK(grove_context_free(&w->p.ctx));
  CHECK(w->p.ctx == NULL, "a freed context is not NULL");
}

static void refused(grove_status status, const char *call)
{
  CHECK(status == GROVE_ERR_STATE, "%s: %s", call, grove_status_name(status));
  CHECK(strstr(grove_last_error(), "MPI_Finalize"), "%s: '%s'", call, grove_last_error());
}

/* What is known without MPI may be answered; nothing is looked for. */
static void refused_or_known(grove_status status, const char *call)
{
  if (status != GROVE_OK) refused(status, call);
}

static void refuse(world *w)
{
  grove_op *op = NULL;
  int x[4] = {0}, done = 0, yes = 0;
  refused(grove_psend_init(w->p.ctx, x, 2, 2, MPI_INT, 0, 0, &op), "grove_psend_init");
  refused(grove_precv_init(w->p.ctx, x, 2, 2, MPI_INT, 0, 0, &op), "grove_precv_init");
  CHECK(op == NULL, "an output was set by a call that failed");
  for (int k = 0; k < 2; k++) {
    refused(grove_start(w->c[FRESH][k].op), "grove_start");
    refused(grove_start(w->c[IDLE][k].op), "grove_start");
    refused_or_known(grove_test(w->c[STARTED][k].op, &done), "grove_test");
    if (!done) refused_or_known(grove_wait(w->c[STARTED][k].op), "grove_wait");
    done = 0;
  }
  refused_or_known(grove_arrived(w->c[MARKED][0].op, 0, 1, &yes), "grove_arrived");
}

int main(int argc, char **argv)
{
  enum { WORLDS = 4 };
  static world w[WORLDS];
  test_begin(&argc, &argv, "partitioned/after_finalize");
  units *types = units_create();
  for (int i = 0; i < WORLDS; i++) create(&w[i], types);
  free_context(&w[0]);
  free_channels(&w[1]);
  units_free(types); /* Grove keeps what it needs */
  int status = test_end();
  test_case(WORLDS); /* the watchdog goes on */
  for (int i = 2; i < WORLDS; i++) refuse(&w[i]);
  for (int i = 0; i < WORLDS; i++) {
    if (i % 2) free_context(&w[i]);
    free_channels(&w[i]);
    if (i % 2 == 0) free_context(&w[i]);
  }
  return status;
}
