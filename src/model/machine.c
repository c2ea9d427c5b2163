#include "model/machine.h"

#include "model/digest.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const grove_memory_names[GROVE_MEMORIES] = {"cpu", "gpu", "gpu-nogdr"};
const char *const grove_locality_names[GROVE_LOCALITIES] = {"on-socket", "on-node", "off-node"};
const char *const grove_protocol_names[GROVE_PROTOCOLS] = {"short", "eager", "rend"};
const char *const grove_direction_names[GROVE_DIRECTIONS] = {"d2h", "h2d"};
const char *const grove_term_names[GROVE_FACTORS] = {
  [GROVE_TERM_LATENCY] = "latency",
  [GROVE_TERM_BANDWIDTH] = "bandwidth",
  [GROVE_TERM_INJECTION] = "injection",
  [GROVE_TERM_QUEUE] = "queue",
  [GROVE_TERM_CONTENTION] = "contention",
  [GROVE_TERM_ON_NODE] = "on_node",
  [GROVE_TERM_COPY] = "copy",
  [GROVE_TERM_CORES] = "cores",
  [GROVE_FACTOR_TURN] = "crowd-turn",
  [GROVE_FACTOR_MESSAGE] = "crowd-message",
  [GROVE_FACTOR_BYTE] = "crowd-byte",
};

static grove_status copy_text(const char *text, char **out)
{
  *out = strdup(text);
  GROVE_PASS_CHECK(*out, GROVE_ERR_MEMORY, "no memory for a text of %zu bytes", strlen(text));
  return GROVE_OK;
}

grove_status grove_machine_create(const char *name, grove_machine **out)
{
  grove_status status = GROVE_OK;
  grove_machine *m = NULL;
  GROVE_NEW(m, 1);
  m->standing = GROVE_INCOMPLETE;
  GROVE_TRY(copy_text(name, &m->name));
  GROVE_TRY(copy_text("", &m->about));
  GROVE_TRY(grove_machine_digest(m));
  *out = m;
  return GROVE_OK;
fail:
  grove_machine_free(&m);
  return status;
}

static void free_row(grove_row *row)
{
  free(row->term);
  free(row->memory);
  free(row->locality);
  free(row->range);
  free(row->unit);
  free(row->source);
}

grove_machine *grove_machine_hold(grove_machine *m)
{
  __atomic_add_fetch(&m->holders, 1, __ATOMIC_RELAXED);
  return m;
}

grove_status grove_machine_free(grove_machine **pointer)
{
  grove_machine *m = pointer ? *pointer : NULL;
  if (!m) return GROVE_OK;
  *pointer = NULL;
  if (__atomic_fetch_sub(&m->holders, 1, __ATOMIC_ACQ_REL) > 0) return GROVE_OK;
  for (int i = 0; i < m->nrows; i++) free_row(&m->rows[i]);
  free(m->rows);
  free(m->name);
  free(m->about);
  free(m);
  return GROVE_OK;
}

/* ---- rows ---- */

static grove_status copy_row(const grove_row *from, grove_row *out)
{
  grove_status status = GROVE_OK;
  grove_row row = {.value = from->value, .line = from->line, .known = from->known};
  GROVE_TRY(copy_text(from->term, &row.term));
  GROVE_TRY(copy_text(from->memory, &row.memory));
  GROVE_TRY(copy_text(from->locality, &row.locality));
  GROVE_TRY(copy_text(from->range, &row.range));
  GROVE_TRY(copy_text(from->unit, &row.unit));
  GROVE_TRY(copy_text(from->source, &row.source));
  *out = row;
  return GROVE_OK;
fail:
  free_row(&row);
  return status;
}

/* Refuses what could not be read back: a word has no blanks, a text is one line. */
static int is_word(const char *text)
{
  if (!text || !*text || strlen(text) > GROVE_WORD_BYTES) return 0;
  for (; *text; text++)
    if ((unsigned char)*text <= ' ' || *text == 127) return 0;
  return 1;
}

