/* The option alarm: a sleeping thread that advances the operations of a context once the earliest
 * known deadline has passed. So deadlines are kept while nobody calls the library. Between
 * deadlines it costs nothing, unlike the helper of progress=thread.
 */
#ifndef GROVE_CONTEXT_ALARM_H
#define GROVE_CONTEXT_ALARM_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_alarm grove_alarm;

/* `fire` is called with no lock held. This rank's failure. */
grove_status grove_alarm_start(void (*fire)(void *self), void *self, grove_alarm **out);

/* Waits until the thread has ended: not with a lock that `fire` takes. */
void grove_alarm_end(grove_alarm *alarm);
void grove_alarm_stop(grove_alarm **alarm); /* and frees it */

/* Makes it fire at this time, by grove_clock, or earlier. Any thread. */
void grove_alarm_set(grove_alarm *alarm, double when);

#ifdef __cplusplus
}
#endif

#endif
