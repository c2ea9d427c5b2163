/* Units that no kernel can move: those of users' operations, of long doubles, and of types that
 * only MPI can walk. Whole slots go to the host, are packed, unpacked or fetched there by the code
 * for host arrays, and come back. The call waits for them.
 */
#ifndef GROVE_DEVICE_BY_HOST_H
#define GROVE_DEVICE_BY_HOST_H

#include "device/recipes.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_by_host grove_by_host;

/* GROVE_ERR_UNSUPPORTED where the slots of the type lie inside each other. */
grove_status grove_by_host_create(const grove_driver *driver, int device, const grove_mover *mover,
                                  const grove_shape *shape, int64_t begin, int64_t count,
                                  grove_motion motion, grove_by_host **out);
/* Of device memory. */
int64_t grove_by_host_bytes(const grove_by_host *b);
void grove_by_host_free(const grove_driver *driver, int device, grove_by_host *b);

/* Behind what the stream has; what comes behind it on the stream sees the array's new values. */
grove_status grove_by_host_do(const grove_driver *driver, int device, grove_stream *stream,
                              grove_by_host *b, const grove_mover *mover, char *array,
                              char *message);

#ifdef __cplusplus
}
#endif

#endif
