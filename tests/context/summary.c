/* log=summary: when the context is freed rank 0 prints a table, on standard error, of forests,
 * operations and what they moved; other ranks, and contexts without the option, print nothing. */
#define _POSIX_C_SOURCE 200809L /* dup2, fileno */
#include "check.h"
#include "ring.h"

#include <string.h>
#include <unistd.h>

enum { STARTS = 37, TEXT_BYTES = 16384 };

/* Sends standard error to a file for a while: what Grove prints comes back as text. */
typedef struct capture {
  FILE *file;
  int before;
} capture;

static capture capture_begin(void)
{
  capture c = {.file = tmpfile()};
  CHECK(c.file != NULL, "no temporary file");
  fflush(stderr);
  c.before = dup(STDERR_FILENO);
  CHECK(c.before >= 0 && dup2(fileno(c.file), STDERR_FILENO) >= 0, "no second standard error");
  return c;
}

static void capture_end(capture *c, char *text)
{
  fflush(stderr);
  dup2(c->before, STDERR_FILENO);
  close(c->before);
  rewind(c->file);
  size_t n = fread(text, 1, TEXT_BYTES - 1, c->file);
  text[n] = '\0';
  fclose(c->file);
}

static void use(const place *p, const char *name, op_kind k)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, k);
  CHECK_OK(grove_forest_set_name(x.forest, name));
  ring_run(&x, STARTS);
  ring_close(&x);
}

static void run(const char *log, int owner_first, char *text)
{
  place p = place_create(split(0));
  CHECK_OK(grove_context_set(p.ctx, "node_size", "1"));
  CHECK_OK(grove_context_set(p.ctx, "log", log));
  use(&p, "quercus", KIND_BCAST);
  use(&p, "fagus", KIND_REDUCE);
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  capture c = capture_begin();
  if (owner_first) CHECK_OK(grove_context_free(&p.ctx)); /* the last free prints */
  ring_close(&x);
  CHECK_OK(grove_context_free(&p.ctx));
  capture_end(&c, text);
  MPI_Comm_free(&p.comm);
}

/* The line of the table with these two words, as numbers would be found in it. */
static void find_line(const char *text, const char *forest, const char *operation, char *line)
{
  for (const char *at = text; *at != '\0';) {
    size_t n = strcspn(at, "\n");
    if (n >= 1024) n = 1023;
    memcpy(line, at, n);
    line[n] = '\0';
    if (strstr(line, forest) != NULL && strstr(line, operation) != NULL) return;
    at += n + (at[n] == '\n');
  }
  CHECK(0, "no line with '%s' and '%s' in\n%s", forest, operation, text);
}

static void check_table(const char *text)
{
  char line[1024];
  find_line(text, "quercus", "bcast", line);
  CHECK_NUMBER_IN(line, STARTS);
  find_line(text, "fagus", "reduce", line);
  CHECK_NUMBER_IN(line, STARTS);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/summary");
  char text[TEXT_BYTES];
  for (int owner_first = 0; owner_first < 2; owner_first++) {
    run("summary", owner_first, text);
    if (world_rank() == 0)
      check_table(text);
    else
      CHECK(text[0] == '\0', "a rank other than 0 printed '%s'", text);
    run("off", owner_first, text);
    CHECK(text[0] == '\0', "printed without being asked: '%s'", text);
  }
  return test_end();
}
