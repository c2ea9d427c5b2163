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

#endif
