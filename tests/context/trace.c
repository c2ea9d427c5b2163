/* The option `trace`: when the context is freed rank 0 writes one file for a timeline viewer, JSON
 * to the letter, with a row for each rank; every start has its wait, and no two spans of a row
 * overlap. What cannot be written is an error on every rank, and leaves nothing half written. */
#define _XOPEN_SOURCE 700 /* mkdtemp, setrlimit */
#include "context/trace.h"
#include "check.h"
#include "json.h"
#include "ring.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STARTS = 12, PATH_BYTES = 600 };

/* ---- files, in a folder of rank 0's ---- */

static char folder[200];

static void make_folder(void)
{
  const char *above = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.150s/grove-trace-XXXXXX", above ? above : "/tmp");
  if (world_rank() == 0) CHECK(mkdtemp(folder) != NULL, "no folder %s", folder);
  MPI_Request request;
  MPI_Ibcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  polite_wait(&request);
}

static const char *path_of(const char *name)
{
  static char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* How many files there are; with `remove` none are left. */
static int count_files(int remove_them)
{
  int n = 0;
  DIR *all = opendir(folder);
  CHECK(all != NULL, "no folder %s", folder);
  for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    n++;
    if (remove_them) unlink(path_of(entry->d_name));
  }
  closedir(all);
  return n;
}

/* ---- what a file says ---- */

typedef struct timeline {
  json *all;
  const json *events;
  int ranks;
} timeline;

static timeline timeline_read(const char *name)
{
  char *text = read_whole(path_of(name));
  timeline t = {.all = json_read(text)};
  t.events = json_find(t.all, "traceEvents");
  CHECK(t.events != NULL && t.events->kind == JSON_LIST, "no list of events");
  t.ranks = (int)json_number(json_find(t.all, "otherData"), "ranks");
  free(text);
  return t;
}

/* The event of this name about a rank. */
static const json *find_about(const timeline *t, int rank, const char *name)
{
  const json *found = NULL;
  for (int i = 0; i < t->events->n; i++) {
    const json *e = &t->events->items[i];
    if (strcmp(json_text(e, "ph"), "M") != 0 || strcmp(json_text(e, "name"), name) != 0) continue;
    if (json_number(e, "tid") != rank + 1) continue;
    CHECK(found == NULL, "two events %s of rank %d", name, rank);
    found = e;
  }
  CHECK(found != NULL, "no event %s of rank %d", name, rank);
  return json_find(found, "args");
}

/* The next span of this rank, from event `from` on; NULL at the end. */
static const json *next_span(const timeline *t, int rank, int *from)
{
  while (*from < t->events->n) {
    const json *e = &t->events->items[(*from)++];
    if (strcmp(json_text(e, "ph"), "X") == 0 && json_number(e, "tid") == rank + 1) return e;
  }
  return NULL;
}

static int is_kind(const json *span, const char *kind)
{
  return strcmp(json_text(span, "cat"), kind) == 0;
}

static double argument(const json *span, const char *key)
{
  return json_number(json_find(span, "args"), key);
}

static double end_of(const json *span)
{
  return json_number(span, "ts") + json_number(span, "dur");
}

/* Numbers of three decimals, as double precision has them. */
static const double TINY = 1e-4;

/* Two begins, a length and a time between, each off by a nanosecond at most. */
static const double ROUNDED = 0.004;

/* Does the wait or test belong to this start? Then the time between is what lies between: less if
 * there were other tests. */
static int ends(const json *wait, const json *start)
{
  const json *a = json_find(wait, "args"), *b = json_find(start, "args");
  if (json_number(a, "start") != json_number(b, "start")) return 0;
  if (json_number(a, "forest_number") != json_number(b, "forest_number")) return 0;
  return strcmp(json_text(wait, "name") + strlen(json_text(wait, "cat")),
                json_text(start, "name") + strlen("start")) == 0;
}

static void check_between(const json *wait, const json *start)
{
  double gap = json_number(wait, "ts") - end_of(start), between = argument(wait, "between_us");
  CHECK(between >= 0 && between <= gap + ROUNDED, "%g us between, and %g apart", between, gap);
  if (is_kind(wait, "wait")) CHECK(gap - between <= ROUNDED, "%g us, and %g apart", between, gap);
}

