/* The option `wisdom`: a file of routes that were the faster ones when they were tried.
 *
 * Rank 0 adds a line for each contest (contest.c) that is decided:
 *
 *     0.1 neoverse-n1-tcp-open-mpi-v4.1.4-2c-nodes 16/4 bcast 8 9f86d081884c7d65 3-step 12.30
 *     standard 25.10 # forest 'halo'
 *
 * That is Grove's version, the machine, ranks and nodes, the operation and the bytes of its unit; a
 * digest of all else that the answer depends on: the forest, where the ranks are, options; then the
 * faster route and the other one, each with microseconds. Behind '#' is what only people read. The
 * last line about an operation counts, so programs merge what they found by adding lines.
 *
 * An operation asks before it is wired: rank 0 looks and tells all. An answer holds as long as its
 * two routes are those that would be tried now. If they are not, prices have changed since.
 */
#include "exec/plans.h"

#include "base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is asked ---- */

enum { SEED_OF_SUMS = 0x67726f76 };

static uint64_t mix_value(uint64_t sum, int64_t value)
{
  return grove_digest_word(sum, (uint64_t)value);
}

static uint64_t mix_text(uint64_t sum, const char *text)
{
  for (; *text; text++) sum = mix_value(sum, (unsigned char)*text);
  return mix_value(sum, -1);
}

static uint64_t mix_index(uint64_t sum, const grove_index *x)
{
  for (int64_t i = 0; i < x->count; i++) sum = mix_value(sum, grove_index_at(x, i));
  return sum;
}

static uint64_t mix_edges(uint64_t sum, const grove_forest *f)
{
  const grove_side *side = &f->leaves;
  sum = mix_value(mix_value(mix_value(sum, f->ctx->rank), f->nroots), f->nleaves);
  for (int g = 0; g < side->count; g++)
    sum = mix_value(mix_value(sum, side->ranks[g]), side->begin[g + 1]);
  return mix_index(mix_index(sum, &f->edges), &side->slots);
}

/* A number that differs if the graph does, on any rank. Once per forest. Agreed by all. */
static grove_status digest_forest(const grove_forest *f)
{
  grove_compiled *c = f->compiled; /* made when the request was looked at */
  int64_t before = 0;
  if (c->digest) return GROVE_OK;
  uint64_t mine = mix_edges(SEED_OF_SUMS, f);
  /* Fewer bits, so that no sum overflows. */
  return grove_context_offsets(f->ctx, (int64_t)(mine >> 30) + 1, &before, &c->digest);
}

/* Options that change what is sent, but for those that say how to choose. */
static uint64_t mix_options(uint64_t sum, const grove_options *options)
{
  static const char *const others[] = {"route", "effort", "machine", "wisdom"};
  for (int i = 0; i < GROVE_OPTION_COUNT; i++) {
    const char *name = grove_option_describe(i).name;
    int k = 0;
    while (k < 4 && strcmp(name, others[k]) != 0) k++;
    if (k == 4 && grove_options_recompiles(name)) sum = mix_text(sum, options->text[i]);
  }
  return sum;
}

static uint64_t mix_places(uint64_t sum, const grove_topo *topo)
{
  for (int r = 0; r < topo->nranks; r++) sum = mix_value(sum, topo->place[r].node);
  return sum;
}

static uint64_t mix_fields(uint64_t sum, int n, const grove_request *requests,
                           const grove_wiring_key *keys)
{
  for (int k = 0; k < n; k++) {
    const grove_compiled *c = requests[k].forest->compiled;
    const int64_t facts[] = {c->digest, keys[k].operation, keys[k].unit_bytes, keys[k].merges};
    for (int i = 0; i < 4; i++) sum = mix_value(sum, facts[i]);
  }
  return sum;
}

/* The beginning of a line, with a blank at its end. */
static void write_asked(grove_context *ctx, int n, const grove_request *requests,
                        const grove_wiring_key *keys, grove_routing *routing)
{
  int major, minor, patch;
  char machine[GROVE_MACHINE_NAME_BYTES], several[16] = "";
  int64_t bytes = 0;
  uint64_t sum = mix_options(mix_value(SEED_OF_SUMS, routing->lifted), &ctx->options);
  sum = mix_fields(mix_places(sum, &ctx->topo), n, requests, keys);
  for (int k = 0; k < n; k++) bytes += keys[k].unit_bytes;
  if (n > 1) snprintf(several, sizeof several, "+%d", n - 1);
  (void)grove_version(&major, &minor, &patch);
  grove_context_machine_name(ctx, machine, sizeof machine);
  snprintf(routing->question, sizeof routing->question, "%d.%d %s %d/%d %s%s %lld %016llx ", major,
           minor, machine, ctx->size, ctx->topo.nnodes, grove_operation_name(keys[0].operation),
           several, (long long)bytes, (unsigned long long)sum);
}

/* ---- what the file says ---- */

/* Names of routes; "": it says nothing. */
typedef struct answer {
  char winner[16], loser[16];
} answer;

/* Do both begin with the same words? */
static int begins_with_words(const char *question, const char *text, int words)
{
  size_t length = 0;
  for (int i = 0; i < words; i++) length += strcspn(question + length, " ") + 1;
  return strncmp(question, text, length) == 0;
}

static void read_wisdom_line(grove_wisdom_log *log, const char *question, const char *line,
                             answer *out)
{
  enum { VERSION = 1, MACHINE = 2 };
  answer a;
  int end = 0;
  double seconds[2];
  if (line[strspn(line, " \t\r\n")] == '\0' || *line == '#') return;
  if (sscanf(line, "%*s %*s %*s %*s %*s %*16[0-9a-f] %n%15s %lf %15s %lf", &end, a.winner,
             &seconds[0], a.loser, &seconds[1]) != 4) {
    if (log->damaged++ == 0) log->damaged_line = log->line;
  } else if (!begins_with_words(question, line, VERSION)) {
    log->of_versions++;
  } else if (!begins_with_words(question, line, MACHINE)) {
    log->of_machines++;
  } else if (strncmp(question, line, (size_t)end) == 0 && question[end] == '\0') {
    *out = a;
  }
}

