/* What Grove sees in a datatype: where a unit lies, whether memory and message are the same bytes,
 * and what it is made of. */
#include "check.h"
#include "pack/unit.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What is expected of a type. */
typedef struct anatomy {
  const char *name;
  int64_t bytes, extent, true_lb, true_extent;
  int dense;
  grove_kind kind;
  int64_t elements;
} anatomy;

static void check_unit(MPI_Datatype type, const anatomy *a)
{
  grove_unit u;
  CHECK_OK(grove_unit_create(type, MPI_COMM_SELF, &u));
  const int64_t pair[][2] = {{u.bytes, a->bytes},      {u.extent, a->extent},
                             {u.true_lb, a->true_lb},  {u.true_extent, a->true_extent},
                             {u.dense, a->dense},      {u.kind, a->kind},
                             {u.elements, a->elements}};
  static const char *const what[] = {"bytes", "extent", "true_lb", "true_extent",
                                     "dense", "kind",   "elements"};
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
    CHECK(pair[i][0] == pair[i][1], "%s: %s is %lld, not %lld", a->name, what[i],
          (long long)pair[i][0], (long long)pair[i][1]);
  CHECK(a->elements == 0 || u.element_bytes * u.elements == u.bytes, "%s: %lld elements of %lld",
        a->name, (long long)u.elements, (long long)u.element_bytes);
  grove_unit_free(&u);
  grove_unit_free(&u); /* again: nothing happens */
}

/* ---- named types ---- */

static void check_named(const char *name, MPI_Datatype type, grove_kind kind, int64_t size,
                        int64_t extent)
{
  int bytes = 0;
  MPI_Aint lb, true_extent, true_lb;
  if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes <= 0) return;
  MPI_Type_get_true_extent(type, &true_lb, &true_extent);
  MPI_Aint got_extent;
  MPI_Type_get_extent(type, &lb, &got_extent);
  CHECK(size == 0 || bytes == size, "MPI says %d bytes of %s", bytes, name);
  CHECK(extent == 0 || got_extent == extent, "MPI says an extent of %lld of %s",
        (long long)got_extent, name);
  check_unit(type, &(anatomy){.name = name,
                              .bytes = bytes,
                              .extent = got_extent,
                              .true_extent = true_extent,
                              .dense = bytes == got_extent,
                              .kind = kind,
                              .elements = 1});
  CHECK(grove_basic_kind(type, MPI_COMBINER_NAMED) == kind, "%s is of another kind", name);
}