/* One row: in the order of time, nothing overlaps, every start is waited for. Returns its spans. */
static int check_row(const timeline *t, int rank)
{
  const json *span, *open = NULL;
  double last = 0;
  int n = 0;
  for (int i = 0; (span = next_span(t, rank, &i)) != NULL; n++) {
    CHECK(json_number(span, "pid") == 1, "a second process");
    CHECK(json_number(span, "ts") >= last - TINY, "a span at %g us, before %g",
          json_number(span, "ts"), last);
    CHECK(json_number(span, "dur") >= 0, "a span that ends before it begins");
    last = end_of(span);
    if (is_kind(span, "start")) {
      CHECK(open == NULL, "a start during another one");
      open = span;
    }
    if (is_kind(span, "wait") || is_kind(span, "test")) {
      CHECK(open != NULL && ends(span, open), "a %s without a start", json_text(span, "name"));
      check_between(span, open);
      open = NULL;
    }
  }
  CHECK(open == NULL, "a start without an end");
  CHECK(json_number(find_about(t, rank, "grove_rank"), "spans") == n, "%d spans of rank %d", n,
        rank);
  return n;
}

/* All rows, and no others. */
static void check_rows(const timeline *t, int ranks)
{
  CHECK(t->ranks == ranks, "%d ranks, not %d", t->ranks, ranks);
  for (int rank = 0; rank < ranks; rank++) {
    char name[64];
    const json *about = find_about(t, rank, "grove_rank");
    snprintf(name, sizeof name, "rank %d, node %d (%.30s", rank, (int)json_number(about, "node"),
             json_text(about, "host"));
    CHECK(strncmp(json_text(find_about(t, rank, "thread_name"), "name"), name, strlen(name)) == 0,
          "a row '%s', not '%s'", json_text(find_about(t, rank, "thread_name"), "name"), name);
    check_row(t, rank);
  }
  for (int i = 0; i < t->events->n; i++) {
    const json *tid = json_find(&t->events->items[i], "tid");
    CHECK(tid == NULL || (tid->number >= 1 && tid->number <= ranks), "a row %g", tid->number);
  }
}

/* Spans of this kind and name on a rank. */
static int count_spans(const timeline *t, int rank, const char *name)
{
  const json *span;
  int n = 0;
  for (int i = 0; (span = next_span(t, rank, &i)) != NULL;)
    n += strcmp(json_text(span, "name"), name) == 0;
  return n;
}

static void check_count(const timeline *t, const char *name, int n)
{
  for (int rank = 0; rank < t->ranks; rank++)
    CHECK(count_spans(t, rank, name) == n, "%d spans '%s' on rank %d, not %d",
          count_spans(t, rank, name), name, rank, n);
}

/* ---- what runs ---- */

static place open_traced(MPI_Comm comm, const char *name)
{
  place p = place_create(comm);
  CHECK_OK(grove_context_set(p.ctx, "trace", path_of(name)));
  return p;
}

static void close_traced(place *p)
{
  CHECK_OK(grove_context_free(&p->ctx));
  MPI_Comm_free(&p->comm);
}

static void use(const place *p, const char *name, int reduces)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, reduces);
  CHECK_OK(grove_forest_set_name(x.forest, name));
  ring_run(&x, STARTS);
  ring_close(&x);
}

/* Starts that end by a test, by an end, and inside one call. */
static void use_otherwise(const place *p)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, 0);
  ring_init(&x);
  CHECK_OK(grove_start(x.op));
  polite_finish(x.op);
  CHECK_OK(grove_wait(x.op)); /* nothing new */
  CHECK_OK(grove_op_free(&x.op));
  for (int i = 0; i < 2; i++) {
    ring_begin(&x);
    CHECK_OK(grove_end(&x.op));
    CHECK_OK(grove_bcast(x.forest, MPI_INT64_T, x.root, x.leaf, MPI_REPLACE));
  }
  ring_close(&x);
}

/* A ring sends a message a rank and start; one to oneself is none. */
static void check_traffic(const timeline *t, const char *name)
{
  double messages = 0, bytes = 0;
  for (int rank = 0; rank < t->ranks; rank++) {
    const json *span;
    for (int i = 0; (span = next_span(t, rank, &i)) != NULL;) {
      if (strcmp(json_text(span, "name"), name) != 0) continue;
      messages += argument(span, "on_node_messages") + argument(span, "off_node_messages");
      bytes += argument(span, "on_node_bytes") + argument(span, "off_node_bytes");
    }
  }
  double expected = t->ranks > 1 ? (double)STARTS * t->ranks : 0;
  CHECK(messages == expected && bytes == expected * RING_SMALL * 8, "%g messages, %g bytes",
        messages, bytes);
}

