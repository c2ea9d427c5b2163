/* Errors. The function that discovers an error records it, with the facts, as this thread's last
 * sentence. Everybody else passes the status on. A function that can fail looks like this:
 *
 *     grove_status status = GROVE_OK;
 *     GROVE_CHECK(n >= 0, GROVE_ERR_ARG, "n is %d; it must not be negative", n);
 *     GROVE_TRY(something(n));
 *     GROVE_TRY_MPI(MPI_Type_size(unit, &size));
 *     return GROVE_OK;
 *   fail:
 *     (free what was built)
 *     return status;
 *
 * One that has nothing to free uses GROVE_PASS instead of GROVE_TRY, and needs no label.
 */
#ifndef GROVE_BASE_STATUS_H
#define GROVE_BASE_STATUS_H

#include "grove.h"

#include <stddef.h>

#define GROVE_TRY(call)                                                                            \
  do {                                                                                             \
    status = (call);                                                                               \
    if (status != GROVE_OK) goto fail;                                                             \
  } while (0)

/* Catches errors of calls on Grove's communicators, which return errors. Errors of calls on types
 * and operations go to the handler of MPI_COMM_WORLD first, which may end the job: check their
 * arguments before. */
#define GROVE_TRY_MPI(call)                                                                        \
  do {                                                                                             \
    int mpi_code_ = (call);                                                                        \
    if (mpi_code_ != MPI_SUCCESS) {                                                                \
      status = grove_error_mpi(mpi_code_, #call, __FILE__, __LINE__);                              \
      goto fail;                                                                                   \
    }                                                                                              \
  } while (0)

#define GROVE_CHECK(condition, code, ...)                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      status = grove_error(code, __FILE__, __LINE__, __VA_ARGS__);                                 \
      goto fail;                                                                                   \
    }                                                                                              \
  } while (0)

/* Points `pointer` at `count` zeroed items; never NULL, even for a count of 0. */
#define GROVE_NEW(pointer, count)                                                                  \
  do {                                                                                             \
    (pointer) = grove_memory((size_t)(count), sizeof *(pointer));                                  \
    if (!(pointer)) GROVE_TRY(GROVE_NO_MEMORY(pointer, count));                                    \
  } while (0)

/* The same without zeroing, for items that are all written before they are read. */
#define GROVE_ROOM(pointer, count)                                                                 \
  do {                                                                                             \
    (pointer) = grove_room((size_t)(count), sizeof *(pointer));                                    \
    if (!(pointer)) GROVE_TRY(GROVE_NO_MEMORY(pointer, count));                                    \
  } while (0)

/* Makes room for `more` items behind the `count` of a list, which begins as NULL. A list of n items
 * has room for the next power of two, so nobody has to store the capacity. The count may also fall.
 *
 *     GROVE_GROW(list, n, 1);
 *     list[n++] = item;
 */
#define GROVE_GROW(list, count, more) GROVE_TRY(GROVE_GROWN(list, count, more))

/* The same for functions that have nothing to free: these return instead of going to `fail`. */
#define GROVE_PASS(call)                                                                           \
  do {                                                                                             \
    grove_status passed_ = (call);                                                                 \
    if (passed_ != GROVE_OK) return passed_;                                                       \
  } while (0)