#define NAMED(type, kind, c_type)                                                                  \
  check_named(#type, type, GROVE_KIND_##kind, sizeof(c_type), sizeof(c_type))
#define FORTRAN(type, kind) check_named(#type, type, GROVE_KIND_##kind, 0, 0)
#define PAIR(type, c_type)                                                                         \
  do {                                                                                             \
    struct pair {                                                                                  \
      c_type v;                                                                                    \
      int i;                                                                                       \
    };                                                                                             \
    check_named(#type, type, GROVE_KIND_PAIR, sizeof(c_type) + sizeof(int), sizeof(struct pair));  \
  } while (0)

static void named(void)
{
  NAMED(MPI_SIGNED_CHAR, SIGNED, signed char);
  NAMED(MPI_SHORT, SIGNED, short);
  NAMED(MPI_INT, SIGNED, int);
  NAMED(MPI_LONG, SIGNED, long);
  NAMED(MPI_LONG_LONG, SIGNED, long long);
  NAMED(MPI_INT8_T, SIGNED, int8_t);
  NAMED(MPI_INT16_T, SIGNED, int16_t);
  NAMED(MPI_INT32_T, SIGNED, int32_t);
  NAMED(MPI_INT64_T, SIGNED, int64_t);
  NAMED(MPI_AINT, SIGNED, MPI_Aint);
  NAMED(MPI_OFFSET, SIGNED, MPI_Offset);
  NAMED(MPI_COUNT, SIGNED, MPI_Count);
  NAMED(MPI_UNSIGNED_CHAR, UNSIGNED, unsigned char);
  NAMED(MPI_UNSIGNED_SHORT, UNSIGNED, unsigned short);
  NAMED(MPI_UNSIGNED, UNSIGNED, unsigned);
  NAMED(MPI_UNSIGNED_LONG, UNSIGNED, unsigned long);
  NAMED(MPI_UNSIGNED_LONG_LONG, UNSIGNED, unsigned long long);
  NAMED(MPI_UINT8_T, UNSIGNED, uint8_t);
  NAMED(MPI_UINT16_T, UNSIGNED, uint16_t);
  NAMED(MPI_UINT32_T, UNSIGNED, uint32_t);
  NAMED(MPI_UINT64_T, UNSIGNED, uint64_t);
  NAMED(MPI_FLOAT, FLOAT, float);
  NAMED(MPI_DOUBLE, FLOAT, double);
  NAMED(MPI_LONG_DOUBLE, FLOAT, long double);
  NAMED(MPI_C_FLOAT_COMPLEX, COMPLEX, float[2]);
  NAMED(MPI_C_DOUBLE_COMPLEX, COMPLEX, double[2]);
  NAMED(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, long double[2]);
  NAMED(MPI_C_BOOL, LOGICAL, _Bool);
  NAMED(MPI_BYTE, BYTE, char);
  NAMED(MPI_PACKED, NONE, char);
  FORTRAN(MPI_INTEGER, SIGNED);
  FORTRAN(MPI_INTEGER1, SIGNED);
  FORTRAN(MPI_INTEGER2, SIGNED);
  FORTRAN(MPI_INTEGER4, SIGNED);
  FORTRAN(MPI_INTEGER8, SIGNED);
  FORTRAN(MPI_REAL, FLOAT);
  FORTRAN(MPI_REAL4, FLOAT);
  FORTRAN(MPI_REAL8, FLOAT);
  FORTRAN(MPI_DOUBLE_PRECISION, FLOAT);
  FORTRAN(MPI_COMPLEX, COMPLEX);
  FORTRAN(MPI_COMPLEX8, COMPLEX);
  FORTRAN(MPI_COMPLEX16, COMPLEX);
  FORTRAN(MPI_DOUBLE_COMPLEX, COMPLEX);
  FORTRAN(MPI_LOGICAL, LOGICAL);
  FORTRAN(MPI_2INTEGER, PAIR);
  FORTRAN(MPI_2REAL, PAIR);
  FORTRAN(MPI_2DOUBLE_PRECISION, PAIR);
  PAIR(MPI_FLOAT_INT, float);
  PAIR(MPI_DOUBLE_INT, double);
  PAIR(MPI_LONG_INT, long);
  PAIR(MPI_2INT, int);
  PAIR(MPI_SHORT_INT, short);
  PAIR(MPI_LONG_DOUBLE_INT, long double);
}

/* ---- derived types: made, looked at, and freed ---- */

static void check_derived(MPI_Datatype type, anatomy a)
{
  MPI_Type_commit(&type);
  check_unit(type, &a);
  MPI_Type_free(&type);
}

/* Types of doubles only, in 8-byte steps: name, bytes, extent, true_lb, true_extent, dense. */
static anatomy of_doubles(const char *name, int64_t n, int64_t extent, int64_t lb, int64_t span,
                          int dense)
{
  return (anatomy){name, 8 * n, 8 * extent, 8 * lb, 8 * span, dense, GROVE_KIND_FLOAT, n};
}

static void regular(void)
{
  MPI_Datatype t;
  MPI_Type_contiguous(3, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("contiguous", 3, 3, 0, 3, 1));
  MPI_Type_dup(MPI_DOUBLE, &t);
  check_derived(t, of_doubles("dup", 1, 1, 0, 1, 1));
  MPI_Type_vector(3, 2, 2, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("vector without gaps", 6, 6, 0, 6, 1));
  MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("vector with gaps", 6, 12, 0, 12, 0));
  MPI_Type_vector(2, 1, -1, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("vector backwards", 2, 2, -1, 2, 0));
  MPI_Type_create_subarray(2, (int[]){4, 6}, (int[]){2, 3}, (int[]){1, 2}, MPI_ORDER_C, MPI_DOUBLE,
                           &t);
  check_derived(t, of_doubles("part of a matrix", 6, 24, 8, 9, 0));
  MPI_Type_create_subarray(2, (int[]){4, 6}, (int[]){4, 6}, (int[]){0, 0}, MPI_ORDER_C, MPI_DOUBLE,
                           &t);
  check_derived(t, of_doubles("all of a matrix", 24, 24, 0, 24, 1));
}

static void indexed(void)
{
  MPI_Datatype t;
  MPI_Type_indexed(3, (int[]){1, 2, 1}, (int[]){0, 1, 3}, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("blocks that touch", 4, 4, 0, 4, 1));
  MPI_Type_indexed(3, (int[]){1, 2, 1}, (int[]){3, 1, 0}, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("blocks out of order", 4, 4, 0, 4, 0));
  /* As many bytes as the span, and in ascending order: but one is there twice, and one missing. */
  MPI_Type_create_indexed_block(3, 1, (int[]){0, 0, 2}, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("a block twice", 3, 3, 0, 3, 0));
  MPI_Type_create_hindexed(1, (int[]){2}, (MPI_Aint[]){-16}, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("before its origin", 2, 2, -2, 2, 0));
  MPI_Type_create_hindexed(1, (int[]){2}, (MPI_Aint[]){24}, MPI_DOUBLE, &t);
  check_derived(t, of_doubles("behind its origin", 2, 2, 3, 2, 0));
  MPI_Type_indexed(2, (int[]){251, 251}, (int[]){251, 0}, MPI_BYTE, &t);
  check_derived(t, (anatomy){"two halves exchanged", 502, 502, 0, 502, 0, GROVE_KIND_BYTE, 502});
  MPI_Type_indexed(2, (int[]){65536, 65536}, (int[]){65536, 0}, MPI_BYTE, &t);
  check_derived(t, (anatomy){"two large halves exchanged", 131072, 131072, 0, 131072, 0,
                             GROVE_KIND_BYTE, 131072});
}

static void resized(void)
{
  MPI_Datatype t, inner;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 24, &t);
  check_derived(t, of_doubles("one in three", 1, 3, 0, 1, 0));
  MPI_Type_create_resized(MPI_DOUBLE, -8, 8, &t);
  check_derived(t, of_doubles("with another lower bound", 1, 1, 0, 1, 1));
  MPI_Type_contiguous(2, MPI_DOUBLE, &inner);
  MPI_Type_create_resized(inner, 0, 8, &t); /* units that overlap */
  MPI_Type_free(&inner);
  check_derived(t, of_doubles("two in the place of one", 2, 1, 0, 2, 0));
  MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &inner);
  MPI_Type_contiguous(2, inner, &t);
  MPI_Type_free(&inner);
  check_derived(t, of_doubles("two with gaps", 2, 4, 0, 3, 0));
}

