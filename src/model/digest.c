/* From rows to numbers.
 *
 * Every row is first checked by itself: a table says which words its term may have in each column.
 * Then the rows are sorted, with `any` before the words that it stands for, and applied in that
 * order. So a specific row replaces a general one, wherever in the file they are. Memory decides
 * before locality, locality before protocol.
 */
#include "model/digest_row.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- terms ---- */

/* The words of the columns: `any` first in each, then those of the enum, then others. */
enum { ANY, CPU, GPU, GPU_NOGDR, NO_MEMORY };
enum { ON_SOCKET = 1, ON_NODE, OFF_NODE, A_NODE, D2H, H2D };
enum { SHORT = 1, EAGER, REND, NO_RANGE, PEERS, ALL, A_TERM };
enum { COUNT = A_TERM + GROVE_FACTORS, SIZES, A_NAME }; /* ranges that are not words */
enum { A_PAIR = 16, AN_END };                           /* localities that are not words: links.h */
static const char *const memory_words[] = {"any", "cpu", "gpu", "gpu-nogdr", "-", NULL};
static const char *const locality_words[] = {"any",  "on-socket", "on-node", "off-node",
                                             "node", "d2h",       "h2d",     NULL};
/* At the end grove_term_names. */
static const char *const range_words[] = {
  "any",     "short",      "eager",         "rend",       "-",          "peers",   "all",
  "latency", "bandwidth",  "injection",     "queue",      "contention", "on_node", "copy",
  "cores",   "crowd-turn", "crowd-message", "crowd-byte", NULL};

#define BIT(word) (1U << (word))
enum {
  NONE = BIT(NO_RANGE),
  MEMORY = BIT(ANY) | BIT(CPU) | BIT(GPU) | BIT(GPU_NOGDR),
  LOCALITY = BIT(ANY) | BIT(ON_SOCKET) | BIT(ON_NODE) | BIT(OFF_NODE),
  PROTOCOL = BIT(ANY) | BIT(SHORT) | BIT(EAGER) | BIT(REND),
  PRICED = (BIT(GROVE_FACTORS) - 1) << A_TERM,
  COPIES = BIT(D2H) | BIT(H2D),
  INSIDE = BIT(ANY) | BIT(ON_SOCKET) | BIT(ON_NODE)
};

typedef struct term {
  const char *name;
  const char *unit; /* s/B may be written as a rate, B/s */
  unsigned memories, localities, ranges;
  double most; /* a whole number up to this; 0: any number */
} term;

/* First the terms that fill a grid, with one value for every memory, locality and protocol; then
 * lists; then the links of a node. */
enum {
  T_SOCKETS,
  T_RANKS,
  T_CORES,
  T_GPUS,
  T_FROM,
  T_ALPHA,
  T_BETA,
  T_INJECTION,
  T_GAMMA,
  T_DELTA,
  T_CROWD_TURN,
  T_CROWD_MESSAGE,
  T_CROWD_BYTE,
  T_FLAG,
  GRIDS,
  T_COPY_ALPHA = GRIDS,
  T_COPY_BETA,
  T_LAUNCH,
  T_SHARED,
  T_PACK,
  T_FACTOR,
  T_L,
  T_OS,
  T_OR,
  T_SMALL_G,
  T_LARGE_G,
  T_FABRIC_L,
  T_FABRIC_SMALL_G,
  T_FABRIC_LARGE_G,
  LINKS,
  TERMS = LINKS + GROVE_LINK_TERMS
};

