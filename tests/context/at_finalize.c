/* A program that forgets grove_context_free has its summary and its trace all the same, written by
 * MPI_Finalize: for contexts on all ranks and on some, for several of them, listed in any order,
 * and after a collective call that timed out. Nothing is written twice. A rank that frees a
 * context, one that leaves that to MPI_Finalize, and one that comes too late never wait for each
 * other for ever.
 *
 * TEST_LATE: the last rank comes to MPI_Finalize when the others have given up. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "capture.h"
#include "check.h"
#include "context/context.h"
#include "json.h"
#include "ring.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STARTS = 3, PATH_BYTES = 300 };
static const double SHORT = 1.5; /* enough for ranks that are on their way */

static char folder[200];
static int late;    /* the last rank is */
static int crosses; /* threads make contexts */

static void make_folder(void)
{
  const char *above = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.150s/grove-end-XXXXXX", above ? above : "/tmp");
  if (world_rank() == 0) CHECK(mkdtemp(folder) != NULL, "no folder %s", folder);
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static const char *path_of(const char *name)
{
  static _Thread_local char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int last_rank(void)
{
  return world_size() - 1;
}

/* ---- contexts ---- */

static place open_context(MPI_Comm comm, const char *trace)
{
  place p = place_create(comm);
  if (*trace) place_set(&p, "trace", path_of(trace));
  if (late) p.ctx->roll.patience_seconds = SHORT;
  return p;
}

static void use(const place *p, const char *name)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  CHECK_OK(grove_forest_set_name(x.forest, name));
  ring_run(&x, STARTS);
  ring_close(&x);
}

static place forget(int color, const char *trace, const char *log)
{
  place p = open_context(split(color), trace);
  place_set(&p, "log", log);
  use(&p, *trace ? trace : log);
  return p;
}

/* ---- what is there afterwards ---- */

typedef struct file {
  ino_t number; /* another one if it was written again */
} file;

static file file_of(const char *name)
{
  struct stat about;
  CHECK(stat(path_of(name), &about) == 0, "there is no %s", name);
  return (file){about.st_ino};
}

/* Waits on the row of a rank. */
static int count_waits(const json *events, int rank)
{
  int n = 0;
  for (int i = 0; i < events->n; i++) {
    const json *e = &events->items[i];
    if (strcmp(json_text(e, "ph"), "X") != 0 || json_number(e, "tid") != rank + 1) continue;
    n += strcmp(json_text(e, "cat"), "wait") == 0;
  }
  return n;
}

/* The file has the rows of the first `there` of `ranks` ranks, and is removed. */
static void check_file(const char *name, int ranks, int there, int waits)
{
  char *text = read_whole(path_of(name));
  json *all = json_read(text);
  const json *about = json_find(all, "otherData"), *events = json_find(all, "traceEvents");
  int complete = json_find(about, "complete")->kind == JSON_TRUE;
  CHECK(json_number(about, "ranks") == ranks, "%s: %g ranks", name, json_number(about, "ranks"));
  CHECK(complete == (there == ranks), "%s: complete is %d", name, complete);
  for (int r = 0; r < ranks; r++) {
    int n = count_waits(events, r);
    CHECK(n == (r < there ? waits : 0), "%s: rank %d of %d waits %d times", name, r, ranks, n);
  }
  json_free(all);
  free(text);
  CHECK(unlink(path_of(name)) == 0, "%s cannot be removed", name);
}

static int count_texts(const char *text, const char *wanted)
{
  int n = 0;
  for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++) n++;
  return n;
}

/* ---- cases ---- */

/* Freed by all: MPI_Finalize finds nothing to do. */
static file free_in_time(void)
{
  file then = {0};
  place p = forget(0, "freed.json", "off");
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) then = file_of("freed.json");
  return then;
}

/* All but the last rank free it, and give up; that one is in MPI_Finalize much later. */
static void free_on_some(void)
{
  place p = open_context(split(0), "some.json");
  p.ctx->roll.patience_seconds = SHORT;
  use(&p, "some");
  polite_barrier(MPI_COMM_WORLD);
  if (world_rank() == last_rank()) return;
  CHECK_STATUS(grove_context_free(&p.ctx), GROVE_ERR_TIMEOUT);
  if (world_rank() == 0) CHECK_NUMBER_IN(grove_last_error(), last_rank());
}