typedef struct mixed {
  char tag;
  double value;
} mixed;

static void structs(void)
{
  MPI_Datatype t, inner;
  MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 8},
                         (MPI_Datatype[]){MPI_DOUBLE, MPI_DOUBLE}, &t);
  check_derived(t, of_doubles("struct of doubles", 3, 3, 0, 3, 1));
  MPI_Type_contiguous(2, MPI_DOUBLE, &inner);
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 16}, (MPI_Datatype[]){inner, MPI_DOUBLE},
                         &t);
  MPI_Type_free(&inner);
  check_derived(t, of_doubles("struct with a type in it", 3, 3, 0, 3, 1));
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4}, (MPI_Datatype[]){MPI_INT, MPI_FLOAT},
                         &t);
  check_derived(
    t, (anatomy){.name = "int and float", .bytes = 8, .extent = 8, .true_extent = 8, .dense = 1});
  MPI_Aint at[] = {offsetof(mixed, tag), offsetof(mixed, value)};
  MPI_Type_create_struct(2, (int[]){1, 1}, at, (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE}, &t);
  check_derived(t, (anatomy){.name = "char and double",
                             .bytes = 9,
                             .extent = sizeof(mixed),
                             .true_extent = sizeof(mixed),
                             .dense = 0});
  /* Two names of one C type: arithmetic is the same. */
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4},
                         (MPI_Datatype[]){MPI_INT, MPI_INT32_T}, &t);
  check_derived(t, (anatomy){.name = "int and int32_t",
                             .bytes = 8,
                             .extent = 8,
                             .true_extent = 8,
                             .dense = 1,
                             .kind = GROVE_KIND_SIGNED,
                             .elements = 2});
}