static const term terms[TERMS] = {
  [T_SOCKETS] = {"sockets", "1", BIT(NO_MEMORY), BIT(A_NODE), NONE, 1e6},
  [T_RANKS] = {"ranks", "1", BIT(NO_MEMORY), BIT(A_NODE), NONE, 1e6},
  [T_CORES] = {"cores", "1", BIT(NO_MEMORY), BIT(A_NODE), NONE, 0},
  [T_GPUS] = {"gpus", "1", BIT(NO_MEMORY), BIT(A_NODE), NONE, 1e6},
  [T_FROM] = {"from", "B", MEMORY, LOCALITY, BIT(EAGER) | BIT(REND), 1e15},
  [T_ALPHA] = {"alpha", "s", MEMORY, LOCALITY, PROTOCOL, 0},
  [T_BETA] = {"beta", "s/B", MEMORY, LOCALITY, PROTOCOL, 0},
  [T_INJECTION] = {"injection", "s/B", MEMORY, BIT(OFF_NODE), PROTOCOL, 0},
  [T_GAMMA] = {"gamma", "s", BIT(CPU), BIT(ANY), NONE, 0},
  [T_DELTA] = {"delta", "s/B", BIT(CPU), BIT(OFF_NODE), NONE, 0},
  [T_CROWD_TURN] = {"crowd-turn", "s", BIT(CPU), BIT(ON_NODE) | BIT(OFF_NODE), NONE, 0},
  [T_CROWD_MESSAGE] = {"crowd-message", "s", BIT(CPU), BIT(ON_NODE) | BIT(OFF_NODE), NONE, 0},
  [T_CROWD_BYTE] = {"crowd-byte", "s/B", BIT(CPU), BIT(ON_NODE) | BIT(OFF_NODE), NONE, 0},
  [T_FLAG] = {"flag", "s", BIT(CPU), INSIDE, NONE, 0},
  [T_COPY_ALPHA] = {"copy-alpha", "s", BIT(GPU), COPIES, BIT(COUNT), 0},
  [T_COPY_BETA] = {"copy-beta", "s/B", BIT(GPU), COPIES, BIT(COUNT), 0},
  [T_LAUNCH] = {"launch", "s", BIT(GPU), BIT(ANY), BIT(COUNT), 0},
  [T_SHARED] = {"shared", "s/B", BIT(CPU), BIT(ON_NODE), BIT(COUNT), 0},
  [T_PACK] = {"pack", "s/B", BIT(CPU) | BIT(GPU), BIT(ANY), BIT(SIZES), 0},
  [T_FACTOR] = {"factor", "1", BIT(CPU), BIT(ANY), PRICED, 0},
  [T_L] = {"L", "s", BIT(CPU), LOCALITY, BIT(SIZES), 0},
  [T_OS] = {"o_s", "s", BIT(CPU), LOCALITY, BIT(SIZES), 0},
  [T_OR] = {"o_r", "s", BIT(CPU), LOCALITY, BIT(SIZES), 0},
  [T_SMALL_G] = {"g", "s", BIT(CPU), LOCALITY, BIT(SIZES), 0},
  [T_LARGE_G] = {"G", "s/B", BIT(CPU), LOCALITY, BIT(SIZES), 0},
  [T_FABRIC_L] = {"fabric-L", "s", BIT(CPU), BIT(OFF_NODE), BIT(SIZES), 0},
  [T_FABRIC_SMALL_G] = {"fabric-g", "s", BIT(CPU), BIT(OFF_NODE), BIT(SIZES), 0},
  [T_FABRIC_LARGE_G] = {"fabric-G", "s/B", BIT(CPU), BIT(OFF_NODE), BIT(SIZES), 0},
  [LINKS + GROVE_TERM_LINK_ALPHA] = {"link-alpha", "s", BIT(GPU), BIT(A_PAIR), NONE, 0},
  [LINKS + GROVE_TERM_LINK_BETA] = {"link-beta", "s/B", BIT(GPU), BIT(A_PAIR), NONE, 0},
  [LINKS + GROVE_TERM_LINK_EPSILON] = {"link-epsilon", "s", BIT(GPU), BIT(AN_END), NONE, 0},
  [LINKS +
    GROVE_TERM_PORT_OUT] = {"port-out", "s/B", BIT(GPU), BIT(AN_END), BIT(PEERS) | BIT(ALL), 0},
  [LINKS +
    GROVE_TERM_PORT_IN] = {"port-in", "s/B", BIT(GPU), BIT(AN_END), BIT(PEERS) | BIT(ALL), 0},
  [LINKS + GROVE_TERM_LINK_SHARE] = {"link-share", "s/B", BIT(GPU), BIT(A_PAIR), BIT(A_NAME), 0},
};

static int find_term(const char *name)
{
  int t = 0;
  while (t < TERMS && strcmp(terms[t].name, name) != 0) t++;
  return t;
}

