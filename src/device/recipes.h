/* Recipes (pack/recipe.h) for a device, from movers and shapes.
 *
 *     grove_prepared p;
 *     GROVE_TRY(grove_recipe_prepare(driver, device, &mover, &shape, begin, count, motion, &p));
 *     grove_launch_add(&launch, &p, array, message);
 *     ... driver->launch ... until it is done ...
 *     grove_recipe_free(driver, device, &p);
 */
#ifndef GROVE_DEVICE_RECIPES_H
#define GROVE_DEVICE_RECIPES_H

#include "device/driver.h"
#include "pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits: an operation may meet several. */
typedef enum grove_obstacle {
  GROVE_OBSTACLE_NONE = 0,
  GROVE_OBSTACLE_OPERATION = 1 << 0,   /* it is a user's */
  GROVE_OBSTACLE_LONG_DOUBLE = 1 << 1, /* devices have none */
  GROVE_OBSTACLE_TYPE = 1 << 2,        /* only MPI knows how its units lie, or are combined */
  GROVE_OBSTACLE_SLOTS = 1 << 3        /* they overlap, or are too many for a recipe */
} grove_obstacle;

typedef struct grove_touched {
  int64_t begin, end;
} grove_touched;

typedef struct grove_prepared {
  grove_recipe *recipe; /* in the device's memory, with its lists behind it */
  int64_t bytes;        /* of that */
  int64_t items;
  int64_t low, high; /* bytes of the array that it may touch, from slot 0 on */
  /* The ranges that it touches, for a driver that checks the order; none if they are too many. */
  int ntouched;
  grove_touched *touched;
  int64_t message_bytes;
  int writes_array, writes_message;
  int moves_only; /* it combines nothing */
  /* If it needs no kernel: a copy of this many bytes between array + low and the message. Without a
   * recipe it is nothing else. */
  int is_copy;
} grove_prepared;

/* Why kernels cannot do it; GROVE_OBSTACLE_NONE: they can. */
grove_obstacle grove_recipe_obstacle(const grove_mover *mover, const grove_shape *shape,
                                     grove_motion motion);
static inline int grove_recipe_is_possible(const grove_mover *mover, const grove_shape *shape,
                                           grove_motion motion)
{
  return grove_recipe_obstacle(mover, shape, motion) == GROVE_OBSTACLE_NONE;
}

/* Does it change the array? */
int grove_recipe_writes_slots(const grove_mover *mover, const grove_shape *shape,
                              grove_motion motion);

/* Do so many slots in a row have no byte in common? */
int grove_slots_are_apart(const grove_unit *unit, int64_t nslots);

/* Units begin .. begin+count-1 of the shape. Copies what it needs: mover and shape may go. The
 * copy to the device is done when it returns. */
grove_status grove_recipe_prepare(const grove_driver *driver, int device, const grove_mover *mover,
                                  const grove_shape *shape, int64_t begin, int64_t count,
                                  grove_motion motion, grove_prepared *out);
/* The same with a recipe even where a copy would do: a kernel may do it with others. */
grove_status grove_recipe_prepare_both(const grove_driver *driver, int device,
                                       const grove_mover *mover, const grove_shape *shape,
                                       int64_t begin, int64_t count, grove_motion motion,
                                       grove_prepared *out);
void grove_recipe_free(const grove_driver *driver, int device, grove_prepared *p);

/* Slots, and the units that are combined with each: slot k with units[starts[k]] up to
 * units[starts[k + 1] - 1], which ascend; without `starts` it has one, units[k]. A unit begins so
 * many grains behind the message. */
typedef struct grove_chains {
  int64_t targets, nunits;
  int64_t *slots, *units, *starts;
  int64_t grain;
} grove_chains;

/* The same of lists that are given, to unpack or to fetch. What it touches is not noted. */
grove_status grove_recipe_prepare_lists(const grove_driver *driver, int device,
                                        const grove_mover *mover, grove_motion motion,
                                        const grove_chains *chains, grove_prepared *out);

/* Lists what units of a shape touch, as `touched`. */
grove_status grove_recipe_note_touched(const grove_unit *unit, const grove_shape *shape,
                                       int64_t begin, int64_t count, grove_prepared *p);

/* Adds it to the jobs of a launch. */
void grove_launch_add(grove_launch *launch, const grove_prepared *p, void *array, void *message);

#ifdef __cplusplus
}
#endif

#endif