/* A collective call timed out on all ranks but one: they can still tell what ran. */
static void time_out(void)
{
  place p = forget(0, "broken.json", "off");
  grove_forest *f = NULL;
  place_set(&p, "timeout", test_timeout());
  CHECK_OK(grove_forest_create(p.ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  if (world_rank() < last_rank()) CHECK_STATUS(grove_forest_set_up(f), GROVE_ERR_TIMEOUT);
  CHECK_OK(grove_forest_free(&f));
}

/* ---- contexts that ranks list in different orders ---- */

static MPI_Comm crossed[2];

/* Threads enter one after the other, on odd ranks in the other order. */
static void create_crossed(int number, void *self)
{
  (void)self;
  if (number == world_rank() % 2) linger(0.2);
  place p = open_context(crossed[number], number == 0 ? "cross-a.json" : "cross-b.json");
  use(&p, "cross");
}

static void cross(void)
{
  for (int i = 0; i < 2; i++) crossed[i] = split(0);
  in_threads(2, create_crossed, NULL);
}

/* ---- the end ---- */

/* The last rank leaves it to MPI_Finalize, at the same time. */
static void free_at_the_end(place *p)
{
  if (world_rank() == last_rank() && world_size() > 1) return;
  grove_status status = grove_context_free(&p->ctx);
  CHECK(status == (late ? GROVE_ERR_TIMEOUT : GROVE_OK), "%s", grove_last_error());
}

static void check_files(file freed)
{
  int size = world_size(), there = late ? size - 1 : size;
  CHECK(file_of("freed.json").number == freed.number, "a file was written twice");
  check_file("freed.json", size, size, STARTS);
  check_file("all.json", size, there, STARTS);
  check_file("both.json", size, there, STARTS);
  check_file("parts.json", (size + 1) / 2, (size + 1) / 2 - (late && size % 2), STARTS);
  if (size == 1) return;
  check_file("parts-rank1.json", size / 2, size / 2 - (late && size % 2 == 0), STARTS);
  check_file("some.json", size, size - 1, STARTS);
  check_file("broken.json", size, there, STARTS);
  if (!crosses) return;
  check_file("cross-a.json", size, there, STARTS);
  check_file("cross-b.json", size, there, STARTS);
}

/* One table, by rank 0. What has no such option is not told. */
static void check_words(const char *text)
{
  int tables = count_texts(text, "Grove: "), is_last = world_rank() == last_rank();
  if (world_rank() == 0) {
    CHECK(count_texts(text, "messages and bytes") == 1, "no table, or several: '%s'", text);
    CHECK(count_texts(text, "\nall.json ") == 1 && !strstr(text, "nobody"), "'%s'", text);
    CHECK(count_texts(text, "of all ranks") == !late, "'%s'", text);
    if (late) CHECK(strstr(text, "MPI_Finalize: rank 0: the trace "), "'%s'", text);
    if (!late) CHECK(tables == 1, "'%s'", text);
  } else if (!late) { /* for the context that the others freed long ago */
    CHECK(tables == is_last, "'%s'", text);
    if (is_last) CHECK_NUMBER_IN(text, last_rank());
  }
}

static void end(place *freed_by_most, char *text)
{
  test_case(1);
  polite_barrier(MPI_COMM_WORLD);
  free_at_the_end(freed_by_most);
  if (late && world_rank() == last_rank()) linger(5 * SHORT);
  capture c = capture_begin();
  MPI_Finalize();
  capture_end(&c, text);
}

int main(int argc, char **argv)
{
  static char text[CAPTURE_BYTES];
  test_begin(&argc, &argv, "context/at_finalize");
  late = getenv("TEST_LATE") != NULL;
  crosses = world_size() > 1 && any_thread_may_call();
  make_folder();
  file freed = free_in_time();
  place p[] = {forget(0, "all.json", "summary"), forget(world_rank() % 2, "parts.json", "off"),
               forget(0, "both.json", "off"), forget(0, "", "off")};
  if (world_size() > 1) time_out();
  if (world_size() > 1) free_on_some();
  if (crosses) cross();
  end(&p[2], text);
  check_words(text);
  for (int i = 0; i < 4; i++) CHECK_OK(grove_context_free(&p[i].ctx)); /* writes nothing */
  if (world_rank() == 0) check_files(freed);
  if (world_rank() == 0) CHECK(rmdir(folder) == 0, "there are other files in %s", folder);
  alarm(0);
  return 0;
}
