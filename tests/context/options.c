/* grove_context_set: what it takes, and that a refusal is the same on every rank. */
#include "check.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

static void taken(const place *p, const char *key, const char *value)
{
  grove_status status = grove_context_set(p->ctx, key, value);
  CHECK(status == GROVE_OK, "%s=%s: %s", key, value, grove_last_error());
}

/* The sentence names the option. */
static void refused(const place *p, const char *key, const char *value)
{
  grove_status status = grove_context_set(p->ctx, key, value);
  CHECK(status == GROVE_ERR_OPTION, "%s=%s: %s", key, value, grove_status_name(status));
  CHECK_SAME_ERROR(p->comm, status);
  CHECK(strstr(grove_last_error(), key) != NULL, "no '%s' in '%s'", key, grove_last_error());
}

static void values(const place *p)
{
  static const char *const truth[] = {"on", "off", "1", "0", "true", "false", "yes", "no", "ON"};
  for (size_t i = 0; i < sizeof truth / sizeof *truth; i++) {
    taken(p, "check", truth[i]);
    taken(p, "deterministic", truth[i]);
  }
  static const char *const good[][2] = {
    {"CHECK", "0"},
    {"Check", "0"},
    {"timeout", "60"},
    {"timeout", "60.5"},
    {"timeout", "0"},
    {"log", "off"},
    {"trace", ""},
    {"node_size", "2"},
    {"node_size", "0"},
    {"NODE_SIZE", "1"},
    {"socket_size", "1"},
    {"route", "auto"},
    {"route", "standard"},
    {"Route", "Standard"},
    {"route", "2-step"},
    {"route", "3-Step"},
    {"route", "split"},
    {"route", "auto"},
    {"effort", "measure"},
    {"effort", "estimate"},
    {"message_cap", "4096"},
    {"message_cap", "auto"},
    {"transport_on_node", "mpi"},
    {"p2p", "reposted"},
    {"p2p", "persistent"},
    {"chunk", "64"},
    {"chunk", "1073741824"},
    {"spin", "0"},
    {"spin", "1000"},
    {"transport_off_node", "neighbor"},
    {"transport_off_node", "rma"},
    {"transport_off_node", "ofi"},
    {"transport_off_node", "auto"},
    {"fabric", "tcp;ofi_rxm"},
    {"fabric", "auto"},
    {"transport_off_node", "p2p"},
    {"aggregator", "adaptive"},
    {"aggregator", "auto"},
    {"delta", "0.00005"},
    {"delta", "auto"},
    {"laggard", "0.001"},
    {"min_message", "4096"},
    {"max_messages", "8"},
    {"part_table", "parts.table"},
    {"part_table", ""},
    {"transport_parts", "mpi"},
    {"alarm", "auto"},
    {"profile", "on"},
    {"device", "none"},
    {"memory", "host"},
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) taken(p, good[i][0], good[i][1]);
  static const char *const bad[][2] = {
    {"no_such_option", "1"},
    {"checks", "1"},
    {"GROVE_CHECK", "1"},
    {"check", "maybe"},
    {"check", ""},
    {"check", "2"},
    {"timeout", "-1"},
    {"timeout", "soon"},
    {"timeout", "1s"},
    {"timeout", "nan"},
    {"node_size", "-1"},
    {"node_size", "two"},
    {"node_size", "1.5"},
    {"node_size", "99999999999999999999"},
    {"node_map", "0,x"},
    {"node_map", "a"},
    {"log", "everything"},
    {"route", "scenic"},
    {"effort", "patient"},
    {"message_cap", "few"},
    {"transport_on_node", "pigeon"},
    {"chunk", "63"},
    {"chunk", "2147483648"},
    {"spin", "-5"},
    {"transport_off_node", "pigeon"},
    {"p2p", ""},
    {"trace", "two\nlines"},
    {"aggregator", "loggp"},
    {"delta", "10us"},
    {"laggard", "auto"},
    {"min_message", "-1"},
    {"max_messages", "few"},
    {"part_table", "two\nlines"},
    {"transport_parts", "pigeon"},
    {"alarm", "loud"},
    {"profile", "2"},
    {"device", "0"},
    {"memory", "gpu"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refused(p, bad[i][0], bad[i][1]);
}

/* Another value, or another key, on one rank. */
static void differing(const place *p)
{
  for (int odd = 0; odd < p->size && p->size > 1; odd++) {
    const char *key[] = {"timeout", "check", "node_size", "check"};
    const char *usual[] = {"60", "1", "1", "0"}, *other[] = {"61", "0", "bad", NULL};
    for (int i = 0; i < 4; i++) {
      int me = p->rank == odd;
      const char *k = me && other[i] == NULL ? "deterministic" : key[i];
      grove_status status = grove_context_set(p->ctx, k, me && other[i] ? other[i] : usual[i]);
      CHECK(status == GROVE_ERR_OPTION || status == GROVE_ERR_ARG, "%s", grove_status_name(status));
      CHECK_SAME_ERROR(p->comm, status);
    }
  }
}

static void nulls(const place *p)
{
  CHECK_STATUS(grove_context_set(NULL, "check", "1"), GROVE_ERR_ARG);
  for (int odd = -1; odd < p->size; odd++) { /* on every rank, then on one */
    int me = odd < 0 || p->rank == odd;
    grove_status status = grove_context_set(p->ctx, me ? NULL : "check", "1");
    CHECK(status != GROVE_OK, "a NULL key was taken");
    CHECK_SAME_ERROR(p->comm, status);
    status = grove_context_set(p->ctx, "check", me ? NULL : "1");
    CHECK(status != GROVE_OK, "a NULL value was taken");
    CHECK_SAME_ERROR(p->comm, status);
  }
}

/* A refused option leaves the others, and the context, as they were. */
static void still_works(const place *p)
{
  grove_forest *f = NULL;
  int x = p->rank, *all = need((size_t)p->size * sizeof *all);
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLGATHER, 1));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast(f, MPI_INT, &x, all, MPI_REPLACE));
  for (int i = 0; i < p->size; i++) CHECK(all[i] == i, "from rank %d came %d", i, all[i]);
  CHECK_OK(grove_forest_free(&f));
  free(all);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/options");
  place p = place_create(split(0));
  values(&p);
  still_works(&p);
  differing(&p);
  still_works(&p);
  nulls(&p);
  still_works(&p);
  place_free(&p);
  return test_end();
}
