#include "kernel.h"

#include <stdlib.h>

enum { SECTOR = 32, BITS = 64 };

static int has_meaning(grove_status status)
{
  if (status != GROVE_ERR_UNSUPPORTED) bench_need_grove(status);
  return status == GROVE_OK;
}

int bench_kernel_open(const bench_gpu *g, MPI_Datatype type, MPI_Op op, const int64_t *slots,
                      int64_t n, grove_motion motion, bench_kernel *k)
{
  const grove_index none = {0};
  grove_combine combine;
  *k = (bench_kernel){.motion = motion, .slots = {.count = n}};
  bench_need_grove(grove_unit_create(type, MPI_COMM_SELF, &k->unit));
  if (!has_meaning(grove_combine_create(op, &k->unit, &combine))) {
    grove_unit_free(&k->unit);
    return 0;
  }
  bench_need_grove(grove_mover_create(&k->unit, &combine, &k->mover));
  if (slots) bench_need_grove(grove_index_create(n, slots, &k->slots));
  bench_need_grove(grove_shape_create(&k->slots, &none, k->unit.bytes, &k->shape));
  int possible = grove_recipe_is_possible(&k->mover, &k->shape, motion);
  if (possible)
    bench_need_grove(
      grove_recipe_prepare(g->driver, g->device, &k->mover, &k->shape, 0, n, motion, &k->prepared));
  else
    bench_kernel_close(g, k);
  return possible;
}

void bench_kernel_close(const bench_gpu *g, bench_kernel *k)
{
  grove_recipe_free(g->driver, g->device, &k->prepared);
  grove_shape_free(&k->shape);
  grove_index_free(&k->slots);
  grove_mover_free(&k->mover);
}

static void enqueue_launch(const bench_gpu *g, const grove_prepared *p, grove_stream *stream,
                           char *array, char *message)
{
  static grove_launch launch;
  const grove_access accesses[] = {{message, p->message_bytes, p->writes_message},
                                   {array + p->low, p->high - p->low, p->writes_array}};
  launch.njobs = 0;
  grove_launch_add(&launch, p, array, message);
  bench_need_grove(g->driver->launch(g->device, stream, &launch, accesses, 2));
}

void bench_kernel_enqueue(const bench_gpu *g, const bench_kernel *k, grove_stream *stream,
                          void *array, void *message)
{
  const grove_prepared *p = &k->prepared;
  char *first = (char *)array + p->low;
  int packs = k->motion == GROVE_MOTION_PACK;
  if (!p->is_copy)
    enqueue_launch(g, p, stream, array, message);
  else
    bench_need_grove(g->driver->copy(g->device, stream, packs ? message : first,
                                     packs ? first : message, p->message_bytes));
}

/* Arrays begin on a sector. */
static int64_t count_sectors(const bench_kernel *k)
{
  int64_t last = k->prepared.high / SECTOR, extent = k->unit.extent, n = 0;
  uint64_t *seen = bench_alloc((size_t)(last / BITS) + 1, sizeof *seen);
  for (int64_t i = 0; i < k->slots.count; i++) {
    int64_t first = grove_index_at(&k->slots, i) * extent;
    for (int64_t s = first / SECTOR; s <= (first + k->unit.bytes - 1) / SECTOR; s++) {
      n += !(seen[s / BITS] >> s % BITS & 1);
      seen[s / BITS] |= UINT64_C(1) << s % BITS;
    }
  }
  free(seen);
  return n;
}

int64_t bench_kernel_traffic(const bench_kernel *k)
{
  int64_t sectors = count_sectors(k) * SECTOR;
  int reads_too = k->motion != GROVE_MOTION_PACK && k->mover.combine.way == GROVE_COMBINE_KERNEL;
  return (reads_too ? 2 : 1) * sectors + k->prepared.bytes + k->prepared.message_bytes;
}