static void nothing(void)
{
  MPI_Datatype t;
  grove_unit u;
  MPI_Type_contiguous(0, MPI_DOUBLE, &t);
  MPI_Type_commit(&t);
  CHECK_OK(grove_unit_create(t, MPI_COMM_SELF, &u));
  CHECK(u.bytes == 0 && u.true_extent == 0 && u.elements == 0, "%lld bytes in nothing",
        (long long)u.bytes);
  grove_unit_free(&u);
  MPI_Type_free(&t);
  u.bytes = -5;
  CHECK_STATUS(grove_unit_create(MPI_DATATYPE_NULL, MPI_COMM_SELF, &u), GROVE_ERR_ARG);
  CHECK(u.bytes == -5, "a failure has set the output");
}

/* Fortran's selected kinds are predefined, though they have no name: not to be freed by anybody. */
static void f90(void)
{
  MPI_Datatype selected[2], t;
  if (MPI_Type_create_f90_real(15, MPI_UNDEFINED, &selected[0]) != MPI_SUCCESS ||
      MPI_Type_create_f90_integer(9, &selected[1]) != MPI_SUCCESS)
    return;
  for (int i = 0; i < 10; i++) { /* more often than a type could be freed by mistake */
    int bytes = 0;
    grove_unit u;
    MPI_Type_size(selected[i % 2], &bytes);
    CHECK_OK(grove_unit_create(selected[i % 2], MPI_COMM_SELF, &u));
    CHECK(u.bytes == bytes && u.dense && u.elements == 1, "a selected kind of %lld bytes",
          (long long)u.bytes);
    CHECK(u.kind == (i % 2 ? GROVE_KIND_SIGNED : GROVE_KIND_FLOAT), "of kind %d", (int)u.kind);
    grove_unit_free(&u);
    MPI_Type_vector(2, 1, 2, selected[i % 2], &t);
    MPI_Type_commit(&t);
    CHECK_OK(grove_unit_create(t, MPI_COMM_SELF, &u));
    CHECK(u.bytes == 2 * bytes && !u.dense, "two of them: %lld bytes", (long long)u.bytes);
    grove_unit_free(&u);
    MPI_Type_free(&t);
  }
}

/* The user may free his type as soon as the unit is made. */
static void outlives_the_type(void)
{
  MPI_Datatype t;
  grove_unit u;
  int memory[6] = {1, 2, 3, 4, 5, 6}, message[4], position = 0;
  MPI_Type_vector(2, 2, 4, MPI_INT, &t);
  MPI_Type_commit(&t);
  CHECK_OK(grove_unit_create(t, MPI_COMM_SELF, &u));
  MPI_Type_free(&t);
  MPI_Pack(memory, 1, u.type, message, sizeof message, &position, MPI_COMM_SELF);
  CHECK(message[0] == 1 && message[1] == 2 && message[2] == 5 && message[3] == 6,
        "the unit has lost its type");
  CHECK((char *)grove_unit_at(&u, memory, 2) - (char *)memory == 2 * u.extent, "slot 2 is at %td",
        (char *)grove_unit_at(&u, memory, 2) - (char *)memory);
  grove_unit_free(&u);
}

/* Large ones need not be recognised as dense, but what they are made of is known. */
static void large(void)
{
  MPI_Datatype t;
  grove_unit u;
  MPI_Type_contiguous(3 << 20, MPI_INT, &t);
  MPI_Type_commit(&t);
  CHECK_OK(grove_unit_create(t, MPI_COMM_SELF, &u));
  CHECK(u.bytes == 12 << 20 && u.elements == 3 << 20, "%lld elements", (long long)u.elements);
  grove_unit_free(&u);
  MPI_Type_free(&t);
  MPI_Type_vector(1 << 20, 2, 3, MPI_INT, &t);
  MPI_Type_commit(&t);
  CHECK_OK(grove_unit_create(t, MPI_COMM_SELF, &u));
  CHECK(!u.dense && u.elements == 2 << 20, "a large vector with gaps is dense");
  grove_unit_free(&u);
  MPI_Type_free(&t);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "pack/unit_is_dense");
  /* Asking for the size of a type that this MPI does not have must not end the program. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  named();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  regular();
  indexed();
  resized();
  structs();
  nothing();
  outlives_the_type();
  large();
  f90();
  return test_end();
}
