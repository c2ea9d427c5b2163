/* Set-up: the graph is checked, and every root learns of its leaves. Each rank sends every owner of
 * its roots the list of their indices. The owners do not know from whom to expect a list, so this
 * is a sparse exchange. An owner answers whether it has these roots, and the exchange ends with an
 * agreement of all ranks that all is well: pairs need no other step. Cost: the edges, the
 * neighbours, and a logarithm of the ranks.
 */
#include "base/distinct.h"
#include "context/trace.h"
#include "forest/forest.h"

#include <stdlib.h>
#include <string.h>

/* What set-up builds, moved into the forest when all ranks succeeded. */
typedef struct draft {
  const grove_forest *forest;
  grove_packet_exchange exchange; /* lists of root indices, to and from other ranks */
  grove_packet own;               /* and to itself; no data: none */
  int nlists;                     /* accepted so far; `roots` has memory for them */
  int64_t entries;
  int64_t most; /* the largest possible entry, where it may not fit in 32 bits */
  grove_side roots;
} draft;

static void free_draft(draft *d)
{
  free(d->exchange.sent); /* the lists are the forest's */
  grove_packet_list_free(d->exchange.ncame, d->exchange.came);
  grove_side_free(&d->roots);
}

/* ---- a list of root indices as it travels: an entry with their width, then those ---- */

/* The first entry of a list: the width of the others in bytes, and how often they repeat. */
typedef struct heading {
  int16_t width;
  int16_t repeats;
} heading;

static grove_status find_repeats(const grove_index *list, int16_t *out)
{
  int64_t distinct = 0;
  GROVE_PASS(grove_distinct_count(list, &distinct));
  *out = (int16_t)grove_repeats_of(list->count, distinct);
  return GROVE_OK;
}

static grove_status write_list_to(grove_forest *f, int g, grove_packet *out)
{
  int64_t begin = f->leaves.begin[g] + g, n = f->leaves.begin[g + 1] - f->leaves.begin[g];
  heading about = {.width = f->lists.narrow ? 4 : 8};
  grove_index list = grove_index_view(&f->lists, begin + 1, n);
  char *data =
    f->lists.narrow ? (char *)(f->lists.narrow + begin) : (char *)(f->lists.wide + begin);
  GROVE_PASS(find_repeats(&list, &about.repeats));
  f->leaves.repeats[g] = (char)about.repeats;
  grove_index_put(&f->lists, begin, 0);
  memcpy(data, &about, sizeof about);
  *out = (grove_packet){.peer = f->leaves.ranks[g], .bytes = (n + 1) * about.width, .data = data};
  return GROVE_OK;
}

static heading read_heading(const grove_packet *packet)
{
  heading about;
  memcpy(&about, packet->data, sizeof about);
  return about;
}

static grove_index read_root_list(const grove_packet *packet)
{
  int width = read_heading(packet).width;
  grove_index list = {.count = packet->bytes / width - 1};
  if (width == 4)
    list.narrow = (int32_t *)packet->data + 1;
  else
    list.wide = (int64_t *)packet->data + 1;
  return list;
}

/* ---- the owner's part ---- */

/* Memory for a list is made before the list is accepted, so that nothing can fail once all lists
 * have come. The memory made for the last list has not been used yet. */
static grove_status make_list_room(draft *d)
{
  grove_side_free(&d->roots);
  GROVE_PASS_ROOM(d->roots.ranks, d->nlists);
  GROVE_PASS_ROOM(d->roots.begin, d->nlists + 1);
  GROVE_PASS_ROOM(d->roots.repeats, d->nlists);
  return grove_index_reserve(d->entries, 0, d->most, &d->roots.slots);
}

/* The number of entries, from the beginning of a list, that are less than `end`. */
static int64_t count_lower(const grove_index *list, int64_t end)
{
  enum { BLOCK = 64 }; /* loops of known length become vector instructions */
  int64_t n = 0;
  if (list->narrow && end > INT32_MAX) return list->count;
  for (int above = 0; list->narrow && n + BLOCK <= list->count; n += BLOCK) {
    for (int i = 0; i < BLOCK; i++) above |= list->narrow[n + i] >= (int32_t)end;
    if (above) break;
  }
  while (n < list->count && grove_index_at(list, n) < end) n++;
  return n;
}

/* Are these roots of this rank? If not, the answer names the first that is not, and the root
 * count. */
static void judge_list(void *self, const grove_packet *packet, grove_answer *answer)
{
  draft *d = self;
  grove_index list = read_root_list(packet);
  int64_t nroots = d->forest->graph.nroots, known = count_lower(&list, nroots);
  if (known < list.count) {
    *answer = (grove_answer){GROVE_ERR_GRAPH, {known, nroots}};
    return;
  }
  d->nlists++;
  d->entries += list.count;
  if (list.wide) d->most = nroots - 1;
  answer->status = make_list_room(d);
}

