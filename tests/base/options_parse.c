/* The option table: what every parser takes and refuses, the environment, and the text by which
 * rank 0 tells the others. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "base/options.h"
#include "check.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* One accepted value and what it means. */
typedef struct good {
  const char *name, *value;
  size_t offset; /* of the field */
  double number; /* that it then has */
} good;

#define FIELD(field) offsetof(grove_options, field)

static const good goods[] = {
  {"route", "standard", FIELD(route), 1},
  {"route", "auto", FIELD(route), GROVE_ROUTE_AUTO},
  {"ROUTE", "STANDARD", FIELD(route), 1},
  {"Route", "Auto", FIELD(route), GROVE_ROUTE_AUTO},
  {"route", "2-step", FIELD(route), 2},
  {"route", "3-Step", FIELD(route), 3},
  {"route", "split", FIELD(route), 4},
  {"effort", "measure", FIELD(effort), GROVE_EFFORT_MEASURE},
  {"Effort", "Estimate", FIELD(effort), GROVE_EFFORT_ESTIMATE},
  {"choose_after", "100", FIELD(choose_after), 100},
  {"message_cap", "8192", FIELD(message_cap), 8192},
  {"message_cap", "Auto", FIELD(message_cap), -1},
  {"transport_on_node", "mpi", FIELD(transport_on_node), 1},
  {"transport_on_node", "MPI", FIELD(transport_on_node), 1},
  {"transport_on_node", "Shm", FIELD(transport_on_node), 0},
  {"progress", "thread", FIELD(progress), GROVE_PROGRESS_THREAD},
  {"progress", "CALLS", FIELD(progress), GROVE_PROGRESS_CALLS},
  {"transport_off_node", "neighbor", FIELD(transport_off_node), GROVE_OFF_NODE_NEIGHBOR},
  {"transport_off_node", "RMA", FIELD(transport_off_node), GROVE_OFF_NODE_RMA},
  {"transport_off_node", "ofi", FIELD(transport_off_node), GROVE_OFF_NODE_OFI},
  {"transport_off_node", "auto", FIELD(transport_off_node), GROVE_OFF_NODE_AUTO},
  {"transport_off_node", "p2p", FIELD(transport_off_node), GROVE_OFF_NODE_P2P},
  {"p2p", "reposted", FIELD(p2p), GROVE_P2P_REPOSTED},
  {"P2P", "Persistent", FIELD(p2p), GROVE_P2P_PERSISTENT},
  {"chunk", "64", FIELD(chunk), 64},
  {"Chunk", "2147483647", FIELD(chunk), 2147483647},
  {"chunk", "1073741824", FIELD(chunk), 1073741824},
  {"order", "Own-First", FIELD(order), GROVE_ORDER_OWN_FIRST},
  {"deterministic", "on", FIELD(deterministic), 1},
  {"deterministic", "off", FIELD(deterministic), 0},
  {"deterministic", "YES", FIELD(deterministic), 1},
  {"deterministic", "No", FIELD(deterministic), 0},
  {"check", "1", FIELD(check), 1},
  {"check", "0", FIELD(check), 0},
  {"check", "True", FIELD(check), 1},
  {"check", "false", FIELD(check), 0},
  {"node_size", "1", FIELD(node_size), 1},
  {"node_size", "2147483647", FIELD(node_size), 2147483647},
  {"node_size", "0", FIELD(node_size), 0},
  {"socket_size", "12", FIELD(socket_size), 12},
  {"spin", "0", FIELD(spin), 0},
  {"spin", "AUTO", FIELD(spin), -1},
  {"spin", "100000", FIELD(spin), 100000},
  {"timeout", "0.25", FIELD(timeout_seconds), 0.25},
  {"timeout", "1e3", FIELD(timeout_seconds), 1000},
  {"timeout", "1e9", FIELD(timeout_seconds), 1e9},
  {"timeout", "0", FIELD(timeout_seconds), 0},
  {"on_error", "Abort", FIELD(on_error), GROVE_ON_ERROR_ABORT},
  {"on_error", "return", FIELD(on_error), GROVE_ON_ERROR_RETURN},
  {"log", "summary", FIELD(log), GROVE_LOG_SUMMARY},
  {"log", "Off", FIELD(log), GROVE_LOG_OFF},
  {"aggregator", "none", FIELD(aggregator), GROVE_AGGREGATOR_NONE},
  {"aggregator", "Table", FIELD(aggregator), GROVE_AGGREGATOR_TABLE},
  {"aggregator", "PLogGP", FIELD(aggregator), GROVE_AGGREGATOR_PLOGGP},
  {"aggregator", "timer", FIELD(aggregator), GROVE_AGGREGATOR_TIMER},
  {"aggregator", "adaptive", FIELD(aggregator), GROVE_AGGREGATOR_ADAPTIVE},
  {"Aggregator", "auto", FIELD(aggregator), GROVE_AGGREGATOR_AUTO},
  {"delta", "35e-6", FIELD(delta_seconds), 35e-6},
  {"delta", "0", FIELD(delta_seconds), 0},
  {"Delta", "Auto", FIELD(delta_seconds), -1},
  {"laggard", "0.001", FIELD(laggard_seconds), 0.001},
  {"laggard", "0", FIELD(laggard_seconds), 0},
  {"min_message", "4096", FIELD(min_message), 4096},
  {"min_message", "0", FIELD(min_message), 0},
  {"max_messages", "16", FIELD(max_messages), 16},
  {"max_messages", "0", FIELD(max_messages), 0},
  {"transport_parts", "mpi", FIELD(transport_parts), GROVE_PARTS_MPI},
  {"transport_parts", "ofi", FIELD(transport_parts), GROVE_PARTS_OFI},
  {"transport_parts", "Shm", FIELD(transport_parts), GROVE_PARTS_SHM},
  {"transport_parts", "AUTO", FIELD(transport_parts), GROVE_PARTS_AUTO},
  {"endpoints", "16", FIELD(endpoints), 16},
  {"endpoints", "1", FIELD(endpoints), 1},
  {"fabric_writes", "Data", FIELD(fabric_writes), 1},
  {"fabric_writes", "note", FIELD(fabric_writes), 2},
  {"fabric_writes", "message", FIELD(fabric_writes), 3},
  {"fabric_writes", "auto", FIELD(fabric_writes), 0},
  {"alarm", "thread", FIELD(alarm), GROVE_ALARM_THREAD},
  {"alarm", "off", FIELD(alarm), GROVE_ALARM_OFF},
  {"alarm", "auto", FIELD(alarm), GROVE_ALARM_AUTO},
  {"profile", "on", FIELD(profile), 1},
  {"profile", "0", FIELD(profile), 0},
  {"device", "emulated", FIELD(device), GROVE_DEVICE_EMULATED},
  {"device", "emulated-lazy", FIELD(device), GROVE_DEVICE_EMULATED_LAZY},
  {"device", "emulated-random", FIELD(device), GROVE_DEVICE_EMULATED_RANDOM},
  {"device", "cuda", FIELD(device), GROVE_DEVICE_CUDA},
  {"device", "none", FIELD(device), GROVE_DEVICE_NONE},
  {"device", "auto", FIELD(device), GROVE_DEVICE_AUTO},
  {"memory", "device", FIELD(memory), GROVE_MEMORY_DEVICE},
  {"memory", "host", FIELD(memory), GROVE_MEMORY_HOST},
  {"memory", "auto", FIELD(memory), GROVE_MEMORY_AUTO},
  {"device_number", "3", FIELD(device_number), 3},
  {"device_number", "auto", FIELD(device_number), -1},
  {"emulated_devices", "4", FIELD(emulated_devices), 4},
  {"copy_staging", "1000000", FIELD(copy_staging), 1000000},
};
enum { GOODS = sizeof goods / sizeof *goods };

