/* What a mark touches lies together: a cell has the counter of a group, its deadline and its bits.
 * Up to 64 groups, threads that mark different parts seldom meet. Each word of bits has its own
 * cache line, and words are not filled up: there are about 64 of them, however they are divided
 * among groups. With more groups that would take too much memory, so cells are packed.
 *
 * Bits come twice. A mark *claims* parts, word by word, and may have to give its claims back when
 * it finds one taken: nobody acts on claims. Parts are *ready* when the call that claimed them went
 * through. The two words of the same parts lie side by side.
 *
 * All marks of a group share its counter, so most of them do not touch it: it counts words of ready
 * bits that are not full. A part is claimed once, so exactly one mark fills a word. By then it has
 * acquired what all the others released there, and passes that on when it subtracts.
 *
 * With a delta the counter counts parts, and every mark subtracts. The counter then also says
 * whether the deadline of its group has passed (OPEN). Whoever drives sets OPEN and then reads the
 * bits; a mark sets its bits and then subtracts. Both change one word, so one of the two comes
 * first: either the mark is seen, or it sees that the group is open and announces it.
 *
 * The last thing that a mark does to a cell is to subtract or, if it fills no word, to set its
 * bits. A round is over only when all words are full and everything has been subtracted, so after
 * that a mark looks neither at cells nor at groups. Its announcement may come as late as in the
 * next round. The board stays in place, and whoever drives looks at the counter too.
 */
#include "parts/readiness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 64, OWN_LINES = 64, WORD_BITS = 64 };

/* Words of parts: enough of them that threads rarely collide, and at least 8 parts in each, so that
 * few marks fill one. */
enum { ENOUGH_WORDS = 64, LEAST_LOG2 = 3, MOST_LOG2 = 6 };

/* In a counter, beside the number of missing ones. */
#define OPEN   ((uint64_t)1 << 62)
#define GONE   ((uint64_t)1 << 61) /* all of the group has left */
#define NUMBER (GONE - 1)

/* A word of parts. */
typedef struct bits {
  uint64_t claimed, ready;
} bits;

typedef struct cell {
  uint64_t missing; /* words; with a delta, parts */
  double deadline;  /* infinity: nothing is marked; minus infinity: it has passed */
  bits words[];     /* `apart` from one to the next: the first lies beside the counter */
} cell;

typedef struct group {
  int64_t first, count;
  cell *at;
  uint64_t *left; /* parts that have left; for whoever drives */
} group;

typedef struct board {
  uint64_t news;   /* announcements so far, in all rounds */
  double earliest; /* the earliest deadline, or an earlier time */
  uint64_t due[];  /* groups to look at, one bit each */
} board;

struct grove_readiness {
  int64_t parts, ngroups;
  double delta;
  int timed;
  int log2;      /* of the parts in a word */
  int64_t apart; /* distance of a group's words; 1: side by side */
  group *groups;
  int32_t *group_of; /* each part */
  double *times;     /* of marks */
  board *board;
  void *cell_memory, *board_memory; /* what they lie in */
  uint64_t *left_memory;
  char line_[LINE_BYTES];
  /* For whoever drives. */
  uint64_t seen;           /* the news when nothing was due any more */
  int64_t looked_at, from; /* the group whose runs leave, -1: none; and its next part */
  int64_t left;            /* parts: atomic */
};

/* ---- groups and cells ---- */

static int64_t words_of(int64_t n)
{
  return (n + WORD_BITS - 1) / WORD_BITS;
}

/* Words for this many parts of one group. */
static int64_t part_words(const grove_readiness *r, int64_t parts)
{
  return (parts + ((int64_t)1 << r->log2) - 1) >> r->log2;
}

static bits *word_of_group(const grove_readiness *r, const group *of, int64_t word)
{
  return &of->at->words[word * r->apart];
}