/* Nothing comes before it was sent: rank r gets what the next rank sends. Clocks of several hosts
 * may be wrong by so much as the file says. */
static void check_causes(const timeline *t, const char *starts, const char *waits)
{
  for (int rank = 0; rank < t->ranks; rank++) {
    int sender = (rank + 1) % t->ranks, i = 0, k = 0;
    double error = json_number(find_about(t, rank, "grove_rank"), "clock_error_us") +
                   json_number(find_about(t, sender, "grove_rank"), "clock_error_us");
    for (int n = 0; n < STARTS; n++) {
      const json *start, *wait;
      do start = next_span(t, sender, &i);
      while (strcmp(json_text(start, "name"), starts) != 0);
      do wait = next_span(t, rank, &k);
      while (strcmp(json_text(wait, "name"), waits) != 0);
      CHECK(end_of(wait) + error + 1 >= json_number(start, "ts"), "came at %g us, sent at %g, +-%g",
            end_of(wait), json_number(start, "ts"), error);
    }
  }
}

static void tells_what_ran(void)
{
  place p = open_traced(split(0), "all.json");
  use(&p, "quercus", 0);
  use(&p, "fagus", 1);
  use_otherwise(&p);
  close_traced(&p);
  if (world_rank() > 0) return;
  timeline t = timeline_read("all.json");
  check_rows(&t, world_size());
  check_count(&t, "set up (ring)", 3); /* before they have their names */
  check_count(&t, "init bcast (quercus)", 1);
  check_count(&t, "start bcast (quercus)", STARTS);
  check_count(&t, "wait bcast (quercus)", STARTS);
  check_count(&t, "start reduce (fagus)", STARTS);
  check_count(&t, "wait reduce (fagus)", STARTS);
  check_count(&t, "init bcast (ring)", 2); /* one for all that are begun */
  check_count(&t, "start bcast (ring)", 5);
  check_count(&t, "test bcast (ring)", 1);
  check_count(&t, "wait bcast (ring)", 4);
  check_traffic(&t, "start bcast (quercus)");
  check_traffic(&t, "start reduce (fagus)");
  check_causes(&t, "start bcast (quercus)", "wait bcast (quercus)");
  json_free(t.all);
  CHECK(count_files(1) == 1, "there are other files");
}

/* Names are the users'. */
static void takes_any_name(void)
{
  static const char *const given[] = {
    "a \"b\" \\ /", "two\nlines\ttab\x01\x7f", "B\xc3\xa4ume \xe2\x82\xac \xf0\x9f\x8c\xb3",
    "bad \xff\xc3", "\xed\xa0\x80\xc0\xaf",    ""};
  static const char *const read[] = {"a \"b\" \\ /",
                                     "two\nlines\ttab\x01\x7f",
                                     "B\xc3\xa4ume \xe2\x82\xac \xf0\x9f\x8c\xb3",
                                     "bad \xef\xbf\xbd\xef\xbf\xbd",
                                     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
                                     ""};
  enum { NAMES = sizeof given / sizeof *given };
  char endless[1000];
  memset(endless, '"', sizeof endless - 1);
  endless[sizeof endless - 1] = '\0';
  place p = open_traced(split(0), "names.json");
  for (int i = 0; i < NAMES; i++) use(&p, given[i], 0);
  use(&p, endless, 0);
  close_traced(&p);
  if (world_rank() > 0) return;
  timeline t = timeline_read("names.json");
  check_rows(&t, world_size());
  for (int i = 0; i < NAMES; i++) {
    char name[200];
    snprintf(name, sizeof name, "wait bcast (%s)", read[i]);
    check_count(&t, name, STARTS);
  }
  json_free(t.all);
  count_files(1);
}

/* ---- limits and failures ---- */

