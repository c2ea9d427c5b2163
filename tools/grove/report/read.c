/* Reads a file of grove bench --json into a result. Fields missing in older files are left out;
 * inconsistent files are refused.
 */
#include "grove/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- entrants ---- */

static void read_terms(const json_value *price, report_entrant *e)
{
  e->priced = price && price->type == JSON_IS_OBJECT;
  for (int t = 0; t < GROVE_TERMS && e->priced; t++) {
    double seconds = json_number_of(price, grove_term_names[t], 0);
    e->term[t] = isfinite(seconds) && seconds > 0 ? seconds : 0;
  }
}

/* A time that can be drawn, or NaN. */
static double time_of(const json_value *v, const char *key)
{
  double seconds = json_number_of(v, key, NAN);
  return isfinite(seconds) && seconds >= 0 ? seconds : NAN;
}

static void name_entrant(const json_value *v, report_kind kind, report_entrant *e)
{
  const char *options = json_text_of(v, "options", NULL);
  const char *name = json_text_of(v, kind == REPORT_BASELINE ? "name" : "route", "?");
  snprintf(e->name, sizeof e->name, kind == REPORT_AUTO ? "auto (%.40s)%s%.40s" : "%.40s%s%.40s",
           name, options ? ", " : "", options ? options : "");
}

static void read_entrant(const json_value *v, report_kind kind, report_field *f)
{
  if (!v || v->type != JSON_IS_OBJECT || f->n == REPORT_ENTRANTS) return;
  report_entrant *e = &f->entrants[f->n++];
  *e = (report_entrant){.kind = kind, .verified = json_is_true(v, "verified")};
  name_entrant(v, kind, e);
  e->seconds = time_of(v, "median_seconds");
  e->low = time_of(v, "low_seconds");
  e->high = time_of(v, "high_seconds");
  e->predicted = time_of(v, "predicted_seconds");
  e->setup = time_of(v, "setup_seconds");
  e->off_node_messages = json_number_of(v, "off_node_messages", NAN);
  e->off_node_bytes = json_number_of(v, "off_node_bytes", NAN);
  read_terms(json_member(v, "price"), e);
}

static void read_list(const json_value *list, report_kind kind, report_field *f)
{
  if (!list || list->type != JSON_IS_LIST) return;
  for (const json_value *v = list->first; v; v = v->next) read_entrant(v, kind, f);
}

/* 1: no entrant has a time. */
static int read_field(const json_value *v, report_field *f)
{
  const json_value *choice = json_member(v, "auto");
  *f = (report_field){.operation = json_text_of(v, "operation", "bcast"),
                      .why = json_text_of(v, "why", "")};
  read_list(json_member(v, "routes"), REPORT_ROUTE, f);
  read_entrant(choice, REPORT_AUTO, f);
  read_list(json_member(v, "variants"), REPORT_VARIANT, f);
  read_list(json_member(v, "baselines"), REPORT_BASELINE, f);
  int timed = 0;
  for (int i = 0; i < f->n; i++) {
    report_entrant *e = &f->entrants[i];
    timed += !isnan(e->seconds);
    e->chosen = e->kind == REPORT_ROUTE && strcmp(e->name, json_text_of(choice, "route", "")) == 0;
  }
  return timed == 0;
}

const report_field *report_field_at(const report *r, int at, const report_result **of)
{
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < r->n; k++) {
      if (i >= r->results[k].nfields || at-- > 0) continue;
      *of = &r->results[k];
      return &r->results[k].fields[i];
    }
  return NULL;
}

const report_entrant *report_find(const report_field *f, report_kind kind, const char *name)
{
  for (int i = 0; i < f->n; i++) {
    const report_entrant *e = &f->entrants[i];
    if (e->kind == kind && !isnan(e->seconds) && (!name || strcmp(e->name, name) == 0)) return e;
  }
  return NULL;
}

const report_entrant *report_best_baseline(const report_field *f)
{
  const report_entrant *best = NULL;
  for (int i = 0; i < f->n; i++) {
    const report_entrant *e = &f->entrants[i];
    if (e->kind == REPORT_BASELINE && !isnan(e->seconds) && (!best || e->seconds < best->seconds))
      best = e;
  }
  return best;
}

int report_same_plan(const report_field *f)
{
  const report_entrant *standard = report_find(f, REPORT_ROUTE, "standard");
  return standard && standard->chosen && report_find(f, REPORT_AUTO, NULL);
}

