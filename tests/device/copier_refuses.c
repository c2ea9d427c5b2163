/* What the copier refuses, and what it does when something fails: a path that fails is struck off,
 * and the data arrives all the same; without memory for staging all goes directly; the calls of a
 * context do the same. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "copier_rig.h"
#include "places.h"

#include <stdio.h>

enum { DEVICES = 3, SLOT = 4096, STAGING = SLOT * GROVE_LANE_SLOTS * GROVE_LANES_STAGED };
enum { BYTES = 40 * SLOT + 77 };

static void check_says(const char *words)
{
  CHECK(strstr(grove_last_error(), words), "'%s' is not in: %s", words, grove_last_error());
}

static grove_copier *new_copier(const grove_driver *with, const char *paths, int64_t staging)
{
  grove_copier *c = NULL;
  grove_machine *m = even_machine(DEVICES, 2e-7, 10e9);
  CHECK_OK(grove_copier_open(with, DEVICES, m, paths, staging, &c));
  CHECK_OK(grove_machine_free(&m));
  return c;
}

static void explain_to(grove_copier *c, char *text, size_t room)
{
  FILE *file = tmpfile();
  CHECK(file, "no file");
  CHECK_OK(grove_copier_explain(c, 0, 1, BYTES, file));
  rewind(file);
  text[fread(text, 1, room - 1, file)] = '\0';
  fclose(file);
}

/* ---- refusals ---- */

static int captures(int device, grove_stream *stream)
{
  (void)device, (void)stream;
  return 1;
}