int grove_digest_knows(const char *name)
{
  return find_term(name) < TERMS;
}

/* ---- one row by itself ---- */

grove_status grove_digest_blame(grove_fault *fault, int row, int column, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fault->why, sizeof fault->why, format, arguments);
  va_end(arguments);
  fault->row = row;
  fault->column = column;
  return GROVE_ERR_ARG;
}

/* "on-socket, on-node or any": the words that are allowed, `any` at the end. */
static void list_words(const char *const *words, unsigned allowed, char *out, size_t room)
{
  size_t used = 0;
  int left = 0;
  for (int i = 0; words[i]; i++) left += (allowed >> i & 1) != 0;
  for (int i = 1; left > 0; i++) {
    if (!words[i]) i = 0;
    if (!(allowed >> i & 1)) continue;
    left--;
    int n = snprintf(out + used, room - used, "%s%s", words[i],
                     left > 1    ? ", "
                     : left == 1 ? " or "
                                 : "");
    used = n > 0 && used + (size_t)n < room ? used + (size_t)n : room - 1;
  }
}

static grove_status read_word(const char *column, const char *word, const char *const *words,
                              unsigned allowed, int *out, grove_fault *fault)
{
  for (int i = 0; words[i]; i++)
    if ((allowed >> i & 1) && strcmp(words[i], word) == 0) {
      *out = i;
      return GROVE_OK;
    }
  char list[120];
  list_words(words, allowed, list, sizeof list);
  snprintf(fault->why, sizeof fault->why, "the %s is '%.40s', and must be %s", column, word, list);
  return GROVE_ERR_ARG;
}

/* Digits up to `end`; -1 if not a whole number, or too large. */
static int64_t read_whole(const char *at, const char *end)
{
  int64_t number = 0;
  if (at == end) return -1;
  for (; at < end; at++) {
    if (!isdigit((unsigned char)*at) || number > INT64_MAX / 10 - 1) return -1;
    number = number * 10 + (*at - '0');
  }
  return number;
}

/* "A.." or "A..B"; the result is A. */
static int64_t read_sizes(const char *word)
{
  const char *dots = strstr(word, "..");
  if (!dots) return -1;
  int64_t first = read_whole(word, dots);
  const char *last = dots + 2;
  if (*last && read_whole(last, last + strlen(last)) <= first) return -1;
  return first;
}

static grove_status read_ends(const term *t, const grove_row *row, int r, grove_row_place *out,
                              grove_fault *fault)
{
  int pair = t->localities == BIT(A_PAIR);
  out->locality = grove_ends_read(row->locality, pair);
  if (out->locality >= 0) return GROVE_OK;
  return grove_digest_blame(
    fault, r, GROVE_COLUMN_LOCALITY, "the locality is '%.40s', and must be %s", row->locality,
    pair ? "two ends of a link, such as 0-1, 0-host or any-any; GPUs go from 0 to 15"
         : "a GPU from 0 to 15, any or host");
}

static grove_status read_locality(const term *t, const grove_row *row, int r, grove_row_place *out,
                                  grove_fault *fault)
{
  if (t->localities >= BIT(A_PAIR)) return read_ends(t, row, r, out, fault);
  grove_status status =
    read_word("locality", row->locality, locality_words, t->localities, &out->locality, fault);
  fault->row = r;
  fault->column = GROVE_COLUMN_LOCALITY;
  return status;
}

