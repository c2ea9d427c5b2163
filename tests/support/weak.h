/* The C11 memory model, for models of concurrent threads (explore.h). The functions of the library
 * run unchanged: a test replaces their atomic operations by weak_do().
 *
 * A *step* of a thread is one operation, together with everything that the thread does by itself
 * until the next one. To take a step, its call is run from its start. Operations already done
 * return what they returned before, which the state keeps. The next one is done now. At the one
 * after it a jump leaves the call. So a call must be a function of the state alone.
 *
 * A word has a row of values, from the oldest one that any thread may still see to the newest. A
 * read-modify-write gets the newest. A load may return an older one, but none older than what its
 * thread knows of. A *view* is what a thread knows: for each word the oldest value it may see, and
 * *facts*, numbers that only grow. A release attaches its thread's view to the value, and a
 * read-modify-write keeps it there. An acquire takes over the view attached to the value. A
 * sequentially consistent load sees at least the last sequentially consistent store. (Stores become
 * visible in the order of the steps: of two threads that store to one word without reading it, no
 * later step comes before an earlier one.)
 *
 * Plain memory may be accessed only if the conflicting accesses of others happened before.
 * Compilers and processors may move everything that is not ordered, so an unordered access is a
 * failure even if the value would be right.
 *
 *     weak.choice = 0;
 *     do {
 *       state s = *from;
 *       weak_step(&s.memory, who);
 *       if (setjmp(weak.out) == 0) {
 *         call(&s);                    its operations are weak_do()
 *         weak_return();
 *       } else {
 *         weak_pause();
 *       }
 *       more = weak_next_choice();
 *       explorer_reach(x, &s);
 *     } while (more);
 */
#ifndef TEST_WEAK_H
#define TEST_WEAK_H

#include <setjmp.h>
#include <stdint.h>

enum { WEAK_THREADS = 3, WEAK_WORDS = 8, WEAK_VALUES = 8, WEAK_FACTS = 6, WEAK_LOG = 48 };

typedef struct weak_view {
  uint8_t word[WEAK_WORDS];
  uint8_t fact[WEAK_FACTS]; /* the first ones: how often each thread has accessed plain memory */
} weak_view;

typedef struct weak_word {
  uint8_t n;
  uint8_t value[WEAK_VALUES]; /* the newest last */
  weak_view with[WEAK_VALUES];
} weak_word;

typedef struct weak_thread {
  uint8_t done;          /* operations of the call under way */
  uint8_t log[WEAK_LOG]; /* and what they returned */
  weak_view knows;
} weak_thread;

/* A place of plain memory: who wrote it last and when, by the writer's count; and who read it. */
typedef struct weak_plain {
  uint8_t writer, written; /* writer: plus one */
  uint8_t read[WEAK_THREADS];
} weak_plain;

typedef struct weak_memory {
  weak_thread thread[WEAK_THREADS];
  uint8_t last[WEAK_WORDS]; /* the newest value that was stored with sequential consistency */
  weak_word word[WEAK_WORDS];
} weak_memory; /* comes last in a state: words that a model lacks need not be stored */

typedef enum weak_operation {
  WEAK_LOAD,
  WEAK_STORE,
  WEAK_ADD,
  WEAK_OR,
  WEAK_EXCHANGE,
  WEAK_COMPARE
} weak_operation;

/* The current step. */
typedef struct weak_call {
  weak_memory *m;
  int who;
  int operations;      /* in this run */
  int choice, choices; /* the value that its load returns, and the number of possible ones */
  int full;            /* the model had no room for it */
  int words;           /* in the model */
  uint8_t loaded_by[WEAK_WORDS];
  jmp_buf out;
} weak_call;

extern weak_call weak;

void weak_begin(weak_memory *m, int words);
void weak_set(weak_memory *m, int w, uint8_t value);
/* Only these threads, one bit each, ever load it: others need only the newest value. */
void weak_loaded_by(int w, unsigned threads);

/* A step, as above: it begins, the call is left before its end, or has reached its end. */
void weak_step(weak_memory *m, int who);
void weak_pause(void);
void weak_return(void);
/* Forgets what no thread can see any more. 1: another value could have been loaded. */
int weak_next_choice(void);

/* An operation on a word; returns the value before, or the loaded one. */
uint64_t weak_do(int w, weak_operation what, uint64_t value, uint64_t expected, int order);
/* Whether what the thread does by itself here belongs to this step, and not to an earlier one; and
 * what is kept of the operation before it, instead of its value. */
int weak_here(void);
uint8_t *weak_kept(void);

/* This thread knows what another one does. */
void weak_learn(weak_view *mine, const weak_view *other);

/* Plain memory: 1 if everything was ordered. */
int weak_read(weak_plain *at);
int weak_write(weak_plain *at);

#endif
