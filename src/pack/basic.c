#include "pack/basic.h"

#include <float.h>
#include <stddef.h>
#include <wchar.h>

typedef struct named {
  MPI_Datatype type;
  grove_kind kind;
} named;

#define IS_SIGNED(c_type) ((c_type)(-1) < (c_type)(1) ? GROVE_KIND_SIGNED : GROVE_KIND_UNSIGNED)

/* Fortran's 16-byte REAL has 113 bits. C's long double is the same type only on some machines. */
#define QUAD(kind) (LDBL_MANT_DIG == 113 ? (kind) : GROVE_KIND_NONE)

/* Handles are not constants in every MPI, so each look-up makes the table. An operation looks up
 * once, when it is made. A name that an MPI lacks is MPI_DATATYPE_NULL there and matches nothing,
 * since that is refused before. */
static grove_kind named_kind(MPI_Datatype type)
{
  const named table[] = {
    {MPI_DOUBLE, GROVE_KIND_FLOAT},
    {MPI_FLOAT, GROVE_KIND_FLOAT},
    {MPI_LONG_DOUBLE, GROVE_KIND_FLOAT},
    {MPI_REAL, GROVE_KIND_FLOAT},
    {MPI_DOUBLE_PRECISION, GROVE_KIND_FLOAT},
    {MPI_REAL4, GROVE_KIND_FLOAT},
    {MPI_REAL8, GROVE_KIND_FLOAT},
    {MPI_REAL16, QUAD(GROVE_KIND_FLOAT)},
    {MPI_INT, GROVE_KIND_SIGNED},
    {MPI_LONG, GROVE_KIND_SIGNED},
    {MPI_LONG_LONG, GROVE_KIND_SIGNED},
    {MPI_SHORT, GROVE_KIND_SIGNED},
    {MPI_SIGNED_CHAR, GROVE_KIND_SIGNED},
    {MPI_CHAR, IS_SIGNED(char)},
    {MPI_WCHAR, IS_SIGNED(wchar_t)},
    {MPI_INT8_T, GROVE_KIND_SIGNED},
    {MPI_INT16_T, GROVE_KIND_SIGNED},
    {MPI_INT32_T, GROVE_KIND_SIGNED},
    {MPI_INT64_T, GROVE_KIND_SIGNED},
    {MPI_AINT, GROVE_KIND_SIGNED},
    {MPI_OFFSET, GROVE_KIND_SIGNED},
    {MPI_COUNT, GROVE_KIND_SIGNED},
    {MPI_INTEGER, GROVE_KIND_SIGNED},
    {MPI_INTEGER1, GROVE_KIND_SIGNED},
    {MPI_INTEGER2, GROVE_KIND_SIGNED},
    {MPI_INTEGER4, GROVE_KIND_SIGNED},
    {MPI_INTEGER8, GROVE_KIND_SIGNED},
    {MPI_UNSIGNED, GROVE_KIND_UNSIGNED},
    {MPI_UNSIGNED_LONG, GROVE_KIND_UNSIGNED},
    {MPI_UNSIGNED_LONG_LONG, GROVE_KIND_UNSIGNED},
    {MPI_UNSIGNED_SHORT, GROVE_KIND_UNSIGNED},
    {MPI_UNSIGNED_CHAR, GROVE_KIND_UNSIGNED},
    {MPI_CHARACTER, GROVE_KIND_UNSIGNED},
    {MPI_UINT8_T, GROVE_KIND_UNSIGNED},
    {MPI_UINT16_T, GROVE_KIND_UNSIGNED},
    {MPI_UINT32_T, GROVE_KIND_UNSIGNED},
    {MPI_UINT64_T, GROVE_KIND_UNSIGNED},
    {MPI_C_FLOAT_COMPLEX, GROVE_KIND_COMPLEX},
    {MPI_C_DOUBLE_COMPLEX, GROVE_KIND_COMPLEX},
    {MPI_C_LONG_DOUBLE_COMPLEX, GROVE_KIND_COMPLEX},
    {MPI_COMPLEX, GROVE_KIND_COMPLEX},
    {MPI_DOUBLE_COMPLEX, GROVE_KIND_COMPLEX},
    {MPI_COMPLEX8, GROVE_KIND_COMPLEX},
    {MPI_COMPLEX16, GROVE_KIND_COMPLEX},
    {MPI_COMPLEX32, QUAD(GROVE_KIND_COMPLEX)},
    {MPI_CXX_FLOAT_COMPLEX, GROVE_KIND_COMPLEX},
    {MPI_CXX_DOUBLE_COMPLEX, GROVE_KIND_COMPLEX},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, GROVE_KIND_COMPLEX},
    {MPI_C_BOOL, GROVE_KIND_LOGICAL},
    {MPI_CXX_BOOL, GROVE_KIND_LOGICAL},
    {MPI_LOGICAL, GROVE_KIND_LOGICAL},
    {MPI_BYTE, GROVE_KIND_BYTE},
    {MPI_FLOAT_INT, GROVE_KIND_PAIR},
    {MPI_DOUBLE_INT, GROVE_KIND_PAIR},
    {MPI_LONG_INT, GROVE_KIND_PAIR},
    {MPI_2INT, GROVE_KIND_PAIR},
    {MPI_SHORT_INT, GROVE_KIND_PAIR},
    {MPI_LONG_DOUBLE_INT, GROVE_KIND_PAIR},
    {MPI_2REAL, GROVE_KIND_PAIR},
    {MPI_2DOUBLE_PRECISION, GROVE_KIND_PAIR},
    {MPI_2INTEGER, GROVE_KIND_PAIR},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].type == type) return table[i].kind;
  return GROVE_KIND_NONE;
}

grove_status grove_basic_combiner(MPI_Datatype type, int *combiner)
{
#if MPI_VERSION >= 4 /* only this call may ask about a type made with large counts */
  MPI_Count integers, addresses, counts, types;
  GROVE_PASS_MPI(MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, combiner));
#else
  int integers, addresses, types;
  GROVE_PASS_MPI(MPI_Type_get_envelope(type, &integers, &addresses, &types, combiner));
#endif
  return GROVE_OK;
}

int grove_basic_is_parametrised(int combiner)
{
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

grove_kind grove_basic_kind(MPI_Datatype type, int combiner)
{
  int bytes = 0;
  if (!grove_basic_is_parametrised(combiner)) return named_kind(type);
  if (combiner == MPI_COMBINER_F90_INTEGER) return GROVE_KIND_SIGNED;
  MPI_Type_size(type, &bytes);
  if (combiner == MPI_COMBINER_F90_REAL)
    return bytes <= 8 ? GROVE_KIND_FLOAT : QUAD(GROVE_KIND_FLOAT);
  return bytes <= 16 ? GROVE_KIND_COMPLEX : QUAD(GROVE_KIND_COMPLEX);
}
