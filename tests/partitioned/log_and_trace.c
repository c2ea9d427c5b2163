/* The options `log` and `trace` know channels: a row of the table for those of one label on a rank,
 * however many there are; spans of their starts and waits, and marks of when parts were marked,
 * left and came. Ranks without a channel take part. Times are only compared with each other. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "capture.h"
#include "channel.h"
#include "check.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 6, ROUNDS = 3, TWINS = 20, TAG = 7 };

/* From rank 0 to the last, `n` channels of one label; other ranks have none. */
static void run(const place *p, const unit *u, int n, int tag)
{
  int last = p->size - 1;
  channel c[2][TWINS];
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) {
      c[k][i] = (channel){.ctx = p->ctx, .sends = k, .peer = k ? last : 0, .tag = tag};
      c[k][i].parts = k ? PARTS : PARTS / 2;
      c[k][i].count = k ? 10 : 20;
      c[k][i].u = u;
      c[k][i].seed = mix2(test_seed(), (uint64_t)i);
      if (p->rank == (k ? 0 : last)) channel_open(&c[k][i]);
    }
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < n; i++) {
      if (p->rank == last) channel_start(&c[0][i]);
      if (p->rank == 0) channel_start(&c[1][i]);
      for (int at = 0; p->rank == 0 && at < PARTS; at += 2) channel_ready(&c[1][i], at, 2);
      if (p->rank == 0) channel_wait(&c[1][i]);
      if (p->rank == last) channel_wait(&c[0][i]);
    }
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 2; k++)
      if (p->rank == (k ? 0 : last)) channel_close(&c[k][i]);
}

/* ---- log ---- */

static int count_lines(const char *text, const char *beginning)
{
  int n = 0;
  for (const char *at = text; (at = strstr(at, beginning)) != NULL; at++)
    n += at == text || at[-1] == '\n';
  return n;
}

/* "NAME  OPERATION  channel  UNIT  STARTS  messages ..." */
static void check_row(const char *text, const char *name, const char *operation, int unit_bytes,
                      int starts, int messages, int bytes)
{
  char words[3][16] = {"", "", ""};
  int numbers[6] = {0};
  CHECK(count_lines(text, name) == 1, "%d rows of '%s' in\n%s", count_lines(text, name), name,
        text);
  const char *row = strstr(text, name) + strlen(name);
  int read = sscanf(row, "%15s %15s %d %d %d %d %d %d", words[0], words[1], &numbers[0],
                    &numbers[1], &numbers[2], &numbers[3], &numbers[4], &numbers[5]);
  CHECK(read == 8, "%d cells in '%.100s'", read, row);
  CHECK(strcmp(words[0], operation) == 0 && strcmp(words[1], "channel") == 0, "'%s', '%s'",
        words[0], words[1]);
  CHECK(numbers[0] == unit_bytes && numbers[1] == starts, "a part of %d bytes, %d starts",
        numbers[0], numbers[1]);
  CHECK(numbers[2] + numbers[4] == messages && numbers[3] + numbers[5] == bytes,
        "%d messages, %d bytes", numbers[2] + numbers[4], numbers[3] + numbers[5]);
}

static void logs(const units *types, const char *log)
{
  char text[CAPTURE_BYTES], name[64];
  const unit *u = units_find(types, "MPI_INT");
  place p = place_create(split(0));
  place_set(&p, "aggregator", "none");
  place_set(&p, "max_messages", "3");
  place_set(&p, "log", log);
  run(&p, u, TWINS, TAG);
  capture c = capture_begin();
  place_free(&p);
  capture_end(&c, text);
  if (world_rank() > 0 || strcmp(log, "off") == 0) {
    CHECK(text[0] == '\0', "printed '%s'", text);
    return;
  }
  int last = world_size() - 1, all = TWINS * ROUNDS;
  snprintf(name, sizeof name, "rank 0: psend to %d, tag 7 ", last);
  check_row(text, name, "psend", 40, all, 3 * all, all * PARTS * 40);
  snprintf(name, sizeof name, "rank %d: precv from 0, tag 7 ", last);
  check_row(text, name, "precv", 80, all, 0, 0);
  CHECK(count_lines(text, "rank ") == 2, "other rows in\n%s", text);
}

