#include "base/options.h"

#include "base/number.h"
#include "base/slips.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct option option;
typedef grove_status parser(const option *about, const char *value, void *field);

struct option {
  const char *name;
  const char *initial;
  const char *choices;
  const char *help;
  parser *parse;
  size_t offset;
  int recompiles; /* plans, messages or prices look different with another value */
};

static grove_status refuse_value(const option *about, const char *value)
{
  return grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__, "option %s: '%.200s' is not %s",
                     about->name, value, about->choices);
}

static grove_status parse_choice(const option *about, const char *value, void *field)
{
  int choice = 0;
  for (const char *at = about->choices;; choice++) {
    size_t length = strcspn(at, "|");
    if (strlen(value) == length && strncasecmp(at, value, length) == 0) break;
    if (at[length] == '\0') return refuse_value(about, value);
    at += length + 1;
  }
  *(int *)field = choice;
  return GROVE_OK;
}

static grove_status parse_switch(const option *about, const char *value, void *field)
{
  static const char *const words[] = {"off", "on", "0", "1", "no", "yes", "false", "true"};
  for (int i = 0; i < (int)(sizeof words / sizeof *words); i++)
    if (strcasecmp(words[i], value) == 0) {
      *(int *)field = i % 2;
      return GROVE_OK;
    }
  return refuse_value(about, value);
}

static grove_status parse_count(const option *about, const char *value, void *field)
{
  char *end = NULL;
  errno = 0;
  long number = strtol(value, &end, 10);
  if (!isdigit((unsigned char)*value) || *end || errno || number > INT_MAX)
    return refuse_value(about, value);
  *(int *)field = (int)number;
  return GROVE_OK;
}

/* The minimum is enough for what set-up sends beside the data, and small enough for tests. */
static grove_status parse_chunk(const option *about, const char *value, void *field)
{
  enum { LEAST = 64 };
  int bytes = 0;
  grove_status status = parse_count(about, value, &bytes);
  if (status != GROVE_OK) return status;
  if (bytes < LEAST) return refuse_value(about, value);
  *(int *)field = bytes;
  return GROVE_OK;
}

static grove_status parse_endpoints(const option *about, const char *value, void *field)
{
  enum { MOST = 16 };
  int n = 0;
  grove_status status = parse_count(about, value, &n);
  if (status != GROVE_OK) return status;
  if (n < 1 || n > MOST) return refuse_value(about, value);
  *(int *)field = n;
  return GROVE_OK;
}

static grove_status parse_count_or_auto(const option *about, const char *value, void *field)
{
  if (strcasecmp(value, "auto") != 0) return parse_count(about, value, field);
  *(int *)field = -1;
  return GROVE_OK;
}

/* A decimal number: strtod alone would take hexadecimal ones. */
static grove_status parse_seconds(const option *about, const char *value, void *field)
{
  double number = 0;
  if (!isdigit((unsigned char)*value) || grove_number_read(value, &number) || number > 1e9)
    return refuse_value(about, value);
  *(double *)field = number;
  return GROVE_OK;
}

static grove_status parse_seconds_or_auto(const option *about, const char *value, void *field)
{
  if (strcasecmp(value, "auto") != 0) return parse_seconds(about, value, field);
  *(double *)field = -1;
  return GROVE_OK;
}

static grove_status parse_text_or_none(const option *about, const char *value, void *field)
{
  if (strchr(value, '\n')) return refuse_value(about, value);
  char *copy = strdup(value);
  if (!copy) return grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for an option");
  free(*(char **)field);
  *(char **)field = copy;
  return GROVE_OK;
}

static grove_status parse_text(const option *about, const char *value, void *field)
{
  return *value ? parse_text_or_none(about, value, field) : refuse_value(about, value);
}

/* Digits and commas. The numbers are checked where the number of ranks is known. */
static grove_status parse_list(const option *about, const char *value, void *field)
{
  if (value[strspn(value, "0123456789,")] != '\0') return refuse_value(about, value);
  return parse_text_or_none(about, value, field);
}

#define FIELD(name) offsetof(grove_options, name)

#define OR_ROUTE(name, word) "|" word