static grove_status read_range(const term *t, const grove_row *row, int r, grove_row_place *out,
                               grove_fault *fault)
{
  if (t->ranges == BIT(A_NAME)) {
    if (strlen(row->range) >= GROVE_THING_BYTES)
      return grove_digest_blame(fault, r, GROVE_COLUMN_RANGE, "the name has more than %d bytes",
                                GROVE_THING_BYTES - 1);
    out->range = 0; /* rows of one name get a common number later */
    return GROVE_OK;
  }
  if (t->ranges == BIT(COUNT)) {
    out->range = read_whole(row->range, row->range + strlen(row->range));
    if (out->range < 1 || out->range > INT_MAX)
      return grove_digest_blame(fault, r, GROVE_COLUMN_RANGE,
                                "the range is '%.40s', and must be a number of processes",
                                row->range);
    return GROVE_OK;
  }
  if (t->ranges == BIT(SIZES)) {
    out->range = read_sizes(row->range);
    if (out->range < 0)
      return grove_digest_blame(fault, r, GROVE_COLUMN_RANGE,
                                "the range is '%.40s', and must be sizes in bytes, A.. or A..B",
                                row->range);
    return GROVE_OK;
  }
  int word = 0;
  const char *column = t->ranges & PROTOCOL ? "protocol" : "range";
  if (read_word(column, row->range, range_words, t->ranges, &word, fault) != GROVE_OK) {
    fault->row = r;
    fault->column = GROVE_COLUMN_RANGE;
    return GROVE_ERR_ARG;
  }
  out->range = word;
  out->all_links = word == ALL;
  return GROVE_OK;
}

static grove_status read_value(const term *t, const grove_row *row, int r, grove_row_place *out,
                               grove_fault *fault)
{
  int rate = strcmp(t->unit, "s/B") == 0 && strcmp(row->unit, "B/s") == 0;
  double v = row->value;
  if (!rate && strcmp(t->unit, row->unit) != 0)
    return grove_digest_blame(fault, r, GROVE_COLUMN_UNIT, "the unit is '%.40s', and must be %s%s",
                              row->unit, t->unit, strcmp(t->unit, "s/B") == 0 ? " or B/s" : "");
  if (isnan(v)) return grove_digest_blame(fault, r, GROVE_COLUMN_VALUE, "the value is no number");
  if (signbit(v)) return grove_digest_blame(fault, r, GROVE_COLUMN_VALUE, "the value is negative");
  if (isinf(v) && !rate)
    return grove_digest_blame(fault, r, GROVE_COLUMN_VALUE,
                              "the value is infinite, which only a rate may be");
  if (t->most > 0 && (v != floor(v) || v > t->most))
    return grove_digest_blame(fault, r, GROVE_COLUMN_VALUE,
                              "the value must be a whole number up to %.0f", t->most);
  out->value = rate ? 1 / v : v;
  if (isinf(out->value))
    return grove_digest_blame(fault, r, GROVE_COLUMN_VALUE,
                              "the rate is too small: no byte would ever arrive");
  return GROVE_OK;
}

static grove_status understand_row(const grove_row *row, int r, grove_row_place *out,
                                   grove_fault *fault)
{
  const term *t = &terms[out->term];
  out->row = r;
  grove_status status =
    read_word("memory", row->memory, memory_words, t->memories, &out->memory, fault);
  if (status != GROVE_OK) {
    fault->row = r;
    fault->column = GROVE_COLUMN_MEMORY;
    return status;
  }
  status = read_locality(t, row, r, out, fault);
  if (status == GROVE_OK) status = read_range(t, row, r, out, fault);
  return status == GROVE_OK ? read_value(t, row, r, out, fault) : status;
}