static const char *const bads[][2] = {
  {"route", ""},
  {"route", "scenic"},
  {"route", "auto|standard"},
  {"route", "auto "},
  {"route", "standar"},
  {"route", "standards"},
  {"route", "1"},
  {"route", "2step"},
  {"route", "3-"},
  {"effort", ""},
  {"effort", "patient"},
  {"choose_after", "never"},
  {"message_cap", ""},
  {"message_cap", "-1"},
  {"message_cap", "2 KiB"},
  {"message_cap", "2147483648"},
  {"message_cap", "0x10"},
  {"message_cap", "10 "},
  {"message_cap", "inf"},
  {"transport_on_node", "pigeon"},
  {"progress", "threads"},
  {"on_error", "aborts"},
  {"transport_off_node", "mpi"},
  {"p2p", "persist"},
  {"chunk", ""},
  {"chunk", "0"},
  {"chunk", "63"},
  {"chunk", "2147483648"},
  {"chunk", "1 GiB"},
  {"chunk", "auto"},
  {"chunk", "0x100"},
  {"chunk", "64 "},
  {"deterministic", "maybe"},
  {"order", "own"},
  {"deterministic", ""},
  {"check", "2"},
  {"check", "onn"},
  {"node_size", ""},
  {"node_size", "-1"},
  {"node_size", "2147483648"},
  {"node_size", "99999999999999999999"},
  {"node_size", "1.5"},
  {"node_size", "2 ranks"},
  {"node_size", "auto"},
  {"node_size", "0x10"},
  {"node_size", " 5"},
  {"node_size", "5 "},
  {"node_size", "nan"},
  {"node_size", "+5"},
  {"node_map", "0,x"},
  {"node_map", "-1,0"},
  {"node_map", "0;1"},
  {"node_map", "0, 1"},
  {"node_map", "0\n1"},
  {"node_map", "0x1,1"},
  {"node_map", "0,1 "},
  {"socket_size", "two"},
  {"socket_size", ""},
  {"socket_size", "0x2"},
  {"spin", "-1"},
  {"spin", "automatic"},
  {"spin", "1e3"},
  {"spin", ""},
  {"spin", "0x10"},
  {"spin", "10 "},
  {"spin", "inf"},
  {"timeout", ""},
  {"timeout", "-0.5"},
  {"timeout", "soon"},
  {"timeout", "5s"},
  {"timeout", "\n5"}, /* a newline would not come back from the text */
  {"timeout", "nan"},
  {"timeout", "inf"},
  {"timeout", "2e9"},
  {"timeout", "0x10"},
  {"timeout", "0x1p3"},
  {"timeout", "1e"},
  {"timeout", "1e400"},
  {"timeout", "infinity"},
  {"timeout", "5 "},
  {"timeout", " 5"},
  {"timeout", "+5"},
  {"timeout", "0,5"},
  {"log", "everything"},
  {"machine", ""},
  {"machine", "a\nb"},
  {"trace", "a\nb"},
  {"aggregator", ""},
  {"aggregator", "loggp"},
  {"aggregator", "4"},
  {"delta", ""},
  {"delta", "-1"},
  {"delta", "10us"},
  {"delta", "automatic"},
  {"laggard", "auto"},
  {"laggard", "-0.004"},
  {"laggard", "4ms"},
  {"min_message", "-1"},
  {"min_message", "4 KiB"},
  {"min_message", "2147483648"},
  {"max_messages", "auto"},
  {"max_messages", "1.5"},
  {"part_table", "a\nb"},
  {"wisdom", "a\nb"},
  {"transport_parts", "p2p"},
  {"transport_parts", ""},
  {"endpoints", "0"},
  {"endpoints", "17"},
  {"endpoints", "auto"},
  {"fabric", ""},
  {"fabric", "a\nb"},
  {"fabric_writes", "counter"},
  {"alarm", "on"},
  {"alarm", "calls"},
  {"profile", "2"},
  {"profile", ""},
  {"device", "gpu"},
  {"memory", "pinned"},
  {"copy_paths", "a\nb"},
  {"device_number", "-1"},
  {"emulated_devices", "many"},
  {"copy_staging", "64MB"},
};
enum { BADS = sizeof bads / sizeof *bads };