static const option table[GROVE_OPTION_COUNT] = {
  {"route", "auto", "auto" GROVE_ROUTE_ROWS(OR_ROUTE),
   "how a forest is compiled into messages (auto: by the model's prices)", parse_choice,
   FIELD(route), 1},
  {"effort", "estimate", "estimate|measure",
   "how a route is chosen: by the model, or by trying its best two in the first starts",
   parse_choice, FIELD(effort), 1},
  {"choose_after", "0", "a number of calls",
   "so many _begin of a kind take the standard route, and nobody asks for prices; the next one is "
   "collective again, and chooses (0: the first one does)",
   parse_count, FIELD(choose_after), 1},
  {"wisdom", "", "a file name",
   "a file that keeps which route was the faster one when effort=measure tried two; later runs "
   "read it",
   parse_text_or_none, FIELD(wisdom), 1},
  {"message_cap", "auto", "a number of bytes, or auto",
   "route split: size of messages between nodes (auto: where the machine turns to rendezvous)",
   parse_count_or_auto, FIELD(message_cap), 1},
  {"transport_on_node", "shm", "shm|mpi", "what carries data inside a node: memory or messages",
   parse_choice, FIELD(transport_on_node), 1},
  {"transport_off_node", "p2p", "auto|p2p|neighbor|rma|ofi",
   "what carries messages between nodes: MPI, or libfabric (ofi). neighbor and rma: with the "
   "standard route only. auto: p2p, or ofi where the profile has its prices and they are lower",
   parse_choice, FIELD(transport_off_node), 1},
  {"fabric", "auto", "auto, or a provider like tcp;ofi_rxm",
   "which of libfabric's providers serves this context, from when one is first needed; 'grove "
   "fabric' lists them",
   parse_text, FIELD(fabric), 1},
  {"p2p", "persistent", "persistent|reposted",
   "requests of MPI: made once and restarted, or posted anew at every start", parse_choice,
   FIELD(p2p), 1},
  {"chunk", "1073741824", "a number of bytes, from 64 to 2147483647",
   "the largest message that MPI is given; what is longer goes in several", parse_chunk,
   FIELD(chunk), 1},
  {"deterministic", "off", "off|on",
   "on: floating-point sums have the same bits on every route and transport", parse_switch,
   FIELD(deterministic), 1},
  {"order", "ranks", "ranks|own-first",
   "in which order a reduce or fetch combines leaves with their root: by their ranks, or first "
   "those of the root's own rank, as MPI codes and PETSc do",
   parse_choice, FIELD(order), 1},
  {"node_size", "0", "a number of ranks",
   "every N consecutive ranks count as one node (0: as found)", parse_count, FIELD(node_size), 1},
  {"node_map", "", "a list like 0,0,1,1", "a node number for every rank, separated by commas",
   parse_list, FIELD(node_map), 1},
  {"socket_size", "0", "a number of ranks",
   "every N consecutive ranks of a node count as one socket (0: as found)", parse_count,
   FIELD(socket_size), 1},
  {"spin", "auto", "a number of polls, or auto",
   "how often a waiting rank looks before it yields its core (auto: 1000 if every rank has a core, "
   "else 10)",
   parse_count_or_auto, FIELD(spin), 0},
  {"progress", "calls", "calls|thread",
   "what advances operations: calls of the library, or also a thread (with MPI_THREAD_MULTIPLE)",
   parse_choice, FIELD(progress), 0},
  {"machine", "auto", "auto, measure, a name or a file",
   "the profile of the machine that predictions use (auto: this machine's, else one of its kind)",
   parse_text, FIELD(machine), 1},
  {"check", "off", "off|on",
   "finds mistakes, slowly: arrays that overlap or are used before the wait, damaged messages",
   parse_switch, FIELD(check), 1},
  {"timeout", "0", "a number of seconds",
   "a wait that takes longer returns, and names what is missing (0: it never does)", parse_seconds,
   FIELD(timeout_seconds), 0},
  {"on_error", "return", "return|abort",
   "what a call does that fails: return its status, or print its sentence and end the job",
   parse_choice, FIELD(on_error), 0},
  {"log", "off", "off|summary",
   "summary: a table of forests, operations, bytes and times when the context is freed",
   parse_choice, FIELD(log), 0},
  {"trace", "", "a file name",
   "a file for a timeline viewer, written when the context is freed: what ran when on every rank",
   parse_text_or_none, FIELD(trace), 0},
  {"aggregator", "auto", "auto|none|table|ploggp|timer|adaptive",
   "which parts of a channel, or of an operation started by parts, travel together. none: each "
   "alone; table: as the file of part_table says; ploggp (and auto): as the model finds fastest; "
   "timer: also what is ready after delta; adaptive: as earlier rounds suggest",
   parse_choice, FIELD(aggregator), 0},
  {"delta", "auto", "a number of seconds, or auto",
   "aggregators timer and adaptive: how long ready parts wait for others", parse_seconds_or_auto,
   FIELD(delta_seconds), 0},
  {"laggard", "0.004", "a number of seconds",
   "aggregator ploggp: how late the last part is assumed to be", parse_seconds,
   FIELD(laggard_seconds), 0},
  {"min_message", "0", "a number of bytes",
   "parts that travel together have at least as many bytes", parse_count, FIELD(min_message), 0},
  {"max_messages", "0", "a number of messages",
   "into how many messages a round of a channel may be cut at most, or one message of an operation "
   "started by parts (0: any number)",
   parse_count, FIELD(max_messages), 0},
  {"part_table", "", "a file name",
   "aggregator table: the file, as 'grove aggregate --try' writes it", parse_text_or_none,
   FIELD(part_table), 0},
  {"transport_parts", "auto", "auto|mpi|ofi|shm",
   "what carries channels: messages of MPI, libfabric (ofi), or memory (auto: memory inside a "
   "node, else messages, or libfabric where the profile has its prices and they are lower)",
   parse_choice, FIELD(transport_parts), 0},
  {"endpoints", "1", "a number from 1 to 16",
   "how many endpoints of libfabric a process opens; the groups of a channel take turns on them",
   parse_endpoints, FIELD(endpoints), 0},
  {"fabric_writes", "auto", "auto|data|note|message",
   "how libfabric's writes are announced: by data that they bring along, by a message after each, "
   "or all bytes in messages (auto: the first that the provider has)",
   parse_choice, FIELD(fabric_writes), 0},
  {"alarm", "auto", "auto|off|thread",
   "whether a thread keeps the deadlines of channels and advances long messages by parts; it needs "
   "MPI_THREAD_MULTIPLE (auto: where that is given, and something needs the thread)",
   parse_choice, FIELD(alarm), 0},
  {"profile", "off", "off|on", "on: record when each part of a channel was ready, sent and arrived",
   parse_switch, FIELD(profile), 0},
  {"device", "auto", "auto|cuda|emulated|emulated-lazy|emulated-random|none",
   "the kind of device in whose memory arrays may lie. auto: CUDA, if the program uses it; "
   "emulated: a device without hardware, for tests. It works at once; with -lazy as late as it "
   "may; with -random at random times",
   parse_choice, FIELD(device), 0},
  {"device_number", "auto", "a number of a device, or auto",
   "which device this rank has (auto: the current one of CUDA, else by the rank's number on its "
   "host)",
   parse_count_or_auto, FIELD(device_number), 0},
  {"emulated_devices", "0", "a number of devices", "device=emulated: so many, up to 8 (0: one)",
   parse_count, FIELD(emulated_devices), 0},
  {"memory", "auto", "auto|host|device",
   "where all arrays lie (auto: the driver is asked about each)", parse_choice, FIELD(memory), 0},
  {"copy_paths", "", "a list like direct,gpu2,host",
   "copies from GPU to GPU: the paths that they may take (empty: all)", parse_text_or_none,
   FIELD(copy_paths), 0},
  {"copy_staging", "67108864", "a number of bytes",
   "copies from GPU to GPU: how much staging memory they may use, on each device and on the host",
   parse_count, FIELD(copy_staging), 0},
};