static int by_place(const void *a, const void *b)
{
  const grove_row_place *x = a, *y = b;
  if (x->term != y->term) return x->term < y->term ? -1 : 1;
  if (x->memory != y->memory) return x->memory < y->memory ? -1 : 1;
  if (x->locality != y->locality) return x->locality < y->locality ? -1 : 1;
  if (x->range != y->range) return x->range < y->range ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* Gives rows of one name the number of the first of them. */
static void number_names(const grove_machine *m, grove_row_place *places, int n)
{
  for (int i = 0; i < n; i++)
    if (terms[places[i].term].ranges == BIT(A_NAME)) {
      int k = 0;
      while (places[k].term != places[i].term ||
             strcmp(m->rows[places[k].row].range, m->rows[places[i].row].range) != 0)
        k++;
      places[i].range = places[k].row;
    }
}

static grove_status understand_all(const grove_machine *m, grove_row_place *places, int *n,
                                   grove_fault *fault)
{
  *n = 0;
  for (int r = 0; r < m->nrows; r++) {
    m->rows[r].known = grove_digest_knows(m->rows[r].term);
    if (!m->rows[r].known) continue;
    places[*n].term = find_term(m->rows[r].term);
    places[*n].link = places[*n].term - LINKS;
    grove_status status = understand_row(&m->rows[r], r, &places[*n], fault);
    if (status != GROVE_OK) return status;
    ++*n;
  }
  number_names(m, places, *n);
  qsort(places, (size_t)*n, sizeof *places, by_place);
  for (int i = 1; i < *n; i++) {
    const grove_row_place *x = &places[i - 1], *y = &places[i];
    if (x->term != y->term || x->memory != y->memory || x->locality != y->locality ||
        x->range != y->range)
      continue;
    int line = m->rows[x->row].line;
    if (line > 0)
      return grove_digest_blame(fault, y->row, GROVE_COLUMN_TERM,
                                "the same row is in line %d already", line);
    return grove_digest_blame(fault, y->row, GROVE_COLUMN_TERM, "the same row twice");
  }
  return GROVE_OK;
}

/* ---- all rows together ---- */

typedef struct cell {
  double value; /* NaN: none */
  int row;
  int own; /* the row names the protocol, not `any` */
} cell;

typedef struct grid {
  cell at[GRIDS][GROVE_MEMORIES][GROVE_LOCALITIES][GROVE_PROTOCOLS];
} grid;

/* What a word stands for: one entry of an enum of `n`, or all. */
static int first_of(int64_t word, int n)
{
  return word >= 1 && word <= n ? (int)word - 1 : 0;
}

static int end_of(int64_t word, int n)
{
  return word >= 1 && word <= n ? (int)word : n;
}

static void fill_machine(grid *g, const grove_row_place *p)
{
  cell c = {.value = p->value, .row = p->row, .own = p->range != ANY};
  for (int m = first_of(p->memory, GROVE_MEMORIES); m < end_of(p->memory, GROVE_MEMORIES); m++)
    for (int l = first_of(p->locality, GROVE_LOCALITIES); l < end_of(p->locality, GROVE_LOCALITIES);
         l++)
      for (int k = first_of(p->range, GROVE_PROTOCOLS); k < end_of(p->range, GROVE_PROTOCOLS); k++)
        g->at[p->term][m][l][k] = c;
}

/* The entry for that many processes, made if necessary; NULL if the list is full. */
static grove_postal *listed_cost(grove_copy_rate *list, int *n, int processes)
{
  int i = 0;
  while (i < *n && list[i].processes < processes) i++;
  if (i < *n && list[i].processes == processes) return &list[i].cost;
  if (*n == GROVE_LISTED) return NULL;
  memmove(&list[i + 1], &list[i], (size_t)(*n - i) * sizeof *list);
  list[i] = (grove_copy_rate){.processes = processes, .cost = {NAN, NAN}};
  ++*n;
  return &list[i].cost;
}

static grove_loggp *listed_loggp(grove_loggp *list, int *n, int64_t from)
{
  int i = 0;
  while (i < *n && list[i].from_bytes < from) i++;
  if (i < *n && list[i].from_bytes == from) return &list[i];
  if (*n == GROVE_LISTED) return NULL;
  memmove(&list[i + 1], &list[i], (size_t)(*n - i) * sizeof *list);
  list[i] = (grove_loggp){from, NAN, NAN, NAN, NAN, NAN};
  ++*n;
  return &list[i];
}

/* Adds the rate from that size on; 0 if the list is full. */
static int list_pack(grove_machine *m, const grove_row_place *p)
{
  int *n = p->memory == GPU ? &m->ndevice_pack : &m->npack;
  if (*n == GROVE_LISTED) return 0; /* they come sorted */
  (p->memory == GPU ? m->device_pack : m->pack)[(*n)++] = (grove_pack_rate){p->range, p->value};
  return 1;
}

static double *loggp_field(grove_loggp *entry, int t)
{
  switch (t) {
  case T_FABRIC_L:
  case T_L: return &entry->L;
  case T_OS: return &entry->o_s;
  case T_OR: return &entry->o_r;
  case T_FABRIC_SMALL_G:
  case T_SMALL_G: return &entry->g;
  default: return &entry->G;
  }
}

/* 0 if the list is full. */
static int list_loggp(grove_machine *m, int list, const grove_row_place *p)
{
  grove_loggp *entry = listed_loggp(m->loggp[list], &m->nloggp[list], p->range);
  if (entry) *loggp_field(entry, p->term) = p->value;
  return entry != NULL;
}

/* Applies a row of a term that makes lists; 0 if the list is full. */
static int append_word(grove_machine *m, const grove_row_place *p)
{
  if (p->term == T_COPY_ALPHA || p->term == T_COPY_BETA) {
    int way = p->locality == D2H ? GROVE_D2H : GROVE_H2D;
    grove_postal *cost = listed_cost(m->copies[way], &m->ncopies[way], (int)p->range);
    if (cost) *(p->term == T_COPY_ALPHA ? &cost->alpha : &cost->beta) = p->value;
    return cost != NULL;
  }
  if (p->term == T_LAUNCH) {
    grove_postal *cost = listed_cost(m->launches, &m->nlaunches, (int)p->range);
    if (cost) *cost = (grove_postal){p->value, 0};
    return cost != NULL;
  }
  if (p->term == T_SHARED) {
    grove_postal *cost = listed_cost(m->shared, &m->nshared, (int)p->range);
    if (cost) *cost = (grove_postal){0, p->value};
    return cost != NULL;
  }
  if (p->term == T_PACK) return list_pack(m, p);
  if (p->term >= T_FABRIC_L) return list_loggp(m, GROVE_OVER_FABRIC, p);
  if (p->term == T_FACTOR) {
    m->factor[p->range - A_TERM] = p->value;
    return 1;
  }
  for (int l = first_of(p->locality, GROVE_LOCALITIES); l < end_of(p->locality, GROVE_LOCALITIES);
       l++)
    if (!list_loggp(m, l, p)) return 0;
  return 1;
}

/* A row of LogGP holds until the next row of its term begins. */
static void continue_loggp(grove_machine *m)
{
  for (int l = 0; l < GROVE_LOGGP_LISTS; l++)
    for (int i = 1; i < m->nloggp[l]; i++)
      for (int t = T_L; t <= T_LARGE_G; t++) {
        double *field = loggp_field(&m->loggp[l][i], t);
        if (isnan(*field)) *field = *loggp_field(&m->loggp[l][i - 1], t);
      }
}

static int has_numbers(const grid *g, int m, int l, int p)
{
  return !isnan(g->at[T_ALPHA][m][l][p].value) || !isnan(g->at[T_BETA][m][l][p].value);
}

/* The protocol of the smallest messages: the first that has numbers. Protocols filled by `any` give
 * way to the first with rows of its own, if nobody says where that one begins. */
static int first_protocol(const grid *g, int m, int l)
{
  int first = 0, own = 0;
  while (first < GROVE_PROTOCOLS && !has_numbers(g, m, l, first)) first++;
  while (own < GROVE_PROTOCOLS && !g->at[T_ALPHA][m][l][own].own && !g->at[T_BETA][m][l][own].own)
    own++;
  return own < GROVE_PROTOCOLS && isnan(g->at[T_FROM][m][l][own].value) ? own : first;
}

/* Where the protocols of one kind of message begin: the first at 0, the others where a row says so,
 * or never. */
static grove_status set_limits(const grid *g, int m, int l, int64_t *from, grove_fault *fault)
{
  int64_t before = 0;
  int first = first_protocol(g, m, l);
  for (int p = 0; p < GROVE_PROTOCOLS; p++) {
    const cell *c = &g->at[T_FROM][m][l][p];
    from[p] = p == first ? 0 : INT64_MAX;
    if (p <= first || !has_numbers(g, m, l, p) || isnan(c->value)) continue;
    from[p] = (int64_t)c->value;
    if (from[p] <= before)
      return grove_digest_blame(
        fault, c->row, GROVE_COLUMN_VALUE,
        "%s begins at %lld B, which is not after the beginning of the protocol before "
        "it (%s, %s)",
        grove_protocol_names[p], (long long)from[p], grove_memory_names[m],
        grove_locality_names[l]);
    before = from[p];
  }
  return GROVE_OK;
}

static grove_status take_grid(const grid *g, grove_machine *m, grove_fault *fault)
{
  const cell(*first)[GROVE_MEMORIES][GROVE_LOCALITIES][GROVE_PROTOCOLS] = g->at;
  double whole[T_GPUS + 1];
  for (int t = 0; t <= T_GPUS; t++)
    whole[t] = isnan(first[t][0][0][0].value) ? 0 : first[t][0][0][0].value;
  m->sockets = (int)whole[T_SOCKETS];
  m->ranks = (int)whole[T_RANKS];
  m->gpus = (int)whole[T_GPUS];
  m->cores = whole[T_CORES];
  m->gamma = first[T_GAMMA][0][0][0].value;
  m->delta = first[T_DELTA][0][GROVE_OFF_NODE][0].value;
  for (int l = GROVE_ON_NODE; l <= GROVE_OFF_NODE; l++)
    m->crowd[l - GROVE_ON_NODE] =
      (grove_crowd){first[T_CROWD_TURN][0][l][0].value, first[T_CROWD_MESSAGE][0][l][0].value,
                    first[T_CROWD_BYTE][0][l][0].value};
  for (int l = GROVE_ON_SOCKET; l <= GROVE_ON_NODE; l++)
    m->flag_seconds[l] = first[T_FLAG][0][l][0].value;
  for (int i = 0; i < GROVE_MEMORIES; i++)
    for (int l = 0; l < GROVE_LOCALITIES; l++) {
      for (int p = 0; p < GROVE_PROTOCOLS; p++) {
        m->postal[i][l][p] =
          (grove_postal){first[T_ALPHA][i][l][p].value, first[T_BETA][i][l][p].value};
        m->injection[i][p] = first[T_INJECTION][i][GROVE_OFF_NODE][p].value;
      }
      grove_status status = set_limits(g, i, l, m->from[i][l], fault);
      if (status != GROVE_OK) return status;
    }
  return GROVE_OK;
}

static grove_status put_in_place(grove_machine *m, const grove_row_place *places, int n,
                                 grove_fault *fault)
{
  grid g;
  cell *cells = &g.at[0][0][0][0];
  for (size_t i = 0; i < sizeof g / sizeof *cells; i++) cells[i] = (cell){.value = NAN};
  for (int way = 0; way < GROVE_DIRECTIONS; way++) m->ncopies[way] = 0;
  for (int l = 0; l < GROVE_LOGGP_LISTS; l++) m->nloggp[l] = 0;
  m->nshared = m->npack = m->nlaunches = m->ndevice_pack = 0;
  for (int i = 0; i < GROVE_FACTORS; i++) m->factor[i] = 1;
  for (int i = 0; i < n; i++) {
    if (places[i].term < GRIDS)
      fill_machine(&g, &places[i]);
    else if (places[i].term >= LINKS)
      continue; /* done when the number of GPUs is known */
    else if (!append_word(m, &places[i]))
      return grove_digest_blame(fault, places[i].row, GROVE_COLUMN_RANGE,
                                "more than %d entries of its kind", GROVE_LISTED);
  }
  continue_loggp(m);
  grove_status status = take_grid(&g, m, fault);
  return status == GROVE_OK ? grove_digest_links(m, places, n, fault) : status;
}

grove_status grove_digest(grove_machine *m, grove_fault *fault)
{
  grove_status status = GROVE_OK;
  grove_machine fresh = *m;
  grove_row_place *places = NULL;
  int n = 0;
  GROVE_NEW(places, m->nrows);
  GROVE_TRY(understand_all(m, places, &n, fault));
  GROVE_TRY(put_in_place(&fresh, places, n, fault));
  *m = fresh;
fail:
  free(places);
  return status;
}

grove_status grove_machine_digest(grove_machine *m)
{
  grove_fault fault = {0};
  grove_status status = grove_digest(m, &fault);
  if (status != GROVE_ERR_ARG) return status;
  const grove_row *row = &m->rows[fault.row];
  char line[32] = "";
  if (row->line > 0) snprintf(line, sizeof line, "line %d, ", row->line);
  return grove_error(status, __FILE__, __LINE__,
                     "machine '%.100s', %scolumn %d of the row '%.40s %.40s %.40s %.40s': %s",
                     m->name, line, fault.column + 1, row->term, row->memory, row->locality,
                     row->range, fault.why);
}