static void add_list(draft *d, const grove_packet *packet)
{
  grove_index list = read_root_list(packet), *slots = &d->roots.slots;
  int64_t begin = d->roots.begin[d->roots.count];
  if (slots->narrow && list.narrow)
    memcpy(slots->narrow + begin, list.narrow, (size_t)list.count * sizeof *list.narrow);
  else
    for (int64_t i = 0; i < list.count; i++)
      grove_index_put(slots, begin + i, grove_index_at(&list, i));
  d->roots.repeats[d->roots.count] = (char)read_heading(packet).repeats;
  d->roots.ranks[d->roots.count++] = packet->peer;
  d->roots.begin[d->roots.count] = begin + list.count;
}

/* The lists that came, and this rank's own, by ascending rank. */
static void join_lists(draft *d)
{
  const grove_packet *own = d->own.data ? &d->own : NULL;
  d->roots.begin[0] = 0;
  for (int i = 0; i < d->exchange.ncame; i++) {
    if (own && own->peer < d->exchange.came[i].peer) {
      add_list(d, own);
      own = NULL;
    }
    add_list(d, &d->exchange.came[i]);
  }
  if (own) add_list(d, own);
  grove_index_settle(&d->roots.slots);
}

/* ---- the leaves' part ---- */

/* The position in the user's list of the leaf that is number `position` in its group. */
static int64_t find_bad_entry(const grove_forest *f, int group, int64_t position)
{
  int bits = grove_bits(f->leaves.count);
  for (int64_t i = 0;; i++)
    if (grove_edge_group(grove_index_at(&f->edges, i), bits) == group && position-- == 0) return i;
}

/* Only the leaf's rank knows which leaf an owner complains about, so it writes the sentence. */
static grove_status explain_answer(const grove_forest *f, int owner, const grove_answer *answer)
{
  int g = 0;
  if (answer->status != GROVE_ERR_GRAPH)
    return grove_error((grove_status)answer->status, __FILE__, __LINE__,
                       "rank %d: no memory for the list of its leaves", owner);
  while (f->leaves.ranks[g] != owner) g++;
  int64_t position = answer->facts[0], entry = find_bad_entry(f, g, position);
  return grove_error(
    GROVE_ERR_GRAPH, __FILE__, __LINE__,
    "rank %d: leaf %lld (entry %lld of its list) is joined to root %lld of rank %d, which owns "
    "%lld roots",
    f->ctx->rank, (long long)grove_index_at(&f->leaves.slots, f->leaves.begin[g] + position),
    (long long)entry, (long long)(grove_index_at(&f->edges, entry) >> grove_bits(f->leaves.count)),
    owner, (long long)answer->facts[1]);
}

/* Adds the forest's name to the sentence of a failure. */
static grove_status name_failure(const grove_forest *f, grove_status status)
{
  char sentence[GROVE_SENTENCE_BYTES];
  if (status == GROVE_OK) return GROVE_OK;
  snprintf(sentence, sizeof sentence, "%.800s (forest '%.100s')", grove_last_error(),
           grove_forest_label(f));
  return grove_error_set(status, sentence);
}

static grove_status heed_answer(void *self, const grove_packet *packet, const grove_answer *answer)
{
  const grove_forest *f = ((draft *)self)->forest;
  return name_failure(f, explain_answer(f, packet->peer, answer));
}

/* All groups; this rank's own needs no message. */
static grove_status write_lists(grove_forest *f, draft *d)
{
  grove_answer answer = {0};
  GROVE_PASS_NEW(d->exchange.sent, f->leaves.count);
  if (!f->leaves.repeats) GROVE_PASS_NEW(f->leaves.repeats, f->leaves.count);
  for (int g = 0; g < f->leaves.count; g++)
    GROVE_PASS(write_list_to(
      f, g, f->leaves.ranks[g] == f->ctx->rank ? &d->own : &d->exchange.sent[d->exchange.nsent++]));
  if (d->own.data) judge_list(d, &d->own, &answer);
  if (answer.status != GROVE_OK) return explain_answer(f, d->own.peer, &answer);
  d->exchange.self = d;
  d->exchange.judge = judge_list;
  d->exchange.heed = heed_answer;
  return GROVE_OK;
}

/* ---- agreement ---- */

enum { FORMS = GROVE_FORM_PATTERN + GROVE_ALLTOALL + 1 };

static const char *name_form(int64_t form)
{
  static const char *const names[FORMS] = {
    [GROVE_FORM_PAIRS] = "grove_forest_set_graph",
    [GROVE_FORM_GLOBAL] = "grove_forest_set_graph_global",
    [GROVE_FORM_PATTERN + GROVE_ALLGATHER] = "GROVE_ALLGATHER",
    [GROVE_FORM_PATTERN + GROVE_GATHER] = "GROVE_GATHER",
    [GROVE_FORM_PATTERN + GROVE_ALLTOALL] = "GROVE_ALLTOALL"};
  return names[form];
}