int grove_text_fits(const char *text)
{
  size_t length = strlen(text);
  if (length > GROVE_TEXT_BYTES) return 0;
  if (length > 0 && (strchr(" \t", text[0]) || strchr(" \t", text[length - 1]))) return 0;
  for (; *text; text++)
    if (((unsigned char)*text < ' ' && *text != '\t') || *text == 127) return 0;
  return 1;
}

static int is_term(const char *text)
{
  static const char *const taken[] = {"name", "about", "status", "end"};
  if (!is_word(text) || text[0] == '#') return 0;
  for (int i = 0; i < 4; i++)
    if (strcmp(taken[i], text) == 0) return 0;
  return 1;
}

grove_status grove_machine_add(grove_machine *m, const char *term, const char *memory,
                               const char *locality, const char *range, double value,
                               const char *unit, const char *source)
{
  GROVE_PASS_CHECK(is_term(term), GROVE_ERR_ARG, "'%.40s' cannot be the term of a row",
                   term ? term : "");
  GROVE_PASS_CHECK(is_word(memory) && is_word(locality) && is_word(range) && is_word(unit),
                   GROVE_ERR_ARG, "row %.40s: memory, locality, range and unit must be a word each",
                   term);
  GROVE_PASS_CHECK(source && *source && grove_text_fits(source), GROVE_ERR_ARG,
                   "row %.40s: the source must be one line of text, without blanks around it",
                   term);
  GROVE_PASS_GROW(m->rows, m->nrows, 1);
  /* The texts are only read. */
  const grove_row row = {(char *)term,
                         (char *)memory,
                         (char *)locality,
                         (char *)range,
                         value,
                         (char *)unit,
                         (char *)source,
                         0,
                         grove_digest_knows(term)};
  GROVE_PASS(copy_row(&row, &m->rows[m->nrows]));
  m->nrows++;
  return GROVE_OK;
}

void grove_machine_cut(grove_machine *m, int n)
{
  while (m->nrows > n) free_row(&m->rows[--m->nrows]);
}

grove_status grove_machine_copy(const grove_machine *m, grove_machine **out)
{
  grove_status status = GROVE_OK;
  grove_machine *copy = NULL;
  GROVE_NEW(copy, 1);
  *copy = *m;
  copy->holders = 0;
  copy->name = copy->about = NULL;
  copy->rows = NULL;
  copy->nrows = 0;
  GROVE_GROW(copy->rows, 0, m->nrows);
  GROVE_TRY(copy_text(m->name, &copy->name));
  GROVE_TRY(copy_text(m->about, &copy->about));
  for (; copy->nrows < m->nrows; copy->nrows++)
    GROVE_TRY(copy_row(&m->rows[copy->nrows], &copy->rows[copy->nrows]));
  *out = copy;
  return GROVE_OK;
fail:
  grove_machine_free(&copy);
  return status;
}

/* ---- looking up ---- */

grove_protocol grove_machine_protocol(const grove_machine *m, grove_memory_kind memory,
                                      grove_locality where, int64_t bytes)
{
  const int64_t *from = m->from[memory][where];
  int p = GROVE_REND;
  while (p > GROVE_SHORT && from[p] > bytes) p--;
  /* None is known to begin this early: takes the first that exists. */
  while (p < GROVE_REND && from[p] == INT64_MAX) p++;
  return from[p] == INT64_MAX ? GROVE_SHORT : (grove_protocol)p;
}

grove_postal grove_machine_postal(const grove_machine *m, grove_memory_kind memory,
                                  grove_locality where, int64_t bytes)
{
  return m->postal[memory][where][grove_machine_protocol(m, memory, where, bytes)];
}

