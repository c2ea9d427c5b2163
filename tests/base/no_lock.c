/* Linked in place of the lock (-Wl,--wrap), to see that exec/threads fails without it. */
#include "base/lock.h"

void __wrap_grove_lock_enter(grove_lock *lock);
void __wrap_grove_lock_leave(grove_lock *lock);
int __wrap_grove_lock_try(grove_lock *lock);
int __wrap_grove_lock_let_go(grove_lock *lock);
void __wrap_grove_lock_take_back(grove_lock *lock, int depth);

void __wrap_grove_lock_enter(grove_lock *lock)
{
  (void)lock;
}

void __wrap_grove_lock_leave(grove_lock *lock)
{
  (void)lock;
}

int __wrap_grove_lock_try(grove_lock *lock)
{
  (void)lock;
  return 1;
}

int __wrap_grove_lock_let_go(grove_lock *lock)
{
  (void)lock;
  return 0;
}

void __wrap_grove_lock_take_back(grove_lock *lock, int depth)
{
  (void)lock;
  (void)depth;
}
