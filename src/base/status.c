#include "base/status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char last_error[GROVE_SENTENCE_BYTES];

const char *grove_status_name(grove_status status)
{
  switch (status) {
  case GROVE_OK: return "GROVE_OK";
  case GROVE_ERR_ARG: return "GROVE_ERR_ARG";
  case GROVE_ERR_GRAPH: return "GROVE_ERR_GRAPH";
  case GROVE_ERR_STATE: return "GROVE_ERR_STATE";
  case GROVE_ERR_OPTION: return "GROVE_ERR_OPTION";
  case GROVE_ERR_UNSUPPORTED: return "GROVE_ERR_UNSUPPORTED";
  case GROVE_ERR_MEMORY: return "GROVE_ERR_MEMORY";
  case GROVE_ERR_SYSTEM: return "GROVE_ERR_SYSTEM";
  case GROVE_ERR_MPI: return "GROVE_ERR_MPI";
  case GROVE_ERR_TIMEOUT: return "GROVE_ERR_TIMEOUT";
  case GROVE_ERR_CORRUPT: return "GROVE_ERR_CORRUPT";
  }
  return "unknown status";
}

void grove_copy_text(char *out, size_t room, const char *text)
{
  size_t bytes = strnlen(text, room - 1);
  memcpy(out, text, bytes);
  out[bytes] = '\0';
}

const char *grove_last_error(void)
{
  return last_error;
}

grove_status grove_error(grove_status code, const char *file, int line, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int used = vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  if (used < 0) used = 0;
  if ((size_t)used < sizeof last_error)
    snprintf(last_error + used, sizeof last_error - (size_t)used, " [%s:%d]", file, line);
  return code;
}

grove_status grove_error_mpi(int mpi_code, const char *call, const char *file, int line)
{
  char reason[MPI_MAX_ERROR_STRING + 1] = "unknown MPI error";
  int length = 0;
  MPI_Error_string(mpi_code, reason, &length);
  return grove_error(GROVE_ERR_MPI, file, line, "%.200s failed: %.500s", call, reason);
}

grove_status grove_error_set(grove_status code, const char *sentence)
{
  if (sentence != last_error) grove_copy_text(last_error, sizeof last_error, sentence);
  return code;
}

void grove_error_keep(grove_sentence *out)
{
  grove_copy_text(out->text, sizeof out->text, last_error);
}

void grove_error_restore(const grove_sentence *kept)
{
  grove_error_set(GROVE_OK, kept->text);
}

int grove_mpi_is_gone(void)
{
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized;
}

/* glibc's malloc has small blocks at hand, in a cache that its calloc (2.36) does not use. Large
 * blocks calloc may already know to be zero. */
enum { SMALL_BYTES = 1 << 10 };

void *grove_memory(size_t count, size_t bytes)
{
  if (bytes != 0 && count > SIZE_MAX / bytes) return NULL;
  if (count * bytes > SMALL_BYTES) return calloc(count, bytes);
  size_t all = count * bytes > 0 ? count * bytes : 1;
  void *memory = malloc(all);
  __asm__("" : "+r"(memory)); /* else compilers turn the two calls into calloc */
  return memory ? memset(memory, 0, all) : NULL;
}

/* Two of these add up without overflow. */
static const size_t MOST_BYTES = SIZE_MAX / 4;

/* Every array begins where any type may. */
static size_t wished_bytes(const grove_wish *wish)
{
  size_t unit = sizeof(max_align_t);
  return (wish->count * wish->bytes + unit - 1) / unit * unit;
}

grove_status grove_make_all(int n, const grove_wish *wishes)
{
  size_t all = 0;
  for (int i = 0; i < n; i++) {
    GROVE_PASS_CHECK(all <= MOST_BYTES && wishes[i].count <= MOST_BYTES / wishes[i].bytes,
                     GROVE_ERR_MEMORY, "no memory for %zu items of %zu bytes", wishes[i].count,
                     wishes[i].bytes);
    all += wished_bytes(&wishes[i]);
  }
  char *at = grove_memory(all, 1);
  GROVE_PASS_CHECK(at, GROVE_ERR_MEMORY, "no memory for %zu bytes", all);
  for (int i = 0; i < n; i++) {
    memcpy(wishes[i].pointer, &at, sizeof at);
    at += wished_bytes(&wishes[i]);
  }
  return GROVE_OK;
}

void *grove_room(size_t count, size_t bytes)
{
  if (bytes != 0 && count > SIZE_MAX / bytes) return NULL;
  return malloc(count > 0 && bytes > 0 ? count * bytes : 1);
}

int grove_grow(void *list, int64_t count, int64_t more, size_t bytes)
{
  void *old = NULL;
  int64_t room = 1, wanted = count + more;
  memcpy(&old, list, sizeof old);
  if (old && more == 1 && (count & (count - 1)) != 0) return 1;
  if (wanted > INT64_MAX / 2 / (int64_t)bytes) return 0;
  while (room < count) room *= 2;
  if (old && count > 0 && wanted <= room) return 1;
  while (room < wanted) room *= 2;
  void *grown = realloc(old, (size_t)room * bytes);
  if (grown) memcpy(list, &grown, sizeof grown);
  return grown != NULL;
}