const grove_loggp *grove_machine_loggp(const grove_machine *m, grove_locality where, int64_t bytes)
{
  int i = m->nloggp[where] - 1;
  if (i < 0) return NULL;
  while (i > 0 && m->loggp[where][i].from_bytes > bytes) i--;
  return &m->loggp[where][i];
}

int grove_machine_has_fabric(const grove_machine *m)
{
  return m && m->nloggp[GROVE_OVER_FABRIC] > 0 && !isnan(m->loggp[GROVE_OVER_FABRIC][0].G);
}

/* The cost for the most processes that are not more than these; else for the fewest. */
static grove_postal cost_for(int n, const grove_copy_rate *list, int processes, grove_postal none)
{
  int i = n - 1;
  if (i < 0) return none;
  while (i > 0 && list[i].processes > processes) i--;
  return list[i].cost;
}

grove_postal grove_machine_copying(const grove_machine *m, grove_direction way, int processes)
{
  return cost_for(m->ncopies[way], m->copies[way], processes, (grove_postal){NAN, NAN});
}

double grove_machine_launching(const grove_machine *m, int processes)
{
  return cost_for(m->nlaunches, m->launches, processes, (grove_postal){0, 0}).alpha;
}

int grove_machine_has_copies(const grove_machine *m)
{
  for (int way = 0; way < GROVE_DIRECTIONS; way++) {
    if (m->ncopies[way] == 0) return 0;
    for (int i = 0; i < m->ncopies[way]; i++)
      if (isnan(m->copies[way][i].cost.alpha) || isnan(m->copies[way][i].cost.beta)) return 0;
  }
  return 1;
}

double grove_machine_shared(const grove_machine *m, int ranks)
{
  const grove_copy_rate *list = m->shared;
  int n = m->nshared, i = 0;
  if (n == 0) return NAN;
  while (i < n && list[i].processes < ranks) i++;
  if (i == n) return list[n - 1].cost.beta;
  if (i == 0 || list[i].processes == ranks) return list[i].cost.beta;
  double part =
    (double)(ranks - list[i - 1].processes) / (double)(list[i].processes - list[i - 1].processes);
  return list[i - 1].cost.beta + part * (list[i].cost.beta - list[i - 1].cost.beta);
}

int grove_machine_has_shared(const grove_machine *m)
{
  int flags = !isnan(m->flag_seconds[0]) || !isnan(m->flag_seconds[1]);
  return flags && !isnan(grove_machine_shared(m, 2));
}

static double rate_for(int n, const grove_pack_rate *list, int64_t bytes)
{
  int i = n - 1;
  if (i < 0) return 0;
  while (i > 0 && list[i].from_bytes > bytes) i--;
  return list[i].beta;
}

double grove_machine_packing(const grove_machine *m, int64_t bytes)
{
  return rate_for(m->npack, m->pack, bytes);
}

double grove_machine_device_packing(const grove_machine *m, int64_t bytes)
{
  return rate_for(m->ndevice_pack, m->device_pack, bytes);
}

/* ---- what is missing ---- */

typedef struct sentence {
  char *out;
  size_t room, used;
} sentence;