static void refuse_arguments(void)
{
  grove_copier *c = new_copier(driver, NULL, STAGING), *other = NULL;
  grove_driver capturing = grove_driver_emulated;
  char *a = memory_at(0, 1000), *b = memory_at(1, 1000), here[8];
  capturing.is_capturing = captures;
  CHECK_STATUS(grove_copier_copy(c, b, 3, a, 0, 10, NULL), GROVE_ERR_ARG);
  check_says("no device 3");
  CHECK_STATUS(grove_copier_copy(c, b, 1, a, -2, 10, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_copier_copy(c, here, -1, a, 0, 8, NULL), GROVE_ERR_ARG);
  check_says("in no memory of a device");
  CHECK_STATUS(grove_copier_copy(c, a + 10, 0, a, 0, 11, NULL), GROVE_ERR_ARG);
  check_says("overlap");
  CHECK_OK(grove_copier_copy(c, a + 10, 0, a, -1, 10, NULL));
  CHECK_STATUS(grove_copier_copy(c, NULL, 0, a, 0, 10, NULL), GROVE_ERR_ARG);
  check_says("dst is NULL");
  CHECK_STATUS(grove_copier_copy(NULL, b, 1, a, 0, 10, NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_copier_copy(c, NULL, 0, NULL, 0, 0, NULL));
  CHECK_STATUS(grove_copier_explain(c, 0, 3, 10, stdout), GROVE_ERR_ARG);
  CHECK_STATUS(grove_copier_explain(c, 1, 1, 10, stdout), GROVE_ERR_ARG);
  CHECK_STATUS(grove_copier_open(driver, DEVICES, NULL, "direct,gpu", 0, &other), GROVE_ERR_ARG);
  check_says("'gpu' is no path");
  CHECK_STATUS(grove_copier_open(driver, DEVICES, NULL, "direct,gpu3", 0, &other), GROVE_ERR_ARG);
  check_says("no path 'gpu3': there are 3 devices");
  CHECK_STATUS(grove_copier_open(driver, DEVICES, NULL, "host,host", 0, &other), GROVE_ERR_ARG);
  check_says("'host' is named twice");
  CHECK_OK(grove_copier_open(driver, 1, NULL, "direct,gpu3", 0, &other));
  CHECK_OK(grove_copier_free(&other));
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(grove_copier_free(&c));
  c = new_copier(&capturing, NULL, STAGING);
  CHECK_STATUS(grove_copier_copy(c, b, 1, a, 0, 1000, NULL), GROVE_ERR_UNSUPPORTED);
  check_says("captured");
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(driver->finish(0, NULL));
  driver->free(0, a);
  driver->free(1, b);
}

/* ---- failures ---- */

static void copy_and_check(grove_copier *c, rng *r)
{
  trip t = new_trip(0, 1, BYTES, 5, 0, r);
  enqueue_head(&t);
  CHECK_OK(copy_trip(c, &t));
  enqueue_tail(&t);
  check_trip(&t, "a copy");
  free_trip(&t);
}

/* Call number n of this kind fails. Returns whether it came to that. */
static int fail_once(grove_emulated_call call, int64_t n, rng *r)
{
  char text[2000];
  grove_copier *c = new_copier(driver, "direct,gpu2,host", STAGING);
  trip t = new_trip(0, 1, BYTES, 5, 0, r);
  copy_and_check(c, r); /* so that lanes are there */
  enqueue_head(&t);
  grove_emulated_fail_at(call, n, GROVE_ERR_DEVICE);
  grove_status status = copy_trip(c, &t);
  int64_t met = grove_emulated_calls();
  grove_emulated_fail_at(call, -1, GROVE_OK);
  int has_failed = met > n;
  if (status != GROVE_OK) {
    check_says("as planned");
    CHECK(has_failed, "%s", grove_last_error());
  }
  if (status == GROVE_OK || strstr(grove_last_error(), "all is copied")) {
    enqueue_tail(&t);
    CHECK_OK(
      driver->copy(0, t.stream, trip_from(&t), t.in, t.bytes)); /* nobody reads it any more */
    check_trip(&t, "a failure");
  }
  if (status != GROVE_OK && strstr(grove_last_error(), "is not used any more")) {
    explain_to(c, text, sizeof text);
    CHECK(strstr(text, "has failed, and is not used"), "%s", text);
  }
  CHECK_OK(driver->finish(0, t.stream));
  copy_and_check(c, r);
  free_trip(&t);
  CHECK_OK(grove_copier_free(&c));
  return has_failed;
}

static void fail_everywhere(rng *r)
{
  static const grove_emulated_call calls[] = {GROVE_EMULATED_COPY, GROVE_EMULATED_RECORD,
                                              GROVE_EMULATED_AFTER, GROVE_EMULATED_WRITE};
  for (int i = 0; i < 4; i++) {
    int64_t n = 0, least = i == 3 ? 1 : 10;
    while (fail_once(calls[i], n, r)) n++;
    CHECK(n > least, "call %d was met %lld times", (int)calls[i], (long long)n);
  }
}

static int dead; /* copies to this end and from it fail, for ever */

static int end_of(const void *address)
{
  grove_range range;
  return driver->find(address, &range) ? range.device : GROVE_HOST;
}

static grove_status copy_if_alive(int device, grove_stream *stream, void *to, const void *from,
                                  int64_t bytes)
{
  if (end_of(to) == dead || end_of(from) == dead)
    return grove_error(GROVE_ERR_DEVICE, __FILE__, __LINE__, "end %d is dead", dead);
  return driver->copy(device, stream, to, from, bytes);
}

/* The first copy each way finds that the path is dead, and says so. No later one tries it. */
static void lose_a_path(int stop, const char *name, const char *said, rng *r)
{
  char text[2000];
  grove_driver faulty = grove_driver_emulated;
  faulty.copy = copy_if_alive;
  dead = stop;
  grove_copier *c = new_copier(&faulty, NULL, STAGING);
  for (int i = 0; i < 4; i++) {
    trip t = new_trip(i % 2, 1 - i % 2, BYTES, 0, i % 2, r);
    enqueue_head(&t);
    CHECK_STATUS(copy_trip(c, &t), i < 2 ? GROVE_ERR_DEVICE : GROVE_OK);
    if (i < 2) {
      check_says(name);
      check_says("is not used any more; all is copied");
      check_says("is dead");
    }
    enqueue_tail(&t);
    check_trip(&t, "without a path");
    free_trip(&t);
  }
  explain_to(c, text, sizeof text);
  CHECK(strstr(text, said), "'%s' is not in: %s", said, text);
  CHECK(strstr(text, stop == GROVE_HOST ? "gpu2" : "host "), "the other path is gone too: %s",
        text);
  CHECK_OK(grove_copier_free(&c));
}

/* Memory that is too short is no fault of a path. */
static void copy_too_much(rng *r)
{
  char text[2000];
  grove_copier *c = new_copier(driver, "direct,gpu2,host", STAGING);
  char *a = memory_at(0, BYTES), *b = memory_at(1, BYTES / 2);
  CHECK_STATUS(grove_copier_copy(c, b, 1, a, 0, BYTES, NULL), GROVE_ERR_DEVICE);
  CHECK_OK(driver->finish(0, NULL));
  explain_to(c, text, sizeof text);
  CHECK(!strstr(text, "has failed"), "%s", text);
  copy_and_check(c, r);
  driver->free(0, a);
  driver->free(1, b);
  CHECK_OK(grove_copier_free(&c));
}

/* Making what a crew needs fails: then it is done without. */
static void fail_to_make(rng *r)
{
  static const grove_emulated_call calls[] = {GROVE_EMULATED_ALLOCATE, GROVE_EMULATED_PIN,
                                              GROVE_EMULATED_CREATE_STREAM,
                                              GROVE_EMULATED_CREATE_EVENT};
  for (int i = 0; i < 4; i++)
    for (int64_t n = 0; n < 4; n++) {
      grove_copier *c = new_copier(driver, NULL, STAGING);
      trip t = new_trip(0, 1, BYTES, 0, 0, r);
      enqueue_head(&t);
      grove_emulated_fail_at(calls[i], n, GROVE_ERR_MEMORY);
      grove_status status = copy_trip(c, &t);
      grove_emulated_fail_at(calls[i], -1, GROVE_OK);
      if (status == GROVE_OK) {
        enqueue_tail(&t);
        check_trip(&t, "less to work with");
      }
      CHECK_OK(driver->finish(0, t.stream));
      copy_and_check(c, r);
      free_trip(&t);
      CHECK_OK(grove_copier_free(&c));
    }
}

static int64_t bytes_staged(const grove_copier *c)
{
  int64_t sum = 0;
  for (int i = 0; i < GROVE_ENDS; i++) sum += c->staged[i];
  return sum;
}

static void run_out_of_memory(rng *r)
{
  grove_copier *c = new_copier(driver, NULL, STAGING);
  trip t = new_trip(0, 1, BYTES, 0, 0, r);
  enqueue_head(&t);
  grove_emulated_set_limit(1);
  CHECK_OK(copy_trip(c, &t));
  CHECK(c->staged[2] == 0, "%lld bytes are staged by the device", (long long)c->staged[2]);
  grove_emulated_set_limit(INT64_MAX);
  enqueue_tail(&t);
  check_trip(&t, "no memory of the device");
  free_trip(&t);
  copy_and_check(c, r);
  CHECK(c->staged[2] > 0, "memory is there again, and not used");
  CHECK_OK(grove_copier_free(&c));

  c = new_copier(driver, NULL, 0);
  copy_and_check(c, r);
  CHECK(bytes_staged(c) == 0, "%lld bytes are staged", (long long)bytes_staged(c));
  CHECK_OK(grove_copier_free(&c));
}

/* Of the copies that are under way at once, as many are staged as the option allows. */
static void keep_to_the_limit(rng *r)
{
  enum { MANY = 9 };
  grove_copier *c = new_copier(driver, "direct,gpu2", STAGING);
  trip trips[MANY];
  uint32_t *word = new_pinned(sizeof *word);
  for (int i = 0; i < MANY; i++) {
    trips[i] = new_trip(0, 1, BYTES, 0, 0, r);
    CHECK_OK(driver->await(0, trips[i].stream, word, 1));
    enqueue_head(&trips[i]);
    CHECK_OK(copy_trip(c, &trips[i]));
    enqueue_tail(&trips[i]);
    CHECK(bytes_staged(c) <= STAGING, "%lld bytes are staged", (long long)bytes_staged(c));
  }
  CHECK(bytes_staged(c) == STAGING, "only %lld bytes are staged", (long long)bytes_staged(c));
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < MANY; i++) check_trip(&trips[i], "at the limit");
  for (int i = 0; i < MANY; i++) free_trip(&trips[i]);
  CHECK_OK(grove_copier_free(&c));
  free_pinned(word);
}

/* ---- the environment, and a context ---- */

static void create_by_options(rng *r)
{
  char text[2000];
  grove_copier *c = NULL;
  setenv("GROVE_DEVICE", "emulated", 1);
  CHECK_OK(grove_copier_create(NULL, "direct,gpu2", &c));
  copy_and_check(c, r);
  explain_to(c, text, sizeof text);
  CHECK(strstr(text, "gpu2") && !strstr(text, "host"), "%s", text);
  CHECK_OK(grove_copier_free(&c));
  setenv("GROVE_COPY_PATHS", "direct,host", 1);
  CHECK_OK(grove_copier_create(NULL, NULL, &c));
  explain_to(c, text, sizeof text);
  CHECK(strstr(text, "host") && !strstr(text, "gpu2"), "%s", text);
  CHECK_OK(grove_copier_free(&c));
  unsetenv("GROVE_COPY_PATHS");
  setenv("GROVE_DEVICE", "none", 1);
  CHECK_STATUS(grove_copier_create(NULL, NULL, &c), GROVE_ERR_DEVICE);
  CHECK(!c, "a copier without a device");
  unsetenv("GROVE_DEVICE");
}

/* While a stream waits for an operation, as is only said here, copies go. Nothing is made for them:
 * neither a pair, nor what a second copy at once would have. */
static void copy_while_promised(const place *p, rng *r)
{
  uint32_t *word = new_pinned(sizeof *word);
  trip known = new_trip(1, 2, 3000000, 0, 1, r), other = new_trip(1, 2, 3000000, 0, 1, r),
       unknown = new_trip(2, 0, 3000000, 0, 2, r);
  const trip *trips[] = {&known, &other, &unknown};
  const grove_copier *c = p->ctx->copier;
  int64_t staged = bytes_staged(c);
  p->ctx->promises++;
  for (int i = 0; i < 3; i++) {
    const trip *t = trips[i];
    if (i == 0) CHECK_OK(driver->await(t->device, t->stream, word, 1));
    enqueue_head(t);
    CHECK_OK(
      grove_copy_async(p->ctx, trip_to(t), -1, trip_from(t), -1, (size_t)t->bytes, t->stream));
    enqueue_tail(t);
  }
  p->ctx->promises--;
  CHECK(bytes_staged(c) == staged && !c->pairs[2][0], "something was made");
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 3; i++) check_trip(trips[i], "while a stream waits");
  free_trip(&known);
  free_trip(&other);
  free_trip(&unknown);
  free_pinned(word);
}