/* Options are seconds or an int; others, like machine and trace, are texts. */
static double field(const grove_options *o, size_t offset)
{
  const char *at = (const char *)o + offset;
  if (offset == FIELD(timeout_seconds) || offset == FIELD(delta_seconds) ||
      offset == FIELD(laggard_seconds))
    return *(const double *)(const void *)at;
  return *(const int *)(const void *)at;
}

static int option_number(const char *name)
{
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    const char *known = grove_option_describe(i).name;
    size_t c = 0;
    while (known[c] && known[c] == tolower((unsigned char)name[c])) c++;
    if (!known[c] && !name[c]) return i;
  }
  CHECK(0, "there is no option '%s'", name);
}

static void check_equal(const grove_options *a, const grove_options *b)
{
  for (int i = 0; i < GOODS; i++)
    CHECK(field(a, goods[i].offset) == field(b, goods[i].offset), "%s is %g, not %g", goods[i].name,
          field(a, goods[i].offset), field(b, goods[i].offset));
  CHECK(strcmp(a->machine, b->machine) == 0, "machine '%s', not '%s'", a->machine, b->machine);
  CHECK(strcmp(a->trace, b->trace) == 0, "trace '%s', not '%s'", a->trace, b->trace);
  CHECK(strcmp(a->part_table, b->part_table) == 0, "part_table '%s', not '%s'", a->part_table,
        b->part_table);
  CHECK(strcmp(a->fabric, b->fabric) == 0, "fabric '%s', not '%s'", a->fabric, b->fabric);
  CHECK(strcmp(a->wisdom, b->wisdom) == 0, "wisdom '%s', not '%s'", a->wisdom, b->wisdom);
  CHECK(strcmp(a->copy_paths, b->copy_paths) == 0, "copy_paths '%s', not '%s'", a->copy_paths,
        b->copy_paths);
  CHECK(strcmp(a->node_map, b->node_map) == 0, "node_map '%s', not '%s'", a->node_map, b->node_map);
  for (int i = 0; i < GROVE_OPTION_COUNT; i++)
    CHECK(strcmp(a->text[i], b->text[i]) == 0, "%s is '%s', not '%s'",
          grove_option_describe(i).name, a->text[i], b->text[i]);
}

