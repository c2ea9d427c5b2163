/* A method is one way to do the exchanges of a case: Grove, MPI by hand, another library.
 *
 * Its use; the call on one line may be repeated, and is what a measure times:
 *
 *     state = set_up(c)           the graph, without arrays     \  `setup` times these three,
 *     init(state)                 bound to the case's arrays    |  with one iteration
 *     run(state, begin, end)      all exchanges, one by one     /
 *     fini(state)                 undoes init
 *     tear_down(state)
 *
 * The iterations to run are begin .. end-1; their numbers determine the arrays they use. All
 * functions but `supports` are called by every rank.
 */
#ifndef BENCH_METHODS_METHOD_H
#define BENCH_METHODS_METHOD_H

#include "driver/case.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_method {
  const char *name;
  const char *about;                       /* one line for --list */
  int (*supports)(const bench_spec *spec); /* -1: it claims to, and fails */
  void *(*set_up)(bench_case *c);
  void (*init)(void *state); /* NULL: nothing to do, as with fini */
  void (*run)(void *state, int begin, int end);
  void (*fini)(void *state);
  void (*tear_down)(void *state);
} bench_method;

/* NULL where this build has no such method. */
const bench_method *bench_method_find(const char *name);

/* All of them, and NULL. */
extern const bench_method *const bench_methods[];

#ifdef __cplusplus
}
#endif

#endif