static void lacks_rows(sentence *s, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  ;

static void lacks_rows(sentence *s, const char *format, ...)
{
  va_list arguments;
  if (s->used + 1 >= s->room) return;
  int n = snprintf(s->out + s->used, s->room - s->used, "%s", s->used > 0 ? "; " : "");
  if (n > 0 && s->used + (size_t)n < s->room) s->used += (size_t)n;
  va_start(arguments, format);
  n = vsnprintf(s->out + s->used, s->room - s->used, format, arguments);
  va_end(arguments);
  if (n > 0) s->used = s->used + (size_t)n < s->room ? s->used + (size_t)n : s->room - 1;
}

/* Messages of one memory: alpha and beta, and where the protocols begin. */
static void lacks_messages(sentence *s, const grove_machine *m, int memory)
{
  static const char *const of[GROVE_MEMORIES] = {"", " of gpu", " of gpu-nogdr"};
  char where[64] = "";
  for (int l = 0; l < GROVE_LOCALITIES; l++) {
    if (l == GROVE_ON_NODE && m->sockets == 1) continue; /* there is no other socket */
    const grove_postal first = grove_machine_postal(m, memory, l, 0);
    if (isnan(first.alpha) || isnan(first.beta)) {
      strcat(where, *where ? ", " : "");
      strcat(where, grove_locality_names[l]);
    }
    for (int p = 1; p < GROVE_PROTOCOLS; p++) {
      grove_postal cost = m->postal[memory][l][p];
      if (m->from[memory][l][p] == INT64_MAX && !isnan(cost.alpha) &&
          cost.alpha != first.alpha) /* else it is just a row of `any` */
        lacks_rows(s, "the size from which messages%s %s go by %s", of[memory],
                   grove_locality_names[l], grove_protocol_names[p]);
    }
  }
  if (*where) lacks_rows(s, "alpha and beta%s %s", of[memory], where);
}

static int has_device_messages(const grove_machine *m)
{
  for (int l = 0; l < GROVE_LOCALITIES; l++)
    for (int p = 0; p < GROVE_PROTOCOLS; p++)
      if (!isnan(m->postal[GROVE_GPU][l][p].alpha) || !isnan(m->postal[GROVE_GPU][l][p].beta))
        return 1;
  return 0;
}

const char *grove_machine_doubt(const grove_machine *m)
{
  const char *found = m->about ? strstr(m->about, GROVE_DOUBTFUL) : NULL;
  return found ? found + strlen(GROVE_DOUBTFUL) : NULL;
}

void grove_machine_missing(const grove_machine *m, char *out, size_t room)
{
  sentence s = {out, room, 0};
  if (room > 0) out[0] = '\0';
  if (m->sockets == 0) lacks_rows(&s, "sockets");
  if (m->ranks == 0) lacks_rows(&s, "ranks");
  if (m->cores == 0) lacks_rows(&s, "cores");
  lacks_messages(&s, m, GROVE_CPU);
  if (isnan(m->injection[GROVE_CPU][GROVE_REND])) lacks_rows(&s, "injection");
  if (isnan(m->gamma)) lacks_rows(&s, "gamma");
  if (isnan(m->delta)) lacks_rows(&s, "delta");
  if (isnan(m->flag_seconds[0]) || (m->sockets != 1 && isnan(m->flag_seconds[1])))
    lacks_rows(&s, "flag");
  if (m->nshared == 0) lacks_rows(&s, "shared");
  if (m->nloggp[GROVE_OFF_NODE] == 0) lacks_rows(&s, "LogGP");
  if (m->gpus == 0) return;
  /* With copies all can be staged: then no MPI has to read the memory of a device. */
  if (has_device_messages(m) || !grove_machine_has_copies(m)) lacks_messages(&s, m, GROVE_GPU);
  for (int way = 0; way < GROVE_DIRECTIONS; way++)
    if (m->ncopies[way] == 0) lacks_rows(&s, "copies %s", grove_direction_names[way]);
}

grove_origin grove_row_origin(const grove_row *row)
{
  if (strncmp(row->source, "measured", strlen("measured")) == 0) return GROVE_ORIGIN_MEASURED;
  if (strncmp(row->source, "assumed", strlen("assumed")) == 0) return GROVE_ORIGIN_ASSUMED;
  return GROVE_ORIGIN_CITED;
}

int grove_machine_is_measured(const grove_machine *m)
{
  int found = 0;
  for (int i = 0; i < m->nrows; i++) {
    const grove_row *row = &m->rows[i];
    if (strcmp(row->term, "alpha") != 0 && strcmp(row->term, "beta") != 0) continue;
    if (strcmp(row->locality, "off-node") != 0) continue;
    if (grove_row_origin(row) != GROVE_ORIGIN_MEASURED) return 0;
    found = 1;
  }
  return found;
}