static void descriptions(void)
{
  int covered[GROVE_OPTION_COUNT] = {0}, refused[GROVE_OPTION_COUNT] = {0};
  grove_options o;
  CHECK_OK(grove_options_create(&o));
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    grove_option_about about = grove_option_describe(i);
    CHECK(about.name && *about.name, "option %d has no name", i);
    CHECK(about.help && strlen(about.help) > 10, "%s has no help", about.name);
    CHECK(about.choices && *about.choices, "%s does not say what it takes", about.name);
    CHECK(strcmp(o.text[i], about.initial) == 0, "%s is '%s' at first", about.name, o.text[i]);
    for (const char *c = about.name; *c; c++)
      CHECK(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_', "'%s'",
            about.name);
  }
  CHECK(!grove_option_describe(-1).name && !grove_option_describe(GROVE_OPTION_COUNT).name,
        "there is an option outside the table");
  for (int i = 0; i < GOODS; i++) covered[option_number(goods[i].name)] = 1;
  for (int i = 0; i < BADS; i++) refused[option_number(bads[i][0])] = 1;
  covered[option_number("node_map")] = covered[option_number("machine")] = 1;
  covered[option_number("trace")] = covered[option_number("part_table")] = 1;
  covered[option_number("wisdom")] = covered[option_number("fabric")] = 1;
  covered[option_number("copy_paths")] = 1;
  for (int i = 0; i < GROVE_OPTION_COUNT; i++)
    CHECK(covered[i] && refused[i], "this test knows nothing of the option %s",
          grove_option_describe(i).name);
  grove_options_free(&o);
  grove_options_free(&o);
}

static void takes_good_values(void)
{
  grove_options o;
  CHECK_OK(grove_options_create(&o));
  for (int i = 0; i < GOODS; i++) {
    const good *g = &goods[i];
    CHECK_OK(grove_options_set(&o, g->name, g->value));
    CHECK(field(&o, g->offset) == g->number, "%s=%s became %g", g->name, g->value,
          field(&o, g->offset));
    CHECK(strcmp(o.text[option_number(g->name)], g->value) == 0, "%s=%s is shown as '%s'", g->name,
          g->value, o.text[option_number(g->name)]);
  }
  static const char *const maps[] = {"0,0,1,1", "7", "", "2147483647,0"};
  for (int i = 0; i < 4; i++) {
    CHECK_OK(grove_options_set(&o, "Node_Map", maps[i]));
    CHECK(strcmp(o.node_map, maps[i]) == 0, "the map '%s' became '%s'", maps[i], o.node_map);
  }
  static const char *const machines[] = {"lassen", "measure", "./a file.machine", "Auto"};
  for (int i = 0; i < 4; i++) {
    CHECK_OK(grove_options_set(&o, "machine", machines[i]));
    CHECK(strcmp(o.machine, machines[i]) == 0, "'%s' became '%s'", machines[i], o.machine);
  }
  static const char *const traces[] = {"trace.json", "", "./a folder/t"};
  for (int i = 0; i < 3; i++) {
    CHECK_OK(grove_options_set(&o, "trace", traces[i]));
    CHECK(strcmp(o.trace, traces[i]) == 0, "'%s' became '%s'", traces[i], o.trace);
    CHECK_OK(grove_options_set(&o, "part_table", traces[i]));
    CHECK(strcmp(o.part_table, traces[i]) == 0, "'%s' became '%s'", traces[i], o.part_table);
    CHECK_OK(grove_options_set(&o, "wisdom", traces[i]));
    CHECK(strcmp(o.wisdom, traces[i]) == 0, "'%s' became '%s'", traces[i], o.wisdom);
    CHECK_OK(grove_options_set(&o, "copy_paths", traces[i]));
    CHECK(strcmp(o.copy_paths, traces[i]) == 0, "'%s' became '%s'", traces[i], o.copy_paths);
  }
  grove_options_free(&o);
}

