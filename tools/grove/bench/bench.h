/* grove bench in parts. A *task* is what is exchanged: edges and their direction. An *entrant* is
 * one way to do it: Grove on a route, or MPI by hand. All entrants of a task work on the same array
 * and are timed in the same rounds (rounds.c).
 *
 *     bench_field field = {.task = {&edges, reduce}};
 *     GROVE_TRY(bench_enter_routes(b, &field));
 *     GROVE_TRY(bench_measure(b, &field));       fills every entrant's result
 *     bench_field_free(&field);
 */
#ifndef GROVE_TOOLS_BENCH_H
#define GROVE_TOOLS_BENCH_H

#include "grove/bench/pattern.h"

#include "base/status.h"
#include "model/price.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_VARIANTS = 8, BENCH_ENTRANTS = 20, BENCH_MOST_ROUNDS = 1000 };

typedef struct bench_settings {
  const char *pattern, *machine;
  const char *only;      /* one route, or "auto"; NULL: all */
  const char *partition; /* of a matrix: "contiguous" or "metis" */
  const char *variants[BENCH_VARIANTS];
  int nvariants;
  int matrix;  /* the pattern is a file, and its size is its number of rows */
  int by_rows; /* the pattern of a matrix whose rows `partition` divides */
  int64_t size, unit_bytes, batch, rounds, seed;
  int reduce, parts, off_node, json, progress;
} bench_settings;

/* Shared state of a run. */
typedef struct bench {
  bench_settings set;
  MPI_Comm comm;
  int rank, size, nnodes;
  grove_context *ctx;
  MPI_Datatype unit;
  int64_t width; /* doubles in a unit */
  double *array; /* roots, then ghosts */
} bench;

typedef struct bench_task {
  const pattern *edges;
  int reduce; /* from the leaves to the roots, summed there */
} bench_task;

typedef struct bench_result {
  int served;       /* 0: the route is not available here */
  int verified;     /* every value on every rank, after the timing */
  double seconds;   /* median over the rounds of the slowest rank's time of one exchange */
  double low, high; /* 95 % interval of that median */
  double setup_seconds;
  /* of Grove's: */
  double predicted_seconds;
  double term[GROVE_TERMS];                                                  /* its terms */
  double on_node_messages, on_node_bytes, off_node_messages, off_node_bytes; /* over all ranks */
  char route[32], transport[32], machine[64];
  char why[600]; /* of the automatic choice, on rank 0: its reasons, one per line */
} bench_result;

typedef struct bench_entrant bench_entrant;

/* A way to exchange. `open` is collective, with the same status on every rank. */
typedef struct bench_method {
  grove_status (*open)(bench_entrant *e);
  grove_status (*run)(bench_entrant *e);                       /* one exchange */
  void (*close)(bench_entrant *e);                             /* also if half open */
  grove_status (*report)(bench_entrant *e, grove_report *out); /* NULL: none */
} bench_method;

typedef enum bench_role { BENCH_ROUTE, BENCH_AUTO, BENCH_VARIANT, BENCH_BASELINE } bench_role;

struct bench_entrant {
  const bench *b;
  const bench_task *task;
  const bench_method *method;
  bench_role role;
  const char *name; /* the value of the option route, or the baseline's name */
  const char *options;
  grove_context *ctx; /* a variant's own */
  void *state;
  bench_result result;
};

typedef struct bench_field {
  bench_task task;
  int n;
  bench_entrant entrants[BENCH_ENTRANTS];
} bench_field;

/* Ends the job with the library's last sentence unless `status` is success. */
void bench_must(const bench *b, grove_status status);

/* ---- entrants ---- */

/* A context with the settings and further options: "name=value,name=value" or NULL. */
grove_status bench_context(const bench *b, const char *options, grove_context **out);

/* Appends the requested routes, auto and variants (routes.c). */
grove_status bench_enter_routes(const bench *b, bench_field *field);
/* Finds the reasons of the automatic choice. Collective. */
grove_status bench_explain(bench_entrant *e);
/* Why standard is the only route here, as the end of a sentence; NULL: others can help. Then only
 * standard and auto are entered, unless a route is requested. */
const char *bench_alone(const bench *b);
/* Appends one route: the requested one, or standard. */
void bench_enter_one(const bench *b, bench_field *field);
/* Appends MPI by hand, and other libraries (baselines.c). */
void bench_enter_baselines(const bench *b, bench_field *field);
void bench_field_free(bench_field *field);

/* Appends one entrant; the caller makes sure there is room. */
bench_entrant *bench_enter(const bench *b, bench_field *field, const bench_method *method,
                           bench_role role, const char *name);

/* PETSc's star forest, in builds that have it (petsc.c); NULL in others. */
extern const bench_method *const bench_petsc;
/* To be called before MPI ends. */
void bench_petsc_finish(void);

/* ---- rounds ---- */

/* Sets every entrant up, times them in rounds, verifies them, and closes them. Collective, the same
 * status on every rank. */
grove_status bench_measure(const bench *b, bench_field *field);

/* Waits for all requests, and yields where ranks outnumber cores. */
void bench_wait_all(int n, MPI_Request *requests);

/* ---- values ---- */

/* Sets the values before an exchange. */
void bench_fill(const bench *b, const bench_task *task);
/* Reads what was received and rewrites what is sent, as programs do between two exchanges. */
void bench_use(const bench *b, const bench_task *task);
/* How many values of this rank are wrong afterwards. Collective. */
int64_t bench_wrong(const bench *b, const bench_task *task);

/* Bytes that must leave the nodes if a node gets, or gives, each root's value once. Counted from
 * the edges, not by Grove. Collective. */
double bench_deduplicated_bytes(const bench *b, const pattern *edges);

/* ---- traffic ---- */

/* What one rank or node sends to another in an exchange on the standard route. */
typedef struct bench_flow {
  int from, to;
  int64_t messages, bytes;
} bench_flow;

typedef struct bench_traffic {
  int count;
  bench_flow *flows;
  int *node; /* of each rank; NULL where the flows are between nodes */
} bench_traffic;

/* The flows from roots to leaves, on rank 0; the others get none. Collective. */
void bench_traffic_collect(const bench *b, const pattern *edges, bench_traffic *out);
/* The same by node: traffic inside a node goes from the node to itself. */
void bench_traffic_of_nodes(const bench_traffic *ranks, bench_traffic *out);
void bench_traffic_free(bench_traffic *t);

/* ---- output ---- */

/* The results: all edges there and back, then the requested parts. */
typedef struct bench_row {
  const char *edges; /* "all", "on node", "off node" */
  bench_result bcast, reduce;
} bench_row;

typedef struct bench_results {
  const bench_field *bcast, *reduce; /* reduce: NULL if not requested */
  int nrows;
  bench_row rows[3];
  double deduplicated_bytes;
  bench_traffic traffic;
} bench_results;

void bench_print_tables(const bench *b, const bench_results *r);
void bench_print_json(const bench *b, const bench_results *r);
/* With the time and place of the run, and the complete machine of this name (place.c). */
void bench_print_json_place(const bench *b, const char *machine);

#ifdef __cplusplus
}
#endif

#endif