grove_option_about grove_option_describe(int i)
{
  grove_option_about about = {0};
  if (i >= 0 && i < GROVE_OPTION_COUNT) {
    const option *o = &table[i];
    about = (grove_option_about){o->name, o->initial, o->choices, o->help};
  }
  return about;
}

static grove_status set_value(grove_options *options, int i, const char *value)
{
  grove_status status = GROVE_OK;
  char *copy = strdup(value);
  GROVE_CHECK(copy, GROVE_ERR_MEMORY, "no memory for option %s", table[i].name);
  GROVE_TRY(table[i].parse(&table[i], value, (char *)options + table[i].offset));
  free(options->text[i]);
  options->text[i] = copy;
  return GROVE_OK;
fail:
  free(copy);
  return status;
}

grove_status grove_options_create(grove_options *out)
{
  grove_status status = GROVE_OK;
  *out = (grove_options){0};
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) GROVE_TRY(set_value(out, i, table[i].initial));
  return GROVE_OK;
fail:
  grove_options_free(out);
  return status;
}

void grove_options_free(grove_options *options)
{
  free(options->node_map);
  free(options->machine);
  free(options->wisdom);
  free(options->fabric);
  free(options->trace);
  free(options->part_table);
  free(options->copy_paths);
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) free(options->text[i]);
  *options = (grove_options){0};
}