/* A refusal names option and value, and changes nothing. */
static void refuses_bad_values(void)
{
  grove_options o, before;
  CHECK_OK(grove_options_create(&o));
  CHECK_OK(grove_options_create(&before));
  for (int i = 0; i < GOODS; i++) {
    CHECK_OK(grove_options_set(&o, goods[i].name, goods[i].value));
    CHECK_OK(grove_options_set(&before, goods[i].name, goods[i].value));
  }
  CHECK_OK(grove_options_set(&o, "node_map", "3,1"));
  CHECK_OK(grove_options_set(&before, "node_map", "3,1"));
  for (int i = 0; i < BADS; i++) {
    const char *name = bads[i][0], *value = bads[i][1];
    grove_status status = grove_options_set(&o, name, value);
    CHECK(status == GROVE_ERR_OPTION, "%s='%s': %s", name, value, grove_status_name(status));
    CHECK(strstr(grove_last_error(), name) && strstr(grove_last_error(), value),
          "'%s' does not name %s and '%s'", grove_last_error(), name, value);
    check_equal(&o, &before);
  }
  static const char *const strangers[] = {"",       "routes",  "rout", "GROVE_CHECK",
                                          "check ", "node-map"};
  for (int i = 0; i < 6; i++) {
    CHECK_STATUS(grove_options_set(&o, strangers[i], "1"), GROVE_ERR_OPTION);
    CHECK(strstr(grove_last_error(), strangers[i]), "'%s' does not name '%s'", grove_last_error(),
          strangers[i]);
    check_equal(&o, &before);
  }
  grove_options_free(&o);
  grove_options_free(&before);
}

static void round_trip(const grove_options *o)
{
  char *text = NULL, *again = NULL;
  grove_options other;
  CHECK_OK(grove_options_create(&other));
  CHECK_OK(grove_options_write(o, &text));
  CHECK_OK(grove_options_read(&other, text));
  check_equal(&other, o);
  CHECK_OK(grove_options_write(&other, &again));
  CHECK(strcmp(text, again) == 0, "'%s' was written again as '%s'", text, again);
  grove_options_free(&other);
  free(text);
  free(again);
}

/* What one rank accepts, the others can read: also values that only look strange. */
static void round_trips(void)
{
  grove_options o;
  CHECK_OK(grove_options_create(&o));
  round_trip(&o);
  for (int i = 0; i < GOODS; i++) {
    CHECK_OK(grove_options_set(&o, goods[i].name, goods[i].value));
    round_trip(&o);
  }
  CHECK_OK(grove_options_set(&o, "node_map", "0,1,0,1"));
  round_trip(&o);
  CHECK_OK(grove_options_set(&o, "node_map", ""));
  round_trip(&o);
  static const char *const names[] = {"node_size", "socket_size", "chunk",
                                      "spin",      "timeout",     "check",
                                      "delta",     "min_message", "laggard"};
  static const char *const odd[] = {" 5", "+5", "005", "\t5", "\n5", "5\n", "0x5", "1\n2"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++)
      if (grove_options_set(&o, names[i], odd[k]) == GROVE_OK) round_trip(&o);
  grove_options_free(&o);
}

static void variable(const char *option, char name[64])
{
  snprintf(name, 64, "GROVE_%s", option);
  for (char *c = name; *c; c++) *c = (char)toupper((unsigned char)*c);
}

static void environment(void)
{
  char name[64];
  grove_options o, initial;
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    variable(grove_option_describe(i).name, name);
    unsetenv(name);
  }
  CHECK_OK(grove_options_create(&o));
  CHECK_OK(grove_options_create(&initial));
  setenv("GROVE_check", "on", 1);
  setenv("CHECK", "on", 1);
  CHECK_OK(grove_options_read_environment(&o));
  check_equal(&o, &initial);
  unsetenv("GROVE_check"); /* contexts take it for a slip */
  unsetenv("CHECK");
  for (int i = 0; i < GOODS; i++) {
    variable(goods[i].name, name);
    setenv(name, goods[i].value, 1);
    CHECK_OK(grove_options_read_environment(&o));
    CHECK(field(&o, goods[i].offset) == goods[i].number, "%s=%s became %g", name, goods[i].value,
          field(&o, goods[i].offset));
    unsetenv(name);
  }
  for (int i = 0; i < BADS; i++) {
    variable(bads[i][0], name);
    setenv(name, bads[i][1], 1);
    CHECK_STATUS(grove_options_read_environment(&o), GROVE_ERR_OPTION);
    unsetenv(name);
  }
  grove_options_free(&o);
  grove_options_free(&initial);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/options_parse");
  descriptions();
  takes_good_values();
  refuses_bad_values();
  environment();
  round_trips();
  return test_end();
}
