/* Fetch on slots so far from each other that 32 bits hardly count the bytes between them, or do
 * not: with gaps behind the units and without, up and down, whatever width the list has. */
#include "pack/pack.h"

#include "check.h"
#include "sparse.h"

#include <stdlib.h>

/* Bytes, `steps` apart. */
static grove_mover mover_open(int64_t steps)
{
  MPI_Datatype type;
  grove_unit unit;
  grove_combine combine;
  grove_mover m;
  MPI_Type_create_resized(MPI_UINT8_T, 0, (MPI_Aint)steps, &type);
  MPI_Type_commit(&type);
  CHECK_OK(grove_unit_create(type, MPI_COMM_SELF, &unit));
  CHECK_OK(grove_combine_create(MPI_SUM, &unit, &combine));
  CHECK_OK(grove_mover_create(&unit, &combine, &m));
  MPI_Type_free(&type);
  return m;
}

/* Slots a, b, b, a, one after the other. */
static void try_pair(const grove_mover *m, char *memory, int64_t a, int64_t b, int wide)
{
  int64_t slots[4] = {a, b, b, a};
  unsigned char *at_a = (unsigned char *)memory + a * m->unit.extent, message[4] = {1, 2, 3, 4};
  unsigned char *at_b = (unsigned char *)memory + b * m->unit.extent;
  grove_index list = {.count = 4, .wide = slots};
  grove_shape shape;
  if (!wide) CHECK_OK(grove_index_create(4, slots, &list));
  CHECK_OK(grove_shape_create(&list, &(grove_index){0}, 1, &shape));
  *at_a = 5;
  *at_b = 7;
  CHECK_OK(grove_pack_fetch(m, &shape, memory, 0, 4, message));
  CHECK(*at_a == 10 && *at_b == 12, "%lld bytes apart, slots %lld and %lld are %d and %d",
        (long long)m->unit.extent, (long long)a, (long long)b, *at_a, *at_b);
  CHECK(message[0] == 5 && message[1] == 7 && message[2] == 9 && message[3] == 6,
        "%lld bytes apart, slots %lld and %lld were %d, %d, %d, %d", (long long)m->unit.extent,
        (long long)a, (long long)b, message[0], message[1], message[2], message[3]);
  grove_shape_free(&shape);
  if (!wide) grove_index_free(&list);
}

/* Around the distances at which a count of bytes, or twice that, becomes too large. */
static void try_steps(char *memory, int64_t steps)
{
  grove_mover m = mover_open(steps);
  int64_t limits[] = {INT32_MAX / steps, UINT32_MAX / steps};
  for (int i = 0; i < 2; i++)
    for (int64_t apart = limits[i] - 2; apart <= limits[i] + 2; apart++)
      for (int turn = 0; turn < 4; turn++)
        try_pair(&m, memory, turn % 2 ? apart : 0, turn % 2 ? 0 : apart, turn / 2);
  grove_mover_free(&m);
}

int main(int argc, char **argv)
{
  static const int64_t steps[] = {1, 2, 3, 16};
  test_begin(&argc, &argv, "pack/fetch_far_slots");
  sparse array = sparse_memory(UINT32_MAX + INT64_C(4096));
  if (!sparse_everywhere(&array)) return test_skip("there are no addresses for 4 GiB here");
  for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) try_steps(array.memory, steps[i]);
  sparse_free(&array);
  return test_end();
}