/* The option's place in the table, or -1. */
static int find_option(const char *name)
{
  for (int i = 0; i < GROVE_OPTION_COUNT; i++)
    if (strcasecmp(table[i].name, name) == 0) return i;
  return -1;
}

int grove_options_nearest(const char *name, size_t bytes)
{
  int found = -1, least = 0;
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    int slips = grove_slips(name, bytes, table[i].name, strlen(table[i].name));
    if (slips < 0 || (found >= 0 && slips >= least)) continue;
    least = slips;
    found = i;
  }
  return found;
}

static grove_status refuse_name(const char *name)
{
  int meant = grove_options_nearest(name, strlen(name));
  if (meant < 0)
    return grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__,
                       "there is no option '%.100s'; 'grove options' lists them", name);
  return grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__,
                     "there is no option '%.100s': is '%s' meant? 'grove options' lists them", name,
                     table[meant].name);
}

grove_status grove_options_set(grove_options *options, const char *name, const char *value)
{
  int i = find_option(name);
  return i >= 0 ? set_value(options, i, value) : refuse_name(name);
}

grove_status grove_options_get(const grove_options *options, const char *name, const char **out)
{
  int i = find_option(name);
  if (i < 0) return refuse_name(name);
  *out = options->text[i];
  return GROVE_OK;
}

int grove_options_recompiles(const char *name)
{
  int i = find_option(name);
  return i >= 0 && table[i].recompiles;
}

void grove_options_cache(char *out, size_t room)
{
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (cache && *cache)
    snprintf(out, room, "%s/grove", cache);
  else if (home && *home)
    snprintf(out, room, "%s/.cache/grove", home);
  else
    *out = '\0';
}

/* What the environment says of option i, or NULL. */
static const char *in_environment(int i)
{
  char name[64] = "GROVE_";
  for (size_t c = 0; table[i].name[c]; c++)
    name[6 + c] = (char)toupper((unsigned char)table[i].name[c]);
  return getenv(name);
}

grove_status grove_options_read_environment(grove_options *options)
{
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    const char *value = in_environment(i);
    if (value) GROVE_PASS(set_value(options, i, value));
  }
  return GROVE_OK;
}

/* Reads one option alone into its field; an invalid value counts as none. */
static void read_alone(const char *name, void *field)
{
  int i = find_option(name);
  const char *value = in_environment(i);
  grove_sentence before;
  grove_error_keep(&before);
  if (value && table[i].parse(&table[i], value, field) != GROVE_OK) grove_error_restore(&before);
}

void grove_options_read_timeout(grove_options *options)
{
  read_alone("timeout", &options->timeout_seconds);
}

int grove_options_read_on_error(void)
{
  int on_error = GROVE_ON_ERROR_RETURN;
  read_alone("on_error", &on_error);
  return on_error;
}

grove_status grove_options_write(const grove_options *options, char **out)
{
  size_t bytes = 1;
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) bytes += strlen(options->text[i]) + 1;
  char *text = NULL;
  GROVE_PASS_NEW(text, bytes);
  char *at = text;
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) at += sprintf(at, "%s\n", options->text[i]);
  *out = text;
  return GROVE_OK;
}

grove_status grove_options_read(grove_options *options, const char *text)
{
  grove_status status = GROVE_OK;
  char *copy = strdup(text), *at = copy;
  GROVE_CHECK(copy, GROVE_ERR_MEMORY, "no memory for the options");
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    size_t length = strcspn(at, "\n");
    at[length] = '\0';
    GROVE_TRY(set_value(options, i, at));
    at += length + 1;
  }
fail:
  free(copy);
  return status;
}