/* More rows than a table shows: those of all ranks are cut together. */
static void leaves_rows_out(const units *types)
{
  enum { TAGS = 40, SHOWN = 50 };
  char text[CAPTURE_BYTES];
  place p = place_create(split(0));
  place_set(&p, "log", "summary");
  for (int tag = 0; tag < TAGS; tag++) run(&p, units_find(types, "MPI_INT"), 1, tag);
  capture c = capture_begin();
  place_free(&p);
  capture_end(&c, text);
  if (world_rank() > 0) return;
  const char *rest = strstr(text, "\nand ");
  CHECK(count_lines(text, "rank ") == SHOWN && rest != NULL, "%d rows in\n%s",
        count_lines(text, "rank "), text);
  CHECK_NUMBER_IN(rest, 2 * TAGS - SHOWN);
  CHECK_NUMBER_IN(rest, (2 * TAGS - SHOWN) * ROUNDS);
}

/* ---- trace ---- */

typedef struct marks {
  int parts, events;  /* of one kind in one round */
  double least, most; /* times */
} marks;

static marks find_marks(const json *events, const char *kind, int rank, int round)
{
  marks m = {.least = 1e99, .most = -1};
  char seen[PARTS] = {0};
  for (int i = 0; i < events->n; i++) {
    const json *e = &events->items[i], *args = json_find(e, "args");
    if (strcmp(json_text(e, "ph"), "i") != 0 || strcmp(json_text(e, "cat"), kind) != 0) continue;
    if (json_number(e, "tid") != rank + 1 || json_number(args, "start") != round) continue;
    int first = (int)json_number(args, "first"), count = (int)json_number(args, "count");
    double time = json_number(e, "ts");
    CHECK(first >= 0 && count > 0 && first + count <= PARTS, "parts %d, %d", first, count);
    CHECK(json_number(args, "tag") == TAG && json_number(args, "number") == 0, "another channel");
    CHECK(json_number(args, "peer") == world_size() - 1 - rank, "another peer");
    for (int q = first; q < first + count; q++) {
      CHECK(!seen[q], "part %d is %s twice", q, kind);
      seen[q] = 1;
    }
    m.parts += count;
    m.events++;
    if (time < m.least) m.least = time;
    if (time > m.most) m.most = time;
  }
  return m;
}

/* The span of a round's start or end. */
static const json *find_span(const json *events, const char *kind, int rank, int round)
{
  const json *found = NULL;
  for (int i = 0; i < events->n; i++) {
    const json *e = &events->items[i];
    if (strcmp(json_text(e, "ph"), "X") != 0 || strcmp(json_text(e, "cat"), kind) != 0) continue;
    if (json_number(e, "tid") != rank + 1) continue;
    if (json_number(json_find(e, "args"), "start") != round) continue;
    CHECK(found == NULL, "two spans of a %s of rank %d in round %d", kind, rank, round);
    found = e;
  }
  CHECK(found != NULL, "no span of the %s of rank %d in round %d", kind, rank, round);
  return found;
}

static void check_round(const json *events, int round)
{
  static const double TINY = 0.002;
  int last = world_size() - 1;
  marks ready = find_marks(events, "ready", 0, round), sent = find_marks(events, "sent", 0, round);
  marks came = find_marks(events, "arrived", last, round);
  const json *start = find_span(events, "start", 0, round),
             *end = find_span(events, "wait", 0, round);
  CHECK(ready.parts == PARTS && ready.events == PARTS / 2, "%d parts ready in %d marks",
        ready.parts, ready.events);
  CHECK(sent.parts == PARTS && came.parts == PARTS / 2, "%d parts left, %d came", sent.parts,
        came.parts);
  CHECK(json_number(start, "ts") <= ready.least && ready.least <= sent.least + TINY,
        "ready at %g, sent at %g", ready.least, sent.least);
  CHECK(sent.most <= json_number(end, "ts") + json_number(end, "dur") + TINY, "sent after the end");
  CHECK(strncmp(json_text(start, "name"), "start psend (to ", 16) == 0, "it is called '%s'",
        json_text(start, "name"));
  find_span(events, "start", last, round);
  find_span(events, "wait", last, round);
}

static void traces(const units *types)
{
  char folder[] = "/tmp/grove-channel-XXXXXX", path[64];
  if (world_rank() == 0) CHECK(mkdtemp(folder) != NULL, "no folder");
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/t.json", folder);
  place p = place_create(split(0));
  place_set(&p, "trace", path);
  run(&p, units_find(types, "vector of ints with gaps"), 1, TAG);
  place_free(&p);
  if (world_rank() > 0) return;
  char *text = read_whole(path);
  json *all = json_read(text);
  const json *events = json_find(all, "traceEvents");
  for (int round = 1; round <= ROUNDS; round++) check_round(events, round);
  json_free(all);
  free(text);
  unlink(path);
  rmdir(folder);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/log_and_trace");
  units *types = units_create();
  logs(types, "summary");
  logs(types, "off");
  leaves_rows_out(types);
  if (world_size() > 1) traces(types);
  units_free(types);
  return test_end();
}
