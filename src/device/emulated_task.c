/* The state of the engine; and what is done with a task of the emulated device, by its thread or by
 * its clock. */
#include "device/emulated_engine.h"

#include <stdlib.h>
#include <string.h>

grove_engine_state grove_engine = {.lock = PTHREAD_MUTEX_INITIALIZER};

void grove_engine_lock(void)
{
  pthread_mutex_lock(&grove_engine.lock);
}

void grove_engine_unlock(void)
{
  pthread_mutex_unlock(&grove_engine.lock);
}

int grove_task_word_came(const grove_task *t)
{
  const uint32_t *word = grove_emulated_alias(t->word);
  return (int32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - t->value) >= 0;
}

void grove_task_perform(const grove_task *t)
{
  switch (t->kind) {
  case GROVE_WORK_COPY:
    memmove(grove_emulated_alias(t->to), grove_emulated_alias(t->from), (size_t)t->bytes);
    break;
  case GROVE_WORK_LAUNCH: grove_launcher_run(t->launch, t->seed); break;
  case GROVE_WORK_WRITE:
    __atomic_store_n((uint32_t *)grove_emulated_alias(t->word), t->value, __ATOMIC_RELEASE);
    break;
  case GROVE_WORK_AWAIT:
  case GROVE_WORK_NOTHING: break;
  }
}

void grove_task_free(grove_task *t)
{
  if (t) free(t->launch);
  free(t);
}

void grove_task_retire(grove_task *t)
{
  grove_stream *s = t->stream;
  s->first = t->next;
  if (!s->first) s->last = NULL;
  s->done = t->number;
  grove_task_free(t);
  pthread_cond_broadcast(&grove_engine.done);
}

/* Notes what the host has seen of it, before the host can see it. */
void grove_task_note(const grove_task *t)
{
  if (t->kind != GROVE_WORK_WRITE || grove_engine.strict || grove_store_is_given(t->word)) return;
  grove_order_saw(t->word, t->value);
}