static void counts_what_has_no_room(void)
{
  enum { ROOM = 15 };
  place p = open_traced(split(0), "full.json");
  p.ctx->trace->limit = ROOM; /* two subjects, and what is left for spans */
  use(&p, "quercus", 0);
  use(&p, "fagus", 1);
  close_traced(&p);
  if (world_rank() > 0) return;
  timeline t = timeline_read("full.json");
  for (int rank = 0; rank < t.ranks; rank++) {
    const json *about = find_about(&t, rank, "grove_rank");
    double spans = json_number(about, "spans"), dropped = json_number(about, "dropped");
    CHECK(spans == ROOM - 2, "%g spans", spans);
    CHECK(spans + dropped == 2 * (2 + 2 * STARTS), "%g spans and %g dropped", spans, dropped);
    CHECK_NUMBER_IN(json_text(find_about(&t, rank, "thread_name"), "name"), (int64_t)dropped);
  }
  json_free(t.all);
  count_files(1);
}

static void is_refused(MPI_Comm comm, grove_status status, const char *name)
{
  CHECK(status == GROVE_ERR_SYSTEM, "%s: %s", grove_status_name(status), grove_last_error());
  CHECK_SAME_ERROR(comm, status);
  CHECK(strstr(grove_last_error(), name) != NULL, "no '%s' in '%s'", name, grove_last_error());
}

/* No such folder; a device that is full. Whoever frees the last of a context hears of it. */
static void cannot_be_written(void)
{
  static const char *const names[] = {"no/such/folder/t.json", "/dev/full", "/dev/full"};
  for (int last = 0; last < 3; last++) {
    const char *name = names[last];
    place p = place_create(split(0));
    CHECK_OK(grove_context_set(p.ctx, "trace", name[0] == '/' ? name : path_of(name)));
    ring x = ring_open(&p, RING_SMALL, RING_NOBODY, 0);
    grove_op *op = NULL;
    CHECK_OK(grove_bcast_init(x.forest, MPI_INT64_T, x.root, x.leaf, MPI_REPLACE, &op));
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    if (last != 0) CHECK_OK(grove_context_free(&p.ctx));
    if (last != 1) CHECK_OK(grove_op_free(&op));
    grove_status status = GROVE_OK;
    if (last == 0) ring_close(&x);
    if (last == 0) status = grove_context_free(&p.ctx);
    if (last == 1) CHECK_OK(grove_forest_free(&x.forest));
    if (last == 1) status = grove_op_free(&op);
    if (last == 2) status = grove_forest_free(&x.forest);
    is_refused(p.comm, status, name);
    CHECK(p.ctx == NULL && op == NULL && x.forest == NULL, "something is left");
    if (last > 0) ring_close(&x);
    MPI_Comm_free(&p.comm);
  }
  if (world_rank() == 0) CHECK(count_files(1) == 0, "something is left in the folder");
}

/* The disk is full in the middle: what was there before is there still, and nothing else. */
static void fails_in_the_middle(void)
{
  struct rlimit before, tight;
  if (world_rank() == 0) {
    FILE *old = fopen(path_of("old.json"), "w");
    CHECK(old != NULL && fputs("[]", old) >= 0 && fclose(old) == 0, "no old file");
  }
  place p = open_traced(split(0), "old.json");
  use(&p, "quercus", 0);
  signal(SIGXFSZ, SIG_IGN);
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0, "no limits");
  tight = before;
  tight.rlim_cur = 4096;
  CHECK(setrlimit(RLIMIT_FSIZE, &tight) == 0, "no limits");
  grove_status status = grove_context_free(&p.ctx);
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0, "no limits");
  is_refused(p.comm, status, "old.json");
  MPI_Comm_free(&p.comm);
  if (world_rank() > 0) return;
  char *text = read_whole(path_of("old.json"));
  CHECK(strcmp(text, "[]") == 0, "the old file is '%.40s'", text);
  free(text);
  CHECK(count_files(1) == 1, "something is left in the folder");
}

/* ---- several contexts ---- */

static void has_a_file_each(void)
{
  place a = open_traced(split(0), "same.json"), b = open_traced(split(0), "same.json");
  CHECK_OK(grove_context_set(a.ctx, "check", "on")); /* no new name for that */
  MPI_Comm half = split(world_rank() % 2);
  place c = open_traced(half, "same.json");
  use(&c, "half", 0);
  use(&a, "first", 0);
  use(&b, "second", 0);
  close_traced(&b);
  close_traced(&c);
  close_traced(&a);
  if (world_rank() > 0) return;
  static const char *const names[] = {"same.json", "same-2.json", "same-3.json", "same-rank1.json"};
  static const char *const spans[] = {"wait bcast (first)", "wait bcast (second)",
                                      "wait bcast (half)", "wait bcast (half)"};
  int files = world_size() > 1 ? 4 : 3;
  for (int i = 0; i < files; i++) {
    timeline t = timeline_read(names[i]);
    check_rows(&t, i < 2 ? world_size() : (world_size() + (i == 2)) / 2);
    check_count(&t, spans[i], STARTS);
    json_free(t.all);
  }
  CHECK(count_files(1) == files, "there are other files");
}

