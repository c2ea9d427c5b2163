/* A machine as JSON: the numbers that formulas use, in seconds and seconds per byte, and the rows
 * they come from. */
#include "grove/machine/links.h"
#include "grove/machine/machine.h"
#include "grove/machine/points.h"
#include "grove/machine/probing.h"

#include "model/digest.h"

#include <math.h>

/* , "name": value */
static void number(const char *name, double value)
{
  printf(", \"%s\": ", name);
  print_json_number(value);
}

static void text(const char *name, const char *value)
{
  printf(", \"%s\": ", name);
  print_json_text(stdout, value);
}

/* Between the items of a list. */
static const char *comma(int *first)
{
  int was = *first;
  *first = 0;
  return was ? "\n  " : ",\n  ";
}

static void print_messages(const grove_machine *m)
{
  int first = 1;
  printf(",\n \"messages\": [");
  for (int i = 0; i < GROVE_MEMORIES; i++)
    for (int l = 0; l < GROVE_LOCALITIES; l++)
      for (int p = 0; p < GROVE_PROTOCOLS; p++) {
        grove_postal cost = m->postal[i][l][p];
        int64_t from = m->from[i][l][p];
        if (isnan(cost.alpha) && isnan(cost.beta)) continue;
        printf("%s{\"memory\": \"%s\", \"locality\": \"%s\", \"protocol\": \"%s\"", comma(&first),
               grove_memory_names[i], grove_locality_names[l], grove_protocol_names[p]);
        number("from_bytes", from == INT64_MAX ? NAN : (double)from);
        number("alpha_seconds", cost.alpha);
        number("beta_seconds_per_byte", cost.beta);
        printf("}");
      }
  printf("]");
}

static void print_injection(const grove_machine *m)
{
  int first = 1;
  printf(",\n \"injection\": [");
  for (int i = 0; i < GROVE_MEMORIES; i++)
    for (int p = 0; p < GROVE_PROTOCOLS; p++) {
      if (isnan(m->injection[i][p])) continue;
      printf("%s{\"memory\": \"%s\", \"protocol\": \"%s\"", comma(&first), grove_memory_names[i],
             grove_protocol_names[p]);
      number("seconds_per_byte", m->injection[i][p]);
      printf("}");
    }
  printf("]");
}

static void print_copies(const grove_machine *m)
{
  int first = 1;
  printf(",\n \"copies\": [");
  for (int way = 0; way < GROVE_DIRECTIONS; way++)
    for (int i = 0; i < m->ncopies[way]; i++) {
      const grove_copy_rate *copy = &m->copies[way][i];
      printf("%s{\"direction\": \"%s\", \"processes\": %d", comma(&first),
             grove_direction_names[way], copy->processes);
      number("alpha_seconds", copy->cost.alpha);
      number("beta_seconds_per_byte", copy->cost.beta);
      printf("}");
    }
  printf("],\n \"shared\": [");
  first = 1;
  for (int i = 0; i < m->nshared; i++) {
    printf("%s{\"ranks\": %d", comma(&first), m->shared[i].processes);
    number("seconds_per_byte", m->shared[i].cost.beta);
    printf("}");
  }
  printf("]");
}

static void print_device(const grove_machine *m)
{
  int first = 1;
  printf(",\n \"launches\": [");
  for (int i = 0; i < m->nlaunches; i++)
    printf("%s{\"processes\": %d, \"seconds\": %.9g}", comma(&first), m->launches[i].processes,
           m->launches[i].cost.alpha);
  printf("],\n \"device_packing\": [");
  for (int i = 0; i < m->ndevice_pack; i++)
    printf("%s{\"from_bytes\": %lld, \"seconds_per_byte\": %.9g}", i > 0 ? ", " : "",
           (long long)m->device_pack[i].from_bytes, m->device_pack[i].beta);
  printf("]");
}

/* Those over libfabric are between nodes, and have a list of their own. */
static void print_loggp(const grove_machine *m, const char *name, int begin, int end)
{
  int first = 1;
  printf(",\n \"%s\": [", name);
  for (int l = begin; l < end; l++)
    for (int i = 0; i < m->nloggp[l]; i++) {
      const grove_loggp *p = &m->loggp[l][i];
      printf("%s{\"locality\": \"%s\"", comma(&first),
             grove_locality_names[l < GROVE_LOCALITIES ? l : GROVE_OFF_NODE]);
      number("from_bytes", (double)p->from_bytes);
      number("L_seconds", p->L);
      number("o_s_seconds", p->o_s);
      number("o_r_seconds", p->o_r);
      number("g_seconds", p->g);
      number("G_seconds_per_byte", p->G);
      printf("}");
    }
  printf("]");
}

