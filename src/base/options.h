/* Options: one table of name, default, help and parser. The environment of rank 0 (GROVE_<NAME>)
 * sets them when a context is created; grove_context_set changes them afterwards. Nothing else in
 * the library reads the environment.
 */
#ifndef GROVE_BASE_OPTIONS_H
#define GROVE_BASE_OPTIONS_H

#include "base/status.h"

/* The routes, each with its name in C (grove_route_NAME) and in the option `route`; standard first.
 * A new one is a file of src/route and a row here. */
#define GROVE_ROUTE_ROWS(ROW)                                                                      \
  ROW(standard, "standard")                                                                        \
  ROW(two_step, "2-step")                                                                          \
  ROW(three_step, "3-step")                                                                        \
  ROW(split, "split")

/* Values of the options that are a choice, in the order of the choices in the table. */
enum grove_option_route { GROVE_ROUTE_AUTO }; /* then the rows */
enum grove_option_effort { GROVE_EFFORT_ESTIMATE, GROVE_EFFORT_MEASURE };
enum grove_option_off_node {
  GROVE_OFF_NODE_AUTO,
  GROVE_OFF_NODE_P2P,
  GROVE_OFF_NODE_NEIGHBOR,
  GROVE_OFF_NODE_RMA,
  GROVE_OFF_NODE_OFI
};
enum grove_option_on_node { GROVE_ON_NODE_SHM, GROVE_ON_NODE_MPI };
enum grove_option_p2p { GROVE_P2P_PERSISTENT, GROVE_P2P_REPOSTED };
enum grove_option_order { GROVE_ORDER_RANKS, GROVE_ORDER_OWN_FIRST };
enum grove_option_progress { GROVE_PROGRESS_CALLS, GROVE_PROGRESS_THREAD };
enum grove_option_log { GROVE_LOG_OFF, GROVE_LOG_SUMMARY };
enum grove_option_on_error { GROVE_ON_ERROR_RETURN, GROVE_ON_ERROR_ABORT };

enum grove_option_aggregator {
  GROVE_AGGREGATOR_AUTO,
  GROVE_AGGREGATOR_NONE,
  GROVE_AGGREGATOR_TABLE,
  GROVE_AGGREGATOR_PLOGGP,
  GROVE_AGGREGATOR_TIMER,
  GROVE_AGGREGATOR_ADAPTIVE
};
enum grove_option_parts { GROVE_PARTS_AUTO, GROVE_PARTS_MPI, GROVE_PARTS_OFI, GROVE_PARTS_SHM };
enum grove_option_alarm { GROVE_ALARM_AUTO, GROVE_ALARM_OFF, GROVE_ALARM_THREAD };

enum grove_option_device {
  GROVE_DEVICE_AUTO,
  GROVE_DEVICE_CUDA,
  GROVE_DEVICE_EMULATED,
  GROVE_DEVICE_EMULATED_LAZY,
  GROVE_DEVICE_EMULATED_RANDOM,
  GROVE_DEVICE_NONE
};
enum grove_option_memory { GROVE_MEMORY_AUTO, GROVE_MEMORY_HOST, GROVE_MEMORY_DEVICE };

enum { GROVE_OPTION_COUNT = 40 };

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_options {
  int route;
  int effort;
  int choose_after; /* calls of _begin; 0: at once */
  char *wisdom;     /* "": none, else the file */
  int message_cap;  /* bytes; -1: the machine's rendezvous limit */
  int transport_on_node;
  int transport_off_node;
  char *fabric; /* of libfabric: "auto", or the name of a provider */
  int p2p;
  int chunk; /* bytes of the largest message that MPI is given */
  int deterministic;
  int order;
  int node_size;   /* 0: as found */
  char *node_map;  /* "": as found; owned, like all strings */
  int socket_size; /* 0: as found */
  int spin;        /* polls before yielding; -1: by the number of cores */
  int progress;
  char *machine; /* "auto", "measure", or a name or file */
  int check;
  double timeout_seconds; /* 0: wait for ever */
  int on_error;
  int log;
  char *trace; /* "": none, else the file it goes to */
  int aggregator;
  double delta_seconds;   /* -1: as the aggregator finds best */
  double laggard_seconds; /* how late ploggp expects the last part to be */
  int min_message;        /* bytes */
  int max_messages;       /* 0: no limit */
  char *part_table;       /* "": none, else the file */
  int transport_parts;
  int endpoints;     /* of libfabric */
  int fabric_writes; /* a grove_fabric_manner */
  int alarm;
  int profile;
  int device;
  int device_number;    /* -1: CUDA's current one, or by the rank */
  int emulated_devices; /* 0: one, or as tests have set it */
  int memory;
  char *copy_paths;               /* "": all */
  int copy_staging;               /* bytes */
  char *text[GROVE_OPTION_COUNT]; /* every value as it was given */
} grove_options;

/* What users may know of option i. The name is NULL past the last option. */
typedef struct grove_option_about {
  const char *name;
  const char *initial; /* the default, as text */
  const char *choices; /* "a|b" for a choice, else the kind of value */
  const char *help;
} grove_option_about;
grove_option_about grove_option_describe(int i);

/* Does this value of transport_off_node serve the routes that pass data on, too? */
static inline int grove_off_node_relays(int value)
{
  return value != GROVE_OFF_NODE_NEIGHBOR && value != GROVE_OFF_NODE_RMA;
}

/* All options at their defaults. */
grove_status grove_options_create(grove_options *out);
void grove_options_free(grove_options *options);

/* Sets one option by name, in any case. The sentence of GROVE_ERR_OPTION says what is allowed. */
grove_status grove_options_set(grove_options *options, const char *name, const char *value);

/* The value of an option as text, borrowed; the name and its refusal as above. */
grove_status grove_options_get(const grove_options *options, const char *name, const char **out);

/* Does this option change plans or messages? Those made before and after the change must then not
 * meet. */
int grove_options_recompiles(const char *name);

/* The folder of this user's profiles: $XDG_CACHE_HOME/grove, or .cache/grove in the home folder; ""
 * if the environment names neither. */
void grove_options_cache(char *out, size_t room);

/* Applies the environment. */
grove_status grove_options_read_environment(grove_options *options);

/* The option that a name of so many bytes, which is none's, is so close to that it was most likely
 * meant; -1: there is none. */
int grove_options_nearest(const char *name, size_t bytes);

/* GROVE_ERR_OPTION if a variable of the environment begins with GROVE_, is no option's, and is so
 * close to one that it was most likely meant: with that name. (stray.c) */
grove_status grove_options_check_environment(void);

/* The name of variable i of those that begin with GROVE_ and are no option's; NULL past the last. A
 * borrowed text of `bytes` bytes; behind it are '=' and the value. */
const char *grove_options_stray(int i, size_t *bytes);

/* Reads the timeout alone; an invalid one counts as none. */
void grove_options_read_timeout(grove_options *options);

/* What this rank's environment says of on_error; an invalid value counts as none. */
int grove_options_read_on_error(void);

/* All values as one text that another rank can read back. The caller frees it. */
grove_status grove_options_write(const grove_options *options, char **out);
grove_status grove_options_read(grove_options *options, const char *text);

#ifdef __cplusplus
}
#endif

#endif