static void copy_by_context(rng *r)
{
  place p = place_create(split(0));
  place_set(&p, "device", "emulated");
  place_set(&p, "copy_staging", "1000000");
  trip t = new_trip(1, 2, 3000000, 1, 1, r);
  enqueue_head(&t);
  CHECK_OK(grove_copy_async(p.ctx, trip_to(&t), -1, trip_from(&t), -1, (size_t)t.bytes, t.stream));
  enqueue_tail(&t);
  check_trip(&t, "by the context");
  free_trip(&t);
  CHECK_STATUS(grove_copy_async(NULL, NULL, 0, NULL, 0, 0, NULL), GROVE_ERR_ARG);
  copy_while_promised(&p, r);
  place_free(&p);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/copier_refuses");
  rng r = rng_from(test_seed(), 0);
  grove_emulated_set_devices(DEVICES);
  refuse_arguments();
  fail_everywhere(&r);
  lose_a_path(2, "the path gpu2", "the path by GPU 2 has failed", &r);
  lose_a_path(GROVE_HOST, "the path host", "the path by the host has failed", &r);
  copy_too_much(&r);
  fail_to_make(&r);
  run_out_of_memory(&r);
  keep_to_the_limit(&r);
  create_by_options(&r);
  copy_by_context(&r);
  check_conflicts();
  grove_emulated_reset();
  return test_end();
}
