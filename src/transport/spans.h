/* Which parts of memory are free: for memory that is made in large regions and handed out in small
 * parts. No memory is touched.
 *
 *     grove_spans_reserve(&spans, 2)          for one region and one part; else giving could fail
 *     grove_spans_give(&spans, &region)
 *     grove_spans_take(&spans, bytes, &part)  false: there is no room
 *     grove_spans_give(&spans, &part)
 */
#ifndef GROVE_TRANSPORT_SPANS_H
#define GROVE_TRANSPORT_SPANS_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_free_span {
  int64_t region; /* number of the region */
  int64_t offset, bytes;
} grove_free_span;

typedef struct grove_spans {
  int n, room;
  grove_free_span *list; /* free spans, ascending, none adjacent to another */
} grove_spans;

/* n: the most regions and parts in use, in all. This rank's failure. */
grove_status grove_spans_reserve(grove_spans *spans, int n);

/* The first span that is large enough. */
int grove_spans_take(grove_spans *spans, int64_t bytes, grove_free_span *out);
void grove_spans_give(grove_spans *spans, const grove_free_span *span);
void grove_spans_free(grove_spans *spans);

#ifdef __cplusplus
}
#endif

#endif
