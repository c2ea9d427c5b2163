/* Memory that the processes of one host share: a POSIX segment. Its space is really reserved, so
 * that touching it can never end in SIGBUS. Its name is removed as soon as all have mapped it, so
 * that nothing stays behind, however the program ends after that.
 *
 *     one process                                the others, once told the name
 *     grove_segment_create(bytes, name, &s)      grove_segment_attach(name, bytes, &s)
 *     (wait until all are attached)
 *     grove_segment_unlink(name)
 *     ... s.base ...                             ... s.base ...
 *     grove_segment_free(&s)                     grove_segment_free(&s)
 *
 * It can grow: any process reserves a further region, anywhere behind the first bytes, and tells
 * the others where. Each process maps the regions that it wants.
 *
 * A process killed before the name is removed leaves it behind. Its maker holds a lock on a name in
 * use. The kernel releases it whatever happens, so the next program can tell and remove the name.
 */
#ifndef GROVE_BASE_SEGMENT_H
#define GROVE_BASE_SEGMENT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { GROVE_SEGMENT_NAME = 64 };

#ifdef __cplusplus
extern "C" {
#endif

/* Data of different writers is two cache lines apart: some processors fetch lines in pairs. */
enum { GROVE_APART = 128 };

typedef struct grove_segment {
  void *base; /* its first bytes; NULL: there is no segment */
  size_t bytes;
  int file;
} grove_segment;

/* Zeroed memory under a new name, which is written to `name`. GROVE_ERR_MEMORY if the host has not
 * enough shared memory left. */
grove_status grove_segment_create(size_t bytes, char name[GROVE_SEGMENT_NAME], grove_segment *out);
grove_status grove_segment_attach(const char *name, size_t bytes, grove_segment *out);
void grove_segment_unlink(const char *name);
void grove_segment_free(grove_segment *segment);

/* Mappings begin and end at multiples of this. */
int64_t grove_segment_page(void);

/* Bytes that can still be reserved, by any process of the host; another may be first. INT64_MAX: no
 * limit. */
int64_t grove_segment_left(const grove_segment *segment);

/* Reserves bytes offset .. offset+bytes-1, zeroed; GROVE_ERR_MEMORY if there is not enough. */
grove_status grove_segment_reserve(const grove_segment *segment, int64_t offset, int64_t bytes);

/* The opposite: nobody may touch them any more. If the system cannot, the memory stays. */
void grove_segment_return(const grove_segment *segment, int64_t offset, int64_t bytes);

/* Maps a reserved region into this process, and unmaps it. */
grove_status grove_segment_map(const grove_segment *segment, int64_t offset, int64_t bytes,
                               void **out);
void grove_segment_unmap(void *memory, int64_t bytes);

/* Removes the names that programs of this user left behind. */
void grove_segment_sweep(void);

#ifdef __cplusplus
}
#endif

#endif