static void *on_a_line(void *memory)
{
  return (void *)(((uintptr_t)memory + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
}

/* In units of `bits`, which is also the size of a cell without words. */
static int64_t cell_size(int64_t words, int64_t apart)
{
  return apart > 1 ? words * apart : 1 + words;
}

grove_status grove_readiness_follow(grove_readiness *r, const grove_part_plan *plan)
{
  grove_status status = GROVE_OK;
  group *groups = NULL;
  bits *cells = NULL;
  uint64_t *left = NULL;
  int64_t apart = plan->ngroups <= OWN_LINES ? LINE_BYTES / (int64_t)sizeof(bits) : 1;
  int64_t size = 0, words = 0;
  for (int64_t g = 0; g < plan->ngroups; g++) {
    int64_t mine = part_words(r, plan->first[g + 1] - plan->first[g]);
    size += cell_size(mine, apart);
    words += mine;
  }
  GROVE_NEW(groups, plan->ngroups);
  GROVE_NEW(cells, size + LINE_BYTES / (int64_t)sizeof(bits));
  GROVE_NEW(left, words);
  bits *at = on_a_line(cells);
  uint64_t *left_at = left;
  for (int64_t g = 0; g < plan->ngroups; g++) {
    int64_t count = plan->first[g + 1] - plan->first[g], mine = part_words(r, count);
    groups[g] = (group){plan->first[g], count, (cell *)(void *)at, left_at};
    for (int64_t p = 0; p < count; p++) r->group_of[plan->first[g] + p] = (int32_t)g;
    at += cell_size(mine, apart);
    left_at += mine;
  }
  free(r->groups);
  free(r->cell_memory);
  free(r->left_memory);
  r->groups = groups;
  r->cell_memory = cells;
  r->left_memory = left;
  r->ngroups = plan->ngroups;
  r->delta = plan->delta;
  r->apart = apart;
  return GROVE_OK;
fail:
  free(groups);
  free(cells);
  free(left);
  return status;
}

grove_status grove_readiness_create(int64_t parts, grove_readiness **out)
{
  grove_status status = GROVE_OK;
  grove_readiness *r = NULL;
  uint64_t *memory = NULL;
  int64_t ends[2] = {0, parts};
  GROVE_CHECK(parts >= 0 && parts <= INT32_MAX, GROVE_ERR_ARG, "%lld parts; there may be 0 to %d",
              (long long)parts, INT32_MAX);
  GROVE_NEW(r, 1);
  r->parts = parts;
  r->log2 = LEAST_LOG2;
  while (r->log2 < MOST_LOG2 && parts > (int64_t)ENOUGH_WORDS << r->log2) r->log2++;
  GROVE_NEW(r->group_of, parts);
  GROVE_NEW(r->times, parts);
  GROVE_NEW(memory, (int64_t)((2 * LINE_BYTES + sizeof(board)) / sizeof *memory) + words_of(parts));
  r->board_memory = memory;
  r->board = on_a_line(memory);
  GROVE_TRY(grove_readiness_follow(r, &(grove_part_plan){.ngroups = parts > 0, .first = ends}));
  grove_readiness_begin(r, 0);
  *out = r;
  return GROVE_OK;
fail:
  grove_readiness_free(&r);
  return status;
}

void grove_readiness_free(grove_readiness **r)
{
  if (!*r) return;
  free((*r)->groups);
  free((*r)->group_of);
  free((*r)->times);
  free((*r)->cell_memory);
  free((*r)->board_memory);
  free((*r)->left_memory);
  free(*r);
  *r = NULL;
}

static void store_time(double *at, double seconds, int order)
{
  __atomic_store(at, &seconds, order);
}

static double load_time(const double *at, int order)
{
  double seconds = 0;
  __atomic_load(at, &seconds, order);
  return seconds;
}

void grove_readiness_begin(grove_readiness *r, int timed)
{
  for (int64_t g = 0; g < r->ngroups; g++) {
    const group *of = &r->groups[g];
    int64_t words = part_words(r, of->count);
    for (int64_t w = 0; w < words; w++) *word_of_group(r, of, w) = (bits){0, 0};
    memset(of->left, 0, (size_t)words * sizeof *of->left);
    __atomic_store_n(&of->at->missing, (uint64_t)(r->delta > 0 ? of->count : words),
                     __ATOMIC_RELAXED);
    store_time(&of->at->deadline, INFINITY, __ATOMIC_RELAXED);
  }
  for (int64_t w = 0; w < words_of(r->ngroups); w++)
    __atomic_store_n(&r->board->due[w], 0, __ATOMIC_RELAXED);
  store_time(&r->board->earliest, INFINITY, __ATOMIC_RELAXED);
  for (int64_t p = 0; timed && p < r->parts; p++)
    store_time(&r->times[p], (double)NAN, __ATOMIC_RELAXED);
  r->timed = timed;
  r->looked_at = -1;
  __atomic_store_n(&r->left, 0, __ATOMIC_RELAXED);
}

/* ---- marks ---- */

/* The parts of `part` .. `end` - 1 that are in one word. */
typedef struct stretch {
  const group *of;
  bits *at;
  int64_t parts;
  int shift;
  uint64_t mask, full; /* full: all parts of the group that are in the word */
} stretch;

static uint64_t low_bits(int64_t n)
{
  return ~(uint64_t)0 >> (WORD_BITS - n);
}

static stretch stretch_at(const grove_readiness *r, int64_t part, int64_t end)
{
  const group *of = &r->groups[r->group_of[part]];
  int64_t bit = part - of->first, word = bit >> r->log2, first = word << r->log2;
  int64_t room = (int64_t)1 << r->log2, stop = end - of->first - first;
  if (room > of->count - first) room = of->count - first;
  if (stop > room) stop = room;
  stretch p = {.of = of, .at = word_of_group(r, of, word), .shift = (int)(bit - first)};
  p.parts = stop - p.shift;
  p.mask = low_bits(p.parts) << p.shift;
  p.full = low_bits(room);
  return p;
}

static void give_back(grove_readiness *r, int64_t first, int64_t end)
{
  while (first < end) {
    stretch p = stretch_at(r, first, end);
    __atomic_fetch_and(&p.at->claimed, ~p.mask, __ATOMIC_RELAXED);
    first += p.parts;
  }
}

/* The first part that is claimed; -1: none. */
static int64_t find_claimed(const grove_readiness *r, int64_t first, int64_t end)
{
  while (first < end) {
    stretch p = stretch_at(r, first, end);
    uint64_t taken = __atomic_load_n(&p.at->claimed, __ATOMIC_RELAXED) & p.mask;
    if (taken) return first + __builtin_ctzll(taken >> p.shift);
    first += p.parts;
  }
  return -1;
}

/* -1, or the first part that another call has claimed: then no claim is left. A call that fails
 * whatever the others do claims nothing, since that could make them fail. */
static int64_t claim_parts(grove_readiness *r, int64_t first, int64_t end)
{
  int64_t taken = end - first > 1 ? find_claimed(r, first, end) : -1;
  if (taken >= 0) return taken;
  for (int64_t part = first; part < end;) {
    stretch p = stretch_at(r, part, end);
    uint64_t before = __atomic_fetch_or(&p.at->claimed, p.mask, __ATOMIC_RELAXED);
    if (before & p.mask) {
      __atomic_fetch_and(&p.at->claimed, before | ~p.mask, __ATOMIC_RELAXED);
      give_back(r, first, part);
      return part + __builtin_ctzll((before & p.mask) >> p.shift);
    }
    part += p.parts;
  }
  return -1;
}

static void announce_group(board *b, int64_t g)
{
  __atomic_fetch_or(&b->due[g / WORD_BITS], (uint64_t)1 << g % WORD_BITS, __ATOMIC_RELEASE);
  __atomic_fetch_add(&b->news, 1, __ATOMIC_RELEASE);
}

/* Always writes, so that whoever sets it to infinity afterwards sees the deadline itself. */
static void lower_count(double *earliest, double deadline)
{
  double before = load_time(earliest, __ATOMIC_RELAXED), after = 0;
  do {
    after = deadline < before ? deadline : before;
  } while (
    !__atomic_compare_exchange(earliest, &before, &after, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

/* 1 if this call set the deadline. */
static int arm_group(grove_readiness *r, const group *of, double now)
{
  double unarmed = INFINITY, deadline = now + r->delta;
  if (load_time(&of->at->deadline, __ATOMIC_RELAXED) < unarmed) return 0;
  if (!__atomic_compare_exchange(&of->at->deadline, &unarmed, &deadline, 0, __ATOMIC_RELAXED,
                                 __ATOMIC_RELAXED))
    return 0;
  lower_count(&r->board->earliest, deadline);
  return 1;
}

/* 1 if something of the group may leave; that is announced. */
static int subtract_marks(grove_readiness *r, int64_t g, int64_t n)
{
  board *b = r->board;
  uint64_t before = __atomic_fetch_sub(&r->groups[g].at->missing, (uint64_t)n, __ATOMIC_ACQ_REL);
  if ((before & NUMBER) != (uint64_t)n && !(before & OPEN)) return 0;
  announce_group(b, g);
  return 1;
}

/* The same for full words. A mark that fills all words of a group, such as a group of one word, is
 * the only one to touch its counter. */
static int subtract_words(grove_readiness *r, int64_t g, int64_t n)
{
  const group *of = &r->groups[g];
  board *b = r->board;
  if (n < part_words(r, of->count)) return subtract_marks(r, g, n);
  __atomic_store_n(&of->at->missing, 0, __ATOMIC_RELEASE);
  announce_group(b, g);
  return 1;
}

static void keep_times(grove_readiness *r, int64_t first, int64_t end, double now)
{
  for (int64_t part = first; part < end; part++) store_time(&r->times[part], now, __ATOMIC_RELAXED);
}

/* Without a delta: sets bits of one group. Returns the number of words that this fills. */
static int64_t fill_cells(grove_readiness *r, int64_t first, int64_t end)
{
  int64_t filled = 0;
  while (first < end) {
    stretch p = stretch_at(r, first, end);
    uint64_t before = __atomic_fetch_or(&p.at->ready, p.mask, __ATOMIC_ACQ_REL);
    filled += (before | p.mask) == p.full;
    first += p.parts;
  }
  return filled;
}

/* With a delta: sets bits of one group, and a deadline unless it is all marked. 1 if that is new.
 */
static int set_ready(grove_readiness *r, int64_t first, int64_t end, double now)
{
  const group *of = &r->groups[r->group_of[first]];
  int is_all = end - first == of->count;
  while (first < end) {
    stretch p = stretch_at(r, first, end);
    __atomic_fetch_or(&p.at->ready, p.mask, __ATOMIC_RELEASE);
    first += p.parts;
  }
  return !is_all && arm_group(r, of, now);
}

/* Marks claimed parts of one group: 1 if something is due. */
static int mark_group(grove_readiness *r, int64_t g, int64_t first, int64_t end, double now)
{
  if (r->delta > 0) {
    int armed = set_ready(r, first, end, now);
    return subtract_marks(r, g, end - first) | armed;
  }
  int64_t filled = fill_cells(r, first, end);
  return filled > 0 && subtract_words(r, g, filled);
}

int64_t grove_readiness_mark(grove_readiness *r, int64_t first, int64_t count, double now, int *due)
{
  int64_t end = first + count, twice = claim_parts(r, first, end);
  int news = 0;
  *due = 0;
  if (twice >= 0) return twice;
  if (r->timed) keep_times(r, first, end, now);
  for (int64_t part = first; part < end;) {
    int64_t g = r->group_of[part], stop = r->groups[g].first + r->groups[g].count;
    if (stop > end) stop = end;
    news |= mark_group(r, g, part, stop, now);
    part = stop;
  }
  *due = news;
  return -1;
}

/* ---- what leaves ---- */

static void count_left(grove_readiness *r, int64_t parts)
{
  __atomic_store_n(&r->left, r->left + parts, __ATOMIC_RELEASE);
}

/* Opens the groups whose deadline has passed. */
static void open_late_groups(grove_readiness *r, double now)
{
  double never = INFINITY, passed = -INFINITY, before = 0, next = never;
  __atomic_exchange(&r->board->earliest, &never, &before, __ATOMIC_ACQ_REL);
  for (int64_t g = 0; g < r->ngroups; g++) {
    cell *c = r->groups[g].at;
    double deadline = load_time(&c->deadline, __ATOMIC_RELAXED);
    if (deadline > now) {
      if (deadline < next) next = deadline;
    } else if (deadline > passed) {
      store_time(&c->deadline, passed, __ATOMIC_RELAXED);
      __atomic_fetch_or(&c->missing, OPEN, __ATOMIC_ACQ_REL);
      announce_group(r->board, g);
    }
  }
  if (next < never) lower_count(&r->board->earliest, next);
}

/* The next group to look at, which is taken off the board; -1: none. */
static int64_t next_due(grove_readiness *r)
{
  for (int64_t w = 0; w < words_of(r->ngroups); w++) {
    uint64_t *word = &r->board->due[w], due = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (due == 0) continue;
    uint64_t lowest = due & (~due + 1);
    __atomic_fetch_and(word, ~lowest, __ATOMIC_ACQUIRE);
    return w * WORD_BITS + __builtin_ctzll(lowest);
  }
  return -1;
}

/* The first part of a group, from `from` on, that is ready and has not left; with `want` 0, the
 * first that is not. The end of the group if there is none. */
static int64_t find_group(const grove_readiness *r, const group *of, int64_t from, int want)
{
  while (from < of->count) {
    int64_t w = from >> r->log2, first = w << r->log2;
    uint64_t found =
      __atomic_load_n(&word_of_group(r, of, w)->ready, __ATOMIC_ACQUIRE) & ~of->left[w];
    if (!want) found = ~found;
    found &= low_bits((int64_t)1 << r->log2) & ~(uint64_t)0 << (from - first);
    if (found) {
      from = first + __builtin_ctzll(found);
      break;
    }
    from = first + ((int64_t)1 << r->log2);
  }
  return from < of->count ? from : of->count;
}

/* The next run of the group being looked at; 0: none. */
static int next_run(grove_readiness *r, grove_part_run *run)
{
  const group *of = &r->groups[r->looked_at];
  int64_t first = find_group(r, of, r->from, 1), end = find_group(r, of, first, 0);
  r->from = end;
  if (first == end) return 0;
  for (int64_t part = first; part < end; part++) {
    int64_t w = part >> r->log2;
    of->left[w] |= (uint64_t)1 << (part - (w << r->log2));
  }
  *run = (grove_part_run){of->first + first, end - first};
  return 1;
}

/* Looks at a group that was announced: 1 if all of it leaves at once. An announcement left from the
 * last round may be about nothing, perhaps not even about a group. */
static int look_at_group(grove_readiness *r, int64_t g, grove_part_run *run)
{
  if (g >= r->ngroups) return 0;
  const group *of = &r->groups[g];
  uint64_t missing = __atomic_load_n(&of->at->missing, __ATOMIC_ACQUIRE);
  if ((missing & GONE) || ((missing & NUMBER) != 0 && !(missing & OPEN))) return 0;
  if ((missing & NUMBER) == 0) {
    store_time(&of->at->deadline, -INFINITY, __ATOMIC_RELAXED);
    __atomic_fetch_or(&of->at->missing, GONE, __ATOMIC_RELAXED);
  }
  if (missing & OPEN) {
    r->looked_at = g;
    r->from = 0;
    return 0;
  }
  *run = (grove_part_run){of->first, of->count};
  return 1;
}

int grove_readiness_take(grove_readiness *r, double now, grove_part_run *run)
{
  for (;;) {
    if (r->looked_at >= 0) {
      if (next_run(r, run)) break;
      r->looked_at = -1;
    }
    if (r->delta > 0 && now >= load_time(&r->board->earliest, __ATOMIC_RELAXED))
      open_late_groups(r, now);
    uint64_t news = __atomic_load_n(&r->board->news, __ATOMIC_ACQUIRE);
    if (news == r->seen) return 0;
    int64_t g = next_due(r);
    if (g < 0) {
      r->seen = news;
      return 0;
    }
    if (look_at_group(r, g, run)) break;
  }
  count_left(r, run->count);
  return 1;
}

double grove_readiness_deadline(const grove_readiness *r)
{
  double least = INFINITY;
  for (int64_t g = 0; r->delta > 0 && g < r->ngroups; g++) {
    double deadline = load_time(&r->groups[g].at->deadline, __ATOMIC_RELAXED);
    if (deadline > -INFINITY && deadline < least) least = deadline;
  }
  return least;
}

/* ---- how far it is ---- */

int grove_readiness_is_over(const grove_readiness *r)
{
  if (__atomic_load_n(&r->left, __ATOMIC_ACQUIRE) < r->parts) return 0;
  for (int64_t g = 0; r->delta > 0 && g < r->ngroups; g++)
    if ((__atomic_load_n(&r->groups[g].at->missing, __ATOMIC_ACQUIRE) & NUMBER) > 0)
      return 0; /* its last mark is under way */
  return 1;
}

int64_t grove_readiness_marked(const grove_readiness *r)
{
  int64_t marked = 0;
  for (int64_t g = 0; g < r->ngroups; g++) {
    const group *of = &r->groups[g];
    for (int64_t w = 0; w < part_words(r, of->count); w++)
      marked +=
        __builtin_popcountll(__atomic_load_n(&word_of_group(r, of, w)->ready, __ATOMIC_ACQUIRE));
  }
  return marked;
}

int grove_readiness_is_marked(const grove_readiness *r, int64_t part)
{
  stretch p = stretch_at(r, part, part + 1);
  return (__atomic_load_n(&p.at->ready, __ATOMIC_ACQUIRE) & p.mask) != 0;
}

double grove_readiness_time(const grove_readiness *r, int64_t part)
{
  return r->timed ? load_time(&r->times[part], __ATOMIC_RELAXED) : (double)NAN;
}
