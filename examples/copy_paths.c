/* One copy from GPU to GPU over every path at once: the direct link, through other GPUs, through
 * the host. The copier says how it divides the copy, and makes it. The program compares what
 * arrives.
 *
 *     mpirun -n 1 copy_paths            on GPUs, if there are two or more; it measures their links
 *     mpirun -n 1 copy_paths beluga     on emulated devices, with the links of a profile
 *
 * Each rank does the same by itself. If devices are emulated, each rank has its own.
 */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "common.h"
#include "grove_cuda.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 8 << 20 };

static unsigned char in[BYTES], out[BYTES];

/* Memory of this device, or NULL if there is no such device. */
static void *memory_at(grove_context *ctx, const char *device)
{
  void *memory = NULL;
  GROVE_MUST(grove_context_set(ctx, "device_number", device));
  return grove_alloc_device(ctx, BYTES, &memory) == GROVE_OK ? memory : NULL;
}

/* If there are not two GPUs, four emulated devices show the same. */
static void emulate(grove_context *ctx)
{
  setenv("GROVE_DEVICE", "emulated", 1);
  setenv("GROVE_EMULATED_DEVICES", "4", 1);
  GROVE_MUST(grove_context_set(ctx, "device", "emulated"));
  GROVE_MUST(grove_context_set(ctx, "emulated_devices", "4"));
}

int main(int argc, char **argv)
{
  int rank, size;
  grove_context *ctx;
  grove_machine *machine = NULL;
  grove_copier *copier;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  GROVE_MUST(grove_context_create(MPI_COMM_SELF, &ctx));
  char *to = argc > 1 ? NULL : memory_at(ctx, "1");
  if (!to) {
    emulate(ctx);
    GROVE_MUST(grove_machine_open(argc > 1 ? argv[1] : "beluga", &machine));
    to = memory_at(ctx, "1");
  }
  char *from = memory_at(ctx, "0");
  GROVE_MUST(grove_copier_create(machine, NULL, &copier));
  if (rank == 0) GROVE_MUST(grove_copier_explain(copier, 0, 1, BYTES, stdout));

  for (int i = 0; i < BYTES; i++) in[i] = (unsigned char)(i * 2654435761u >> 24);
  GROVE_MUST(grove_copy(ctx, from, in, BYTES));
  GROVE_MUST(grove_copier_copy(copier, to, 1, from, 0, BYTES, NULL)); /* returns at once */
  GROVE_MUST(grove_copy(ctx, out, from, 1)); /* is done behind it, on the same default stream */
  GROVE_MUST(grove_copy(ctx, out, to, BYTES));
  int wrong = memcmp(in, out, BYTES) != 0;
  printf("rank %d of %d: %d bytes from device 0 to device 1 %s\n", rank, size, BYTES,
         wrong ? "are WRONG" : "agree");

  GROVE_MUST(grove_copier_free(&copier));
  GROVE_MUST(grove_machine_free(&machine));
  GROVE_MUST(grove_dealloc(ctx, from));
  GROVE_MUST(grove_dealloc(ctx, to));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong;
}
