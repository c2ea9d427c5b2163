/* What an operation has of a device: recipes for all that it packs and unpacks there, and a mirror,
 * in the device's memory, of the host memory in which its letters lie. Kernels pack into the
 * mirror, and copies bring it to the host; or the other way round. Small letters have no mirror:
 * kernels reach them in the host's memory. (A space's `lift`: space.h.)
 */
#ifndef GROVE_DEVICE_LIFT_H
#define GROVE_DEVICE_LIFT_H

#include "device/recipes.h"
#include "device/station.h"

#ifdef __cplusplus
extern "C" {
#endif

grove_status grove_lift_open(const grove_space_kind *kind, grove_context *ctx, int device,
                             grove_lift **out);
void grove_lift_close(grove_lift *lift);

/* As in a space's table. */
grove_status grove_lift_cover(grove_lift *lift, void *memory, int64_t bytes);
grove_status grove_lift_mirror(grove_lift *lift, void *memory, int64_t bytes);
void grove_lift_share(grove_lift *lift, void *region, int64_t bytes);
void grove_lift_liken(grove_lift *lift, const void *place, int64_t bytes, const void *message);
grove_status grove_lift_prepare(grove_lift *lift, const grove_mover *mover,
                                const grove_shape *shape, int64_t begin, int64_t count,
                                grove_motion motion);
grove_status grove_lift_merge(grove_lift *lift, const grove_mover *mover, grove_motion motion,
                              int n, const grove_window *windows);
grove_status grove_lift_keep_inside(grove_lift *lift, void *memory, int64_t bytes);
grove_status grove_lift_pass_on(grove_lift *lift, grove_lift *to, void *memory, int64_t bytes);
grove_status grove_lift_begin(grove_lift *lift, grove_stream *stream);
grove_status grove_lift_flush(grove_lift *lift);
grove_status grove_lift_proceed(grove_lift *lift);
grove_status grove_lift_pack(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                             const void *array, int64_t begin, int64_t count, void *message);
grove_status grove_lift_unpack(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                               const void *message, void *array, int64_t begin, int64_t count);
grove_status grove_lift_fetch(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                              void *array, int64_t begin, int64_t count, void *message);
int64_t grove_lift_begun(grove_lift *lift, grove_heading heading);
int64_t grove_lift_passed(grove_lift *lift, grove_heading heading);
void grove_lift_weigh(const grove_lift *lift, grove_burden *sum);

#ifdef __cplusplus
}
#endif

#endif
