/* One thread at a time is inside, however deep; it can let go of all levels and take them back; a
 * thread that polls steps aside for one that has to get in. */
#include "base/lock.h"
#include "check.h"
#include "threads.h"

enum { THREADS = 4, TIMES = 20000 };

typedef struct shared {
  grove_lock *lock;
  int64_t count; /* with the lock alone */
  int stop;      /* with the lock */
} shared;

static void count(int number, void *self)
{
  shared *s = self;
  for (int i = 0; i < TIMES; i++) {
    grove_lock_enter(s->lock);
    if (i % 3 == number % 3) {
      grove_lock_enter(s->lock);
      s->count++;
      int depth = grove_lock_let_go(s->lock);
      CHECK(depth == 2, "%d levels, not 2", depth);
      grove_lock_take_back(s->lock, depth);
      grove_lock_leave(s->lock);
    } else {
      s->count++;
    }
    grove_lock_leave(s->lock);
  }
}

/* All but the last poll until it has been inside. */
static void poll_or_enter(int number, void *self)
{
  shared *s = self;
  for (int stop = 0; number < THREADS - 1 && !stop;)
    if (grove_lock_try(s->lock)) {
      stop = s->stop;
      grove_lock_leave(s->lock);
    }
  if (number < THREADS - 1) return;
  grove_lock_enter(s->lock);
  s->stop = 1;
  grove_lock_leave(s->lock);
}

static void of_one_thread(grove_lock *lock)
{
  CHECK(grove_lock_let_go(lock) == 0, "outside there is nothing to let go of");
  grove_lock_take_back(lock, 0);
  CHECK(grove_lock_try(lock), "nobody is inside");
  CHECK(grove_lock_try(lock), "the same thread may enter again");
  CHECK(!grove_lock_is_wanted(lock), "nobody else is there");
  CHECK(grove_lock_let_go(lock) == 2, "two levels");
  CHECK(grove_lock_let_go(lock) == 0, "outside again");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/lock_lets_go");
  shared s = {0};
  CHECK_OK(grove_lock_create(&s.lock));
  of_one_thread(s.lock);
  in_threads(THREADS, count, &s);
  CHECK(s.count == THREADS * TIMES, "counted %lld", (long long)s.count);
  for (int i = 0; i < 50; i++) {
    s.stop = 0;
    in_threads(THREADS, poll_or_enter, &s);
  }
  grove_lock_free(&s.lock);
  return test_end();
}
