/* grove report, in several files. A *result* is one file of grove bench --json, read into a few
 * lists (read.c). The page (page.c) has one section per kind of picture, each in its own file. A
 * section has one card per result: a picture, and a table that says the same.
 *
 *     report r = {.title = "..."};
 *     if (report_read(path, &r.results[r.n++], why, sizeof why)) ...
 *     report_write(&r, file);
 */
#ifndef GROVE_TOOLS_REPORT_H
#define GROVE_TOOLS_REPORT_H

#include "model/price.h"
#include "json/json.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { REPORT_RESULTS = 20, REPORT_ENTRANTS = 64 };

typedef enum report_kind { REPORT_ROUTE, REPORT_AUTO, REPORT_VARIANT, REPORT_BASELINE } report_kind;

/* A way to exchange. Times that the file does not have are NaN. */
typedef struct report_entrant {
  report_kind kind;
  char name[96];
  int chosen; /* this is the route that auto took */
  int verified, priced;
  double seconds, low, high, predicted, setup;
  double term[GROVE_TERMS];
  double off_node_messages, off_node_bytes; /* NaN for a baseline */
} report_entrant;

/* One operation, by all its entrants. */
typedef struct report_field {
  const char *operation;
  const char *why; /* reasons of the choice, one per line; "": not in the file */
  int n;
  report_entrant entrants[REPORT_ENTRANTS];
} report_field;

typedef struct report_flow {
  int from, to;
  double messages, bytes;
} report_flow;

typedef struct report_flows {
  int members; /* number of ranks or nodes */
  int count;
  report_flow *flow;
  const int *node; /* of each rank; NULL for flows between nodes */
} report_flows;

typedef struct report_result {
  char label[64]; /* the file's name, without folder and ending */
  json_document document;
  const json_value *root, *profile; /* profile: NULL if the file has none */
  int ranks, nodes, verified;
  int nfields;
  report_field fields[2];
  report_flows by_rank, by_node; /* no members: not in the file */
  int *node;
} report_result;

typedef struct report {
  const char *title;
  int n;
  report_result *results;
} report;

/* Reads one file. On failure 1 and a sentence; the caller still frees the result. */
int report_read(const char *path, report_result *out, char *why, size_t room);
void report_result_free(report_result *r);

/* All operations, those of one kind side by side: bcast of every result, then reduce. `at` counts
 * from 0; NULL after the last. */
const report_field *report_field_at(const report *r, int at, const report_result **of);

/* The entrants that the choice is compared with; NULL where a result has none. */
const report_entrant *report_find(const report_field *f, report_kind kind, const char *name);
const report_entrant *report_best_baseline(const report_field *f);

/* Whether the choice is the standard route: then these two are one plan, measured twice, and their
 * ratio says how much measurements vary. */
int report_same_plan(const report_field *f);

/* What people call the machine that a result was measured on: its profile's name, or its processor
 * where that name is only "measured". */
const char *report_machine_name(const report_result *r);

/* Writes the page; prints a table of each operation for the terminal. */
void report_write(const report *r, FILE *file);
void report_print(const report *r);
void report_print_json(const report *r, const char *page);

/* ---- the sections, in the order of the page ---- */
void report_savings(const report *r, FILE *file);
void report_times(const report *r, FILE *file);
void report_price(const report *r, FILE *file);
void report_traffic(const report *r, FILE *file);
void report_fits(const report *r, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
