/* Mistakes with options, set by the program or by the environment of rank 0, each told with status,
 * rank and object on every rank (told.h). */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "capture.h"
#include "ring.h"
#include "told.h"

#include <stdlib.h>

static void bad_values(const place *p)
{
  static const char *const bad[][2] = {
    {"route", "4-step"}, {"effort", "much"},  {"message_cap", "-1"},     {"transport_on_node", ""},
    {"p2p", "2"},        {"chunk", "63"},     {"deterministic", "yess"}, {"node_size", "two"},
    {"spin", "-2"},      {"timeout", "0x10"}, {"aggregator", "timers"},  {"device", "gpu"},
  };
  for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
    char object[64];
    snprintf(object, sizeof object, "option %s: '%s' is not", bad[i][0], bad[i][1]);
    told(p, grove_context_set(p->ctx, bad[i][0], bad[i][1]), GROVE_ERR_OPTION, 0, object);
  }
  told(p, grove_context_set(p->ctx, "rout", "auto"), GROVE_ERR_OPTION, 0, "'rout'");
  told(p, grove_context_set(p->ctx, NULL, "auto"), GROVE_ERR_ARG, 0, "the key is NULL");
  told(p, grove_context_set(p->ctx, "route", NULL), GROVE_ERR_ARG, 0, "the value is NULL");
}

static void different_values(const place *p)
{
  int other = p->rank == p->size - 1;
  told(p, grove_context_set(p->ctx, "chunk", other ? "64" : "128"), GROVE_ERR_OPTION, p->size - 1,
       "chunk=64");
  told(p, grove_context_set(p->ctx, other ? "check" : "profile", "on"), GROVE_ERR_OPTION,
       p->size - 1, "check=on");
}

/* Told when something is made, whichever was set first; the sentence says which to change. */
static void options_that_exclude_each_other(const place *p)
{
  static const char *const routes[] = {"2-step", "3-step", "split"};
  static const char *const off_node[] = {"rma", "neighbor"};
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, KIND_FETCH);
  for (int i = 0; i < 6; i++) {
    char object[96];
    grove_op *op = NULL;
    op_call c = ring_call(&x);
    c.kind = (op_kind)(i % OP_KINDS);
    CHECK_OK(grove_context_set(p->ctx, "route", routes[i % 3]));
    CHECK_OK(grove_context_set(p->ctx, "transport_off_node", off_node[i / 3]));
    snprintf(object, sizeof object, "route=%s does not go with transport_off_node=%s",
             routes[i % 3], off_node[i / 3]);
    told(p, i % 2 ? call_begin(&c, &op) : call_init(&c, &op), GROVE_ERR_OPTION, 0, object);
    CHECK(strstr(grove_last_error(), "set route to auto or standard, or transport_off_node to p2p"),
          "'%s'", grove_last_error());
    CHECK(op == NULL, "an output was set by a call that failed");
    CHECK_OK(
      grove_context_set(p->ctx, i % 2 ? "route" : "transport_off_node", i % 2 ? "auto" : "p2p"));
    ring_run(&x, 1);
  }
  CHECK_OK(grove_context_set(p->ctx, "route", "auto"));
  CHECK_OK(grove_context_set(p->ctx, "transport_off_node", "p2p"));
  ring_close(&x);
}

/* ---- the environment ---- */

static grove_status create_with(const place *p, const char *name, const char *value)
{
  grove_context *ctx = NULL;
  if (p->rank == 0) setenv(name, value, 1);
  grove_status status = grove_context_create(p->comm, &ctx);
  if (p->rank == 0) unsetenv(name);
  CHECK((status == GROVE_OK) == (ctx != NULL), "%s: an output that does not fit", name);
  CHECK_OK(grove_context_free(&ctx));
  return status;
}

static void nearly_options(const place *p)
{
  static const char *const slips[][2] = {
    {"GROVE_TIMOUT", "GROVE_TIMEOUT"},     {"GROVE_NODESIZE", "GROVE_NODE_SIZE"},
    {"GROVE_LOGS", "GROVE_LOG"},           {"GROVE_RUOTE", "GROVE_ROUTE"},
    {"GROVE_MACHINES", "GROVE_MACHINE"},   {"GROVE_timeout", "GROVE_TIMEOUT"},
    {"GROVE_NODE_MAPP", "GROVE_NODE_MAP"}, {"GROVE_DETERMINISTC", "GROVE_DETERMINISTIC"},
    {"GROVE_CHEKC", "GROVE_CHECK"},
  };
  for (int i = 0; i < (int)(sizeof slips / sizeof *slips); i++) {
    char object[64];
    told(p, create_with(p, slips[i][0], "1"), GROVE_ERR_OPTION, 0, slips[i][0]);
    snprintf(object, sizeof object, "is %s meant?", slips[i][1]);
    CHECK(strstr(grove_last_error(), object), "no '%s' in '%s'", object, grove_last_error());
  }
}

/* The same where a program sets them. */
static void nearly_set(const place *p)
{
  told(p, grove_context_set(p->ctx, "timout", "1"), GROVE_ERR_OPTION, 0, "is 'timeout' meant?");
  told(p, grove_context_set(p->ctx, "banana", "1"), GROVE_ERR_OPTION, 0, "no option 'banana';");
}

/* Other people's variables, and an option's own. */
static void far_from_options(const place *p)
{
  static const char *const fine[] = {"GROVE_ROOT", "GROVE_CLUSTER_RUN", "GROVE_MPI", "GROVE_HOME",
                                     "GROVE_",     "GROVE_CUDA",        "GROVES",    "GROVE_SPIN"};
  for (int i = 0; i < (int)(sizeof fine / sizeof *fine); i++)
    CHECK_STATUS(create_with(p, fine[i], "1"), GROVE_OK);
}

static void summary_lists_strays(const place *p)
{
  char text[CAPTURE_BYTES];
  if (p->rank == 0) setenv("GROVE_BANANA", "1", 1);
  if (p->rank == 0) setenv("GROVE_PRELOAD", "off", 1); /* libgrove_mpi.so looks at it */
  capture c = capture_begin();
  CHECK_OK(create_with(p, "GROVE_LOG", "summary"));
  capture_end(&c, text);
  CHECK((strstr(text, "GROVE_BANANA") != NULL) == (p->rank == 0), "'%s'", text);
  CHECK(!strstr(text, "GROVE_LOG"), "an option is no stray: '%s'", text);
  CHECK(!strstr(text, "GROVE_PRELOAD"), "the binding's option is no stray: '%s'", text);
  if (p->rank == 0) unsetenv("GROVE_BANANA");
  if (p->rank == 0) unsetenv("GROVE_PRELOAD");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "mistakes/options");
  place p = place_create(split(0));
  bad_values(&p);
  if (p.size > 1) different_values(&p);
  options_that_exclude_each_other(&p);
  nearly_options(&p);
  nearly_set(&p);
  far_from_options(&p);
  summary_lists_strays(&p);
  CHECK(mistakes >= 32, "only %d mistakes", mistakes);
  place_free(&p);
  return test_end();
}
