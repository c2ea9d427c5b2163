/* What a mistake must be told like: a status, the rank that made it, and the thing that it is
 * about, in the same words on every rank. To add one: make the wrong call on every rank, or on one
 * rank only, and hand its status to `told`. */
#ifndef TEST_MISTAKES_TOLD_H
#define TEST_MISTAKES_TOLD_H

#include "check.h"
#include "places.h"

#include <string.h>

static int mistakes; /* told so far */

/* `culprit` is the rank that the sentence must name, `object` a word that it must have. */
static inline void told(const place *p, grove_status got, grove_status want, int culprit,
                        const char *object)
{
  char rank[32];
  const char *said = grove_last_error();
  test_case(mistakes++);
  snprintf(rank, sizeof rank, "rank %d", culprit);
  CHECK(got == want, "%s, not %s: '%s'", grove_status_name(got), grove_status_name(want), said);
  CHECK(strstr(said, rank), "no '%s' in '%s'", rank, said);
  CHECK(strstr(said, object), "no '%s' in '%s'", object, said);
  CHECK_SAME_ERROR(p->comm, got);
}

/* The same for a call that asks nobody: every rank is its own culprit. */
static inline void told_alone(const place *p, grove_status got, grove_status want,
                              const char *object)
{
  char rank[32];
  const char *said = grove_last_error();
  test_case(mistakes++);
  snprintf(rank, sizeof rank, "rank %d", p->rank);
  CHECK(got == want, "%s, not %s: '%s'", grove_status_name(got), grove_status_name(want), said);
  CHECK(strstr(said, rank), "no '%s' in '%s'", rank, said);
  CHECK(strstr(said, object), "no '%s' in '%s'", object, said);
}

/* The same for a call that goes wrong on one rank alone: the others hear nothing. */
static inline void told_one(const place *p, grove_status got, grove_status want, int culprit,
                            const char *object)
{
  if (p->rank == culprit) {
    told_alone(p, got, want, object);
    return;
  }
  test_case(mistakes++);
  CHECK_OK(got);
}

typedef enum wait_way { BY_WAIT, BY_TEST, BY_ALL, BY_ANY, BY_SOME, WAIT_WAYS } wait_way;

/* Waits for `op` in this way. */
static inline grove_status see_through(grove_op *op, wait_way way)
{
  grove_status status = GROVE_OK;
  int done = 0, which = -1;
  switch (way) {
  case BY_WAIT: return grove_wait(op);
  case BY_ALL: return grove_wait_all(1, &op);
  case BY_ANY: return grove_wait_any(1, &op, &which);
  case BY_TEST:
    while (status == GROVE_OK && !done) status = grove_test(op, &done);
    return status;
  default:
    while (status == GROVE_OK && done == 0) status = grove_test_some(1, &op, &done, &which);
    return status;
  }
}

#endif