static void print_factors(const grove_machine *m)
{
  printf(",\n \"factors\": {");
  for (int i = 0; i < GROVE_FACTORS; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s", grove_term_names[i]);
    for (char *c = name; *c; c++)
      if (*c == '-') *c = '_';
    printf("%s\"%s\": %.9g", i > 0 ? ", " : "", name, m->factor[i]);
  }
  printf("}");
}

static void print_rows(const grove_machine *m)
{
  int first = 1;
  printf(",\n \"rows\": [");
  for (int i = 0; i < m->nrows; i++) {
    const grove_row *row = &m->rows[i];
    printf("%s{\"line\": %d", comma(&first), row->line);
    text("term", row->term);
    text("memory", row->memory);
    text("locality", row->locality);
    text("range", row->range);
    number("value", row->value);
    text("unit", row->unit);
    text("source", row->source);
    printf(", \"known\": %s}", row->known ? "true" : "false");
  }
  printf("]");
}

static void print_packing(const grove_machine *m)
{
  printf(",\n \"packing\": [");
  for (int i = 0; i < m->npack; i++)
    printf("%s{\"from_bytes\": %lld, \"seconds_per_byte\": %.9g}", i > 0 ? ", " : "",
           (long long)m->pack[i].from_bytes, m->pack[i].beta);
  printf("]");
}

/* Fitted values are null for a point that the profile has no number for. */
static void print_points(const grove_machine *m, const kept_points *points)
{
  int first = 1;
  printf(",\n \"points\": [");
  for (int i = 0; i < points->count; i++) {
    const grove_point *p = &points->point[i];
    printf("%s{\"x\": ", comma(&first));
    print_json_number(p->x);
    number("measured_seconds", p->y);
    number("fitted_seconds", probing_predict(m, p));
    text("series", p->series);
    printf("}");
  }
  printf("]");
}

int print_machine_json(const grove_machine *m, const char *path)
{
  kept_points points;
  if (points_read(path, &points)) return EXIT_FAILED;
  char missing[500];
  printf("{\"name\": ");
  print_json_text(stdout, m->name);
  text("about", m->about);
  text("status", grove_standing_names[m->standing]);
  number("sockets", m->sockets > 0 ? m->sockets : NAN);
  number("ranks", m->ranks > 0 ? m->ranks : NAN);
  number("cores", m->cores > 0 ? m->cores : NAN);
  number("gpus", m->gpus);
  print_messages(m);
  print_injection(m);
  printf(",\n \"gamma_seconds\": ");
  print_json_number(m->gamma);
  number("delta_seconds_per_byte", m->delta);
  number("flag_on_socket_seconds", m->flag_seconds[GROVE_ON_SOCKET]);
  number("flag_on_node_seconds", m->flag_seconds[GROVE_ON_NODE]);
  for (int i = 0; i < 2; i++) {
    static const char *const name[2][3] = {
      {"crowd_on_node_turn_seconds", "crowd_on_node_message_seconds",
       "crowd_on_node_seconds_per_byte"},
      {"crowd_off_node_turn_seconds", "crowd_off_node_message_seconds",
       "crowd_off_node_seconds_per_byte"}};
    number(name[i][0], m->crowd[i].turn);
    number(name[i][1], m->crowd[i].message);
    number(name[i][2], m->crowd[i].byte);
  }
  print_packing(m);
  print_factors(m);
  print_copies(m);
  print_device(m);
  print_loggp(m, "loggp", 0, GROVE_LOCALITIES);
  print_loggp(m, "loggp_over_libfabric", GROVE_LOCALITIES, GROVE_LOGGP_LISTS);
  print_links_json(&m->links);
  print_rows(m);
  print_points(m, &points);
  grove_machine_missing(m, missing, sizeof missing);
  printf(",\n \"missing\": ");
  print_json_text(stdout, missing);
  printf("}\n");
  points_free(&points);
  return EXIT_OK;
}