const char *report_machine_name(const report_result *r)
{
  const char *name = json_text_of(r->root, "machine", json_text_of(r->profile, "name", ""));
  const char *processor = json_text_of(r->root, "processor", "");
  if (*name && strcmp(name, "measured") != 0) return name;
  return *processor ? processor : *name ? name : r->label;
}

/* ---- traffic ---- */

/* A whole number below `end`, or -1. */
static int number_below(const json_value *v, int end)
{
  if (!v || v->type != JSON_IS_NUMBER || !(v->number >= 0 && v->number < end)) return -1;
  return v->number == floor(v->number) ? (int)v->number : -1;
}

/* [from, to, messages, bytes] */
static int read_flow(const json_value *v, int members, report_flow *out)
{
  if (v->type != JSON_IS_LIST || v->count != 4) return 1;
  const json_value *to = v->first->next, *messages = to->next, *bytes = messages->next;
  *out = (report_flow){number_below(v->first, members), number_below(to, members), messages->number,
                       bytes->number};
  return out->from < 0 || out->to < 0 || !isfinite(out->messages) || !isfinite(out->bytes) ||
         out->messages < 0 || out->bytes < 0;
}

static int read_flows(const json_value *list, int members, report_flows *out)
{
  if (!list || list->type != JSON_IS_LIST) return 1;
  out->flow = malloc(((size_t)list->count + 1) * sizeof *out->flow);
  if (!out->flow) return 1;
  for (const json_value *v = list->first; v; v = v->next)
    if (read_flow(v, members, &out->flow[out->count++])) return 1;
  out->members = members;
  return 0;
}

/* 1: inconsistent with the ranks and nodes. */
static int read_traffic(const json_value *v, report_result *out)
{
  const json_value *nodes = json_member(v, "node_of_rank");
  if (!v) return 0;
  if (!nodes || nodes->type != JSON_IS_LIST || nodes->count != out->ranks) return 1;
  out->node = malloc((size_t)out->ranks * sizeof *out->node);
  if (!out->node) return 1;
  int r = 0;
  for (const json_value *n = nodes->first; n; n = n->next) {
    out->node[r] = number_below(n, out->nodes);
    if (out->node[r++] < 0) return 1;
  }
  if (read_flows(json_member(v, "by_rank"), out->ranks, &out->by_rank)) return 1;
  out->by_rank.node = out->node;
  return read_flows(json_member(v, "by_node"), out->nodes, &out->by_node);
}

/* ---- the whole file ---- */

static void name_result(const char *path, char *out, size_t room)
{
  const char *slash = strrchr(path, '/');
  snprintf(out, room, "%s", slash ? slash + 1 : path);
  char *dot = strrchr(out, '.');
  if (dot && dot > out) *dot = '\0';
}

static int all_verified(const report_result *r)
{
  for (int k = 0; k < r->nfields; k++)
    for (int i = 0; i < r->fields[k].n; i++)
      if (!r->fields[k].entrants[i].verified) return 0;
  return 1;
}

/* NULL, or what is wrong. */
static const char *take_apart(report_result *r)
{
  const json_value *back = json_member(r->root, "reduce");
  r->ranks = number_below(json_member(r->root, "ranks"), INT32_MAX);
  r->nodes = number_below(json_member(r->root, "nodes"), INT32_MAX);
  if (!json_member(r->root, "routes") || r->ranks < 1 || r->nodes < 1 || r->nodes > r->ranks)
    return "this is no result of grove bench --json";
  if (read_field(r->root, &r->fields[r->nfields++])) return "no entrant has a time in it";
  if (back && read_field(back, &r->fields[r->nfields++])) return "its reduce has no times";
  if (read_traffic(json_member(r->root, "traffic"), r))
    return "its traffic does not fit its ranks and nodes";
  r->profile = json_member(r->root, "profile");
  if (r->profile && r->profile->type != JSON_IS_OBJECT) r->profile = NULL;
  r->verified = all_verified(r);
  return NULL;
}

int report_read(const char *path, report_result *out, char *why, size_t room)
{
  json_error error;
  *out = (report_result){0};
  name_result(path, out->label, sizeof out->label);
  if (json_open(path, &out->document, &error)) {
    snprintf(why, room, "%s", error.sentence);
    return 1;
  }
  out->root = out->document.root;
  const char *wrong = take_apart(out);
  if (wrong) snprintf(why, room, "%s: %s", path, wrong);
  return wrong != NULL;
}

void report_result_free(report_result *r)
{
  free(r->by_rank.flow);
  free(r->by_node.flow);
  free(r->node);
  json_close(&r->document);
}
