/* Memory that the processes of one host share: a POSIX segment whose space is really reserved (so
 * that touching it can never end in SIGBUS), and whose name is gone as soon as all have mapped it
 * (so that nothing stays behind, however the program ends after that).
 *
 *     one process                                the others, once told the name
 *     grove_segment_create(bytes, name, &s)      grove_segment_attach(name, bytes, &s)
 *     (wait until all are attached)
 *     grove_segment_unlink(name)
 *     ... s.base ...                             ... s.base ...
 *     grove_segment_free(&s)                     grove_segment_free(&s)
 */
#ifndef GROVE_BASE_SEGMENT_H
#define GROVE_BASE_SEGMENT_H

#include "base/status.h"

#include <stddef.h>

enum { GROVE_SEGMENT_NAME = 64 };

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_segment {
  void *base; /* NULL: not mapped */
  size_t bytes;
} grove_segment;

/* Zeroed memory under a fresh name, which is written to `name`. GROVE_ERR_MEMORY when the host has
 * not that much shared memory left. */
grove_status grove_segment_create(size_t bytes, char name[GROVE_SEGMENT_NAME], grove_segment *out);
grove_status grove_segment_attach(const char *name, size_t bytes, grove_segment *out);
void grove_segment_unlink(const char *name);
void grove_segment_free(grove_segment *segment);

#ifdef __cplusplus
}
#endif

#endif