/* Of the ranks whose form is the greatest, and of all others, the first ones. Agreed by all. */
static grove_status refuse_forms(const grove_forest *f, int64_t greatest)
{
  grove_context *ctx = f->ctx;
  int64_t mine = (int64_t)(ctx->size - ctx->rank) * FORMS + f->graph.form;
  int64_t first[2] = {f->graph.form == greatest ? mine : 0, f->graph.form == greatest ? 0 : mine};
  GROVE_PASS(grove_context_agree(ctx, GROVE_OK, first, 2));
  int64_t low = first[0] > first[1] ? first[0] : first[1];
  int64_t high = first[0] > first[1] ? first[1] : first[0];
  int one = ctx->size - (int)(low / FORMS), other = ctx->size - (int)(high / FORMS);
  return grove_error(GROVE_ERR_GRAPH, __FILE__, __LINE__,
                     "rank %d: forest '%.100s': the ranks set its graph in different ways: rank %d "
                     "by %s, rank %d by %s; all must set it in the same way",
                     other, grove_forest_label(f), one, name_form(low % FORMS), other,
                     name_form(high % FORMS));
}

/* Do all ranks have the same kind of graph? A rank in another call has none. Agreed by all. */
static grove_status check_form(const grove_forest *f, const int64_t *form)
{
  char what[160];
  if (form[1] >= 0) return grove_context_refuse_call(f->ctx);
  if (form[0] != -form[1]) return refuse_forms(f, form[0]);
  if (form[0] != GROVE_FORM_PATTERN + GROVE_ALLTOALL) return GROVE_OK;
  snprintf(what, sizeof what, "forest '%.100s': n of GROVE_ALLTOALL", grove_forest_label(f));
  return grove_context_same(f->ctx, GROVE_ERR_GRAPH, what, f->graph.n, form + 2);
}

/* Agreed by all. */
static grove_status exchange_lists(grove_forest *f, draft *d, grove_status mine, int64_t *values,
                                   int n)
{
  grove_status status =
    grove_context_exchange(f->ctx, name_failure(f, mine), values, n, &d->exchange);
  if (d->exchange.nsent > 0 && !d->exchange.sent) { /* MPI may still be reading the lists */
    f->lists = (grove_index){0};
    grove_leaves_free(f);
  }
  return status;
}

/* The first exchange. For pairs it is the only one; other forms only learn that all ranks have the
 * same form. Agreed by all. */
static grove_status exchange_pairs(grove_forest *f, draft *d, grove_status mine)
{
  const grove_graph *graph = &f->graph;
  int grouped = f->grouped && graph->form == GROVE_FORM_PAIRS;
  int64_t form[5] = {graph->form, -graph->form, graph->n, ~graph->n, f->has_duplicates};
  if (mine == GROVE_OK) mine = make_list_room(d);
  if (mine == GROVE_OK) mine = grouped ? write_lists(f, d) : grove_graph_validate(graph, f->ctx);
  GROVE_PASS(exchange_lists(f, d, mine, form, 5));
  f->some_duplicates = (int)form[4];
  return check_form(f, form);
}

/* Turns other forms into pairs, and exchanges those. Agreed by all. */
static grove_status exchange_resolved(grove_forest *f, draft *d)
{
  grove_status mine = grove_graph_resolve(&f->graph, f->ctx);
  if (mine == GROVE_OK) mine = grove_leaves_create(f, &f->graph);
  if (mine == GROVE_OK && !f->grouped) mine = grove_graph_validate(&f->graph, f->ctx);
  if (mine == GROVE_OK) mine = write_lists(f, d);
  int64_t duplicates = f->has_duplicates;
  GROVE_PASS(exchange_lists(f, d, mine, &duplicates, 1));
  f->some_duplicates = (int)duplicates;
  return GROVE_OK;
}

static void adopt_draft(grove_forest *f, draft *d)
{
  f->nroots = f->graph.nroots;
  f->nleaves = f->graph.nleaves;
  f->roots = d->roots;
  d->roots = (grove_side){0};
  grove_index_free(&f->lists);
  grove_graph_free(&f->graph);
  f->serial = f->ctx->forests++;
  f->ready = 1;
}

static grove_status set_up(grove_forest *f, grove_status mine)
{
  grove_status status = GROVE_OK;
  draft d = {.forest = f};
  GROVE_TRY(exchange_pairs(f, &d, mine));
  if (f->graph.form != GROVE_FORM_PAIRS) GROVE_TRY(exchange_resolved(f, &d));
  join_lists(&d);
  adopt_draft(f, &d);
fail:
  free_draft(&d);
  return status;
}

grove_status grove_forest_complete(grove_forest *f, grove_status mine)
{
  GROVE_PASS(grove_context_enter_call(f->ctx, "grove_forest_set_up"));
  double since = grove_trace_clock(f->ctx);
  grove_status status = set_up(f, mine);
  if (status == GROVE_OK) grove_trace_set_up(f->ctx, grove_forest_label(f), f->serial, since);
  grove_context_leave_call(f->ctx);
  return status;
}

grove_status grove_forest_set_up(grove_forest *f)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(f, GROVE_ERR_ARG, "grove_forest_set_up: the forest is NULL");
  if (!f->ready) GROVE_TRY(grove_forest_complete(f, GROVE_OK));
fail:
  return GROVE_VERDICT(f, status);
}