/* GROVE_ERR_OPTION with what the system says. */
static grove_status refuse_wisdom(const grove_context *ctx, const char *what)
{
  return grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__,
                     "option wisdom: '%.300s' cannot be %s: %s", ctx->options.wisdom, what,
                     strerror(errno));
}

/* What routes are tried will be kept there. It is made now if it is not there. */
static grove_status check_writable(const grove_context *ctx)
{
  int file = open(ctx->options.wisdom, O_WRONLY | O_APPEND | O_CREAT, 0666);
  if (file < 0) return refuse_wisdom(ctx, "written");
  (void)close(file);
  return GROVE_OK;
}

static grove_status search_file(grove_context *ctx, int tried, const char *question, answer *out)
{
  grove_wisdom_log *log = &ctx->wisdom;
  char *line = NULL;
  size_t room = 0;
  if (tried) GROVE_PASS(check_writable(ctx));
  FILE *file = fopen(ctx->options.wisdom, "r");
  if (!file) return refuse_wisdom(ctx, "read");
  log->line = log->damaged = log->of_versions = log->of_machines = 0;
  errno = 0;
  while (getline(&line, &room, file) >= 0) {
    log->line++;
    read_wisdom_line(log, question, line, out);
  }
  int failed = !feof(file);
  free(line);
  (void)fclose(file);
  return failed ? refuse_wisdom(ctx, "read") : GROVE_OK;
}

/* ---- asking ---- */

enum { UNKNOWN, FAVOURITE, OTHER };

/* Which of the two that would be tried it was. */
static int compare_answer(grove_wisdom_log *log, const grove_choice *choice, const answer *a)
{
  const char *first = choice->candidates[choice->chosen].route->name;
  const char *second = choice->candidates[choice->runner_up].route->name;
  int found = UNKNOWN;
  if (!*a->winner) return UNKNOWN;
  if (strcmp(a->winner, first) == 0 && strcmp(a->loser, second) == 0) found = FAVOURITE;
  if (strcmp(a->winner, second) == 0 && strcmp(a->loser, first) == 0) found = OTHER;
  if (found == UNKNOWN)
    log->stale++;
  else
    log->taken++;
  return found;
}

grove_status grove_wisdom_ask(grove_context *ctx, int n, const grove_request *requests,
                              const grove_wiring_key *keys, grove_routing *routing)
{
  grove_choice *choice = &routing->choice;
  grove_status mine = GROVE_OK;
  int64_t found = UNKNOWN;
  if (!*ctx->options.wisdom || choice->runner_up < 0) return GROVE_OK; /* on every rank */
  for (int k = 0; k < n; k++) GROVE_PASS(digest_forest(requests[k].forest));
  if (ctx->rank == 0) {
    answer a = {"", ""};
    write_asked(ctx, n, requests, keys, routing);
    int tried = grove_forest_settings_of(requests[0].forest).effort == GROVE_EFFORT_MEASURE;
    mine = search_file(ctx, tried, routing->question, &a);
    if (mine == GROVE_OK) found = compare_answer(&ctx->wisdom, choice, &a);
  }
  GROVE_PASS(grove_context_agree(ctx, mine, &found, 1));
  if (found == OTHER) {
    int before = choice->chosen;
    choice->chosen = choice->runner_up;
    choice->runner_up = before;
  }
  routing->known = found != UNKNOWN;
  return GROVE_OK;
}

/* ---- adding ---- */

static const char heading[] =
  "# Grove's wisdom: routes that were the faster ones when they were tried (option wisdom).\n"
  "# version, machine, ranks/nodes, operation, bytes, digest; faster route, us, the other, us\n";

/* All at once, so that lines of several programs do not mix. 0: failed. */
static int append_text(int file, const char *text)
{
  size_t bytes = strlen(text);
  return write(file, text, bytes) == (ssize_t)bytes;
}

/* Ends a line that somebody did not finish. */
static int begin_line(int file)
{
  char last = '\n';
  off_t end = lseek(file, 0, SEEK_END);
  if (end == 0) return append_text(file, heading);
  if (end > 0 && pread(file, &last, 1, end - 1) != 1) return 0;
  return last == '\n' || append_text(file, "\n");
}

/* A name may have any characters. */
static void write_comment(char *out, size_t room, const char *forest)
{
  snprintf(out, room, " # forest '%.100s'\n", forest);
  for (char *at = out; at[0] && at[1]; at++)
    if ((unsigned char)*at < ' ') *at = '?';
}

void grove_wisdom_add(grove_context *ctx, const char *question, const char *forest,
                      const grove_outcome *winner, const grove_outcome *loser)
{
  char line[GROVE_QUESTION_BYTES + 256], comment[128];
  if (!*ctx->options.wisdom) return; /* not any more */
  write_comment(comment, sizeof comment, forest);
  snprintf(line, sizeof line, "%s%s %.2f %s %.2f%s", question, winner->route, winner->microseconds,
           loser->route, loser->microseconds, comment);
  int file = open(ctx->options.wisdom, O_RDWR | O_APPEND | O_CREAT, 0666);
  int added = file >= 0 && begin_line(file) && append_text(file, line);
  if (file >= 0) (void)close(file);
  *(added ? &ctx->wisdom.added : &ctx->wisdom.lost) += 1;
}