#define GROVE_PASS_MPI(call)                                                                       \
  do {                                                                                             \
    int mpi_code_ = (call);                                                                        \
    if (mpi_code_ != MPI_SUCCESS) return grove_error_mpi(mpi_code_, #call, __FILE__, __LINE__);    \
  } while (0)

#define GROVE_PASS_CHECK(condition, code, ...)                                                     \
  do {                                                                                             \
    if (!(condition)) return grove_error(code, __FILE__, __LINE__, __VA_ARGS__);                   \
  } while (0)

#define GROVE_PASS_NEW(pointer, count)                                                             \
  do {                                                                                             \
    (pointer) = grove_memory((size_t)(count), sizeof *(pointer));                                  \
    if (!(pointer)) return GROVE_NO_MEMORY(pointer, count);                                        \
  } while (0)

#define GROVE_PASS_ROOM(pointer, count)                                                            \
  do {                                                                                             \
    (pointer) = grove_room((size_t)(count), sizeof *(pointer));                                    \
    if (!(pointer)) return GROVE_NO_MEMORY(pointer, count);                                        \
  } while (0)

#define GROVE_PASS_GROW(list, count, more) GROVE_PASS(GROVE_GROWN(list, count, more))

#define GROVE_NO_MEMORY(pointer, count)                                                            \
  grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for %lld items of %zu bytes (%s)",  \
              (long long)(count), sizeof *(pointer), #pointer)
#define GROVE_GROWN(list, count, more)                                                             \
  (grove_grow(&(list), (int64_t)(count), (int64_t)(more), sizeof *(list))                          \
     ? GROVE_OK                                                                                    \
     : GROVE_NO_MEMORY(list, (count) + (more)))

/* Points several pointers at zeroed arrays in one allocation. Freeing the first frees all:
 *
 *     GROVE_NEW_ALL(GROVE_WISH(x, nx), GROVE_WISH(y, ny));
 */
#define GROVE_NEW_ALL(...)      GROVE_TRY(GROVE_MADE_ALL(__VA_ARGS__))
#define GROVE_PASS_NEW_ALL(...) GROVE_PASS(GROVE_MADE_ALL(__VA_ARGS__))

#define GROVE_MADE_ALL(...)                                                                        \
  grove_make_all((int)(sizeof((const grove_wish[]){__VA_ARGS__}) / sizeof(grove_wish)),            \
                 (const grove_wish[]){__VA_ARGS__})

typedef struct grove_wish {
  void *pointer; /* address of the pointer */
  size_t count, bytes;
} grove_wish;

#define GROVE_WISH(pointer, count)                                                                 \
  {                                                                                                \
    &(pointer), (size_t)(count), sizeof *(pointer)                                                 \
  }

/* The longest sentence: it must travel between ranks. */
enum { GROVE_SENTENCE_BYTES = 1024 };

#ifdef __cplusplus
extern "C" {
#endif

/* Records the sentence, followed by the place in the source, and returns `code`. */
grove_status grove_error(grove_status code, const char *file, int line, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 4, 5)))
#endif
  ;

/* The same for a failed MPI call, with MPI's own explanation. */
grove_status grove_error_mpi(int mpi_code, const char *call, const char *file, int line);

/* Records a sentence that came from elsewhere (another rank), as it is. */
grove_status grove_error_set(grove_status code, const char *sentence);

/* An attempt that may fail without harm must leave no sentence behind: the user would take it for
 * that of the last failed call. Kept before the attempt, restored after it. */
typedef struct grove_sentence {
  char text[GROVE_SENTENCE_BYTES];
} grove_sentence;

void grove_error_keep(grove_sentence *out);
void grove_error_restore(const grove_sentence *kept);

/* What a public call returns. A failure ends the job here, with its sentence, where the option
 * on_error has it so (must.c). _by: a failure, and the value of that option. _alone: a call without
 * a context, which goes by this rank's environment; grove_verdict of context.h is for the others.
 * tools/lint verdicts sees to it that no failure leaves a public call in another way. */
grove_status grove_verdict_by(int on_error, grove_status status);
grove_status grove_verdict_alone(grove_status status);

/* Copies as much of a text as there is room for. */
void grove_copy_text(char *out, size_t room, const char *text);

/* Was MPI_Finalize called? Then memory may still be freed, but no object of MPI's. */
int grove_mpi_is_gone(void);

/* calloc, with a size of at least one byte. */
void *grove_memory(size_t count, size_t bytes);

/* See GROVE_NEW_ALL. This rank's failure. */
grove_status grove_make_all(int n, const grove_wish *wishes);

/* malloc, likewise. */
void *grove_room(size_t count, size_t bytes);

/* See GROVE_GROW; `list` is the address of the pointer. False: no memory, nothing has changed. */
int grove_grow(void *list, int64_t count, int64_t more, size_t bytes);

/* The least multiple of `unit` that is not less than `bytes`. */
static inline int64_t grove_round_up(int64_t bytes, int64_t unit)
{
  return (bytes + unit - 1) / unit * unit;
}

/* The greatest common divisor of two numbers that are not negative. */
static inline int64_t grove_common_divisor(int64_t a, int64_t b)
{
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

#ifdef __cplusplus
}
#endif

#endif
