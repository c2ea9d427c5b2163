/* Names of statuses, and the sentence of the last failure: never NULL, and each thread's own. */
#include "check.h"

#include <pthread.h>
#include <string.h>

static void names(void)
{
  CHECK(strcmp(grove_status_name(GROVE_OK), "GROVE_OK") == 0, "%s", grove_status_name(GROVE_OK));
  CHECK(strcmp(grove_status_name(GROVE_ERR_GRAPH), "GROVE_ERR_GRAPH") == 0, "%s",
        grove_status_name(GROVE_ERR_GRAPH));
  for (int a = GROVE_OK; a <= GROVE_ERR_DEVICE; a++) {
    const char *name = grove_status_name((grove_status)a);
    CHECK(strncmp(name, a == GROVE_OK ? "GROVE_OK" : "GROVE_ERR_", 8) == 0, "%d is %s", a, name);
    for (int b = GROVE_OK; b < a; b++)
      CHECK(strcmp(name, grove_status_name((grove_status)b)) != 0, "%s twice", name);
  }
  CHECK(grove_status_name((grove_status)12345) != NULL, "an unknown status has no name");
}

static void *other_thread(void *unused)
{
  (void)unused;
  CHECK(strcmp(grove_last_error(), "") == 0, "another thread's error: '%s'", grove_last_error());
  CHECK_STATUS(grove_wait(NULL), GROVE_ERR_ARG);
  CHECK(strlen(grove_last_error()) > 10, "'%s' is no sentence", grove_last_error());
  return NULL;
}

static void last_error(void)
{
  CHECK(strcmp(grove_last_error(), "") == 0, "an error before any: '%s'", grove_last_error());
  CHECK_STATUS(grove_start(NULL), GROVE_ERR_ARG);
  char before[2048];
  snprintf(before, sizeof before, "%s", grove_last_error());
  CHECK(strlen(before) > 10, "'%s' is no sentence", before);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0, "no second thread");
  pthread_join(thread, NULL);
  CHECK(strcmp(grove_last_error(), before) == 0, "another thread changed '%s' to '%s'", before,
        grove_last_error());
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/errors");
  names();
  last_error();
  return test_end();
}