/* What was made before is not in it, what is made after it was switched off is not either. */
static void is_switched_on_and_off(void)
{
  place p = place_create(split(0));
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, 0);
  ring_init(&x);
  CHECK_OK(grove_context_set(p.ctx, "trace", path_of("part.json")));
  CHECK_OK(grove_start(x.op));
  CHECK_OK(grove_wait(x.op));
  CHECK_OK(grove_op_free(&x.op));
  CHECK_OK(grove_forest_set_name(x.forest, "during"));
  ring_run(&x, 3);
  CHECK_OK(grove_context_set(p.ctx, "trace", ""));
  CHECK_OK(grove_forest_set_name(x.forest, "after"));
  ring_run(&x, 3);
  ring_close(&x);
  close_traced(&p);
  if (world_rank() > 0) return;
  timeline t = timeline_read("part.json");
  check_rows(&t, world_size());
  check_count(&t, "start bcast (during)", 3);
  for (int rank = 0; rank < t.ranks; rank++)
    CHECK(check_row(&t, rank) == 7, "%d spans", check_row(&t, rank));
  json_free(t.all);
  count_files(1);
}

/* The name that it has at the end is the file's. */
static void changes_its_name(void)
{
  place p = open_traced(split(0), "before.json");
  use(&p, "salix", 0);
  CHECK_OK(grove_context_set(p.ctx, "trace", path_of("now.json")));
  close_traced(&p);
  if (world_rank() > 0) return;
  timeline t = timeline_read("now.json");
  check_count(&t, "wait bcast (salix)", STARTS);
  json_free(t.all);
  CHECK(count_files(1) == 1, "there are other files");
}

/* A rank that never frees its context: the others do not wait for ever. */
static void does_not_wait_for_ever(void)
{
  if (world_size() == 1) return;
  place p = open_traced(split(0), "alone.json");
  p.ctx->roll.patience_seconds = 0.2;
  use(&p, "quercus", 0);
  if (world_rank() == world_size() - 1) return;
  CHECK_STATUS(grove_context_free(&p.ctx), GROVE_ERR_TIMEOUT);
  CHECK_NUMBER_IN(grove_last_error(), world_rank());
  if (world_rank() > 0) return;
  timeline t = timeline_read("alone.json");
  CHECK(json_find(json_find(t.all, "otherData"), "complete")->kind == JSON_FALSE, "all is there");
  check_row(&t, 0);
  CHECK(count_spans(&t, 0, "wait bcast (quercus)") == STARTS, "not rank 0's row");
  json_free(t.all);
  count_files(1);
}

/* Readings that differ by no more than they may be wrong show no drift. */
static void knows_drift_from_noise(void)
{
  const grove_reading first = {.here = 10, .ahead = 2, .error = 0.1};
  grove_reading last = {.here = 20, .ahead = 2.3, .error = 0.1};
  double middle = grove_reading_ahead(&first, &last, 15);
  CHECK(fabs(middle - 2.15) < 1e-12, "half of the drift is %g", middle);
  last.error = 0.25; /* as good as the same: the better reading holds all the time */
  CHECK(grove_reading_ahead(&first, &last, 10) == 2 && grove_reading_ahead(&first, &last, 20) == 2,
        "noise is taken for drift");
  last = (grove_reading){.here = 10, .ahead = 3, .error = 0.1}; /* at the same time */
  CHECK(grove_reading_ahead(&first, &last, 15) == 2, "no time, and drift");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/trace");
  knows_drift_from_noise();
  make_folder();
  tells_what_ran();
  takes_any_name();
  counts_what_has_no_room();
  cannot_be_written();
  fails_in_the_middle();
  has_a_file_each();
  is_switched_on_and_off();
  changes_its_name();
  does_not_wait_for_ever();
  if (world_rank() == 0) CHECK(rmdir(folder) == 0, "the folder is not empty");
  return test_end();
}
