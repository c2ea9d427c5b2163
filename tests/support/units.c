#include "units.h"

#include "check.h"
#include "user_ops.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- operations ---- */

/* Which operations MPI defines on which class of types (MPI 3.1, section 5.9.2). */
typedef enum type_class {
  CLASS_MOVE,    /* no arithmetic: MPI_REPLACE and MPI_NO_OP only */
  CLASS_INTEGER, /* C */
  CLASS_FORTRAN, /* Fortran integers, and addresses: no logical operations */
  CLASS_FLOAT,
  CLASS_COMPLEX,
  CLASS_LOGICAL,
  CLASS_BYTE,
  CLASS_PAIR
} type_class;

enum {
  ARITHMETIC = 1 << OP_SUM | 1 << OP_PROD,
  ORDER = 1 << OP_MAX | 1 << OP_MIN,
  BITS = 1 << OP_BAND | 1 << OP_BOR | 1 << OP_BXOR,
  TRUTH = 1 << OP_LAND | 1 << OP_LOR | 1 << OP_LXOR,
  PLACE = 1 << OP_MAXLOC | 1 << OP_MINLOC
};

static unsigned class_codes(type_class c)
{
  static const unsigned codes[] = {
    [CLASS_MOVE] = 0,
    [CLASS_INTEGER] = ARITHMETIC | ORDER | BITS | TRUTH,
    [CLASS_FORTRAN] = ARITHMETIC | ORDER | BITS,
    [CLASS_FLOAT] = ARITHMETIC | ORDER,
    [CLASS_COMPLEX] = ARITHMETIC,
    [CLASS_LOGICAL] = TRUTH,
    [CLASS_BYTE] = BITS,
    [CLASS_PAIR] = PLACE,
  };
  return codes[c] | 1 << OP_REPLACE | 1 << OP_NO_OP;
}

static void add_reduction(unit *u, reduction r)
{
  CHECK(u->nreductions < UNIT_MOST_REDUCTIONS, "too many operations on %s", u->name);
  u->reduction[u->nreductions++] = r;
}

static void add_predefined(unit *u, unsigned codes)
{
  const reduction all[] = {
    {"REPLACE", OP_REPLACE, MPI_REPLACE, NULL},
    {"NO_OP", OP_NO_OP, MPI_NO_OP, NULL},
    {"SUM", OP_SUM, MPI_SUM, NULL},
    {"PROD", OP_PROD, MPI_PROD, NULL},
    {"MAX", OP_MAX, MPI_MAX, NULL},
    {"MIN", OP_MIN, MPI_MIN, NULL},
    {"BAND", OP_BAND, MPI_BAND, NULL},
    {"BOR", OP_BOR, MPI_BOR, NULL},
    {"BXOR", OP_BXOR, MPI_BXOR, NULL},
    {"LAND", OP_LAND, MPI_LAND, NULL},
    {"LOR", OP_LOR, MPI_LOR, NULL},
    {"LXOR", OP_LXOR, MPI_LXOR, NULL},
    {"MAXLOC", OP_MAXLOC, MPI_MAXLOC, NULL},
    {"MINLOC", OP_MINLOC, MPI_MINLOC, NULL},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (codes & 1u << all[i].code) add_reduction(u, all[i]);
}

static void add_user(units *all, unit *u, const char *name, MPI_User_function *f, int commutes)
{
  MPI_Op op;
  MPI_Op_create(f, commutes, &op);
  CHECK(all->nuser_ops < (int)(sizeof all->user_op / sizeof *all->user_op), "too many operations");
  all->user_op[all->nuser_ops++] = op;
  add_reduction(u, (reduction){name, OP_USER, op, f});
}

/* ---- units ---- */

static void add_piece(unit *u, ptrdiff_t offset, scalar kind)
{
  u->piece = realloc(u->piece, (size_t)(u->npieces + 1) * sizeof *u->piece);
  CHECK(u->piece != NULL, "no memory for %d pieces", u->npieces + 1);
  u->piece[u->npieces++] = (piece){offset, kind};
}

static unit *add_unit(units *all, const char *name, MPI_Datatype type)
{
  all->unit = realloc(all->unit, (size_t)(all->n + 1) * sizeof *all->unit);
  CHECK(all->unit != NULL, "no memory for %d units", all->n + 1);
  unit *u = &all->unit[all->n++];
  memset(u, 0, sizeof *u);
  snprintf(u->name, sizeof u->name, "%s", name);
  u->type = type;
  return u;
}

/* Extent and span as MPI gives them; the pieces must agree with MPI about the size. */
static void finish_unit(unit *u)
{
  MPI_Aint lb, extent, true_lb, true_extent;
  int size;
  if (u->derived) MPI_Type_commit(&u->type);
  MPI_Type_get_extent(u->type, &lb, &extent);
  MPI_Type_get_true_extent(u->type, &true_lb, &true_extent);
  MPI_Type_size(u->type, &size);
  size_t bytes = 0;
  for (int i = 0; i < u->npieces; i++) bytes += scalar_bytes(u->piece[i].kind);
  CHECK(bytes == (size_t)size, "%s: MPI says %d bytes, the test %zu", u->name, size, bytes);
  u->extent = extent;
  u->first = true_lb;
  u->last = true_lb + true_extent;
}

/* ---- predefined types ---- */

/* MPI may lack a type: its handle is then null, or it has no size. */
static int type_exists(MPI_Datatype type, int *size)
{
  if (type == MPI_DATATYPE_NULL) return 0;
  return MPI_Type_size(type, size) == MPI_SUCCESS && *size != MPI_UNDEFINED && *size > 0;
}

static scalar integer_of_bytes(int bytes, int with_sign)
{
  int log = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  return (with_sign ? SCALAR_I8 : SCALAR_U8) + log;
}

/* A basic type whose kind follows from its size; what the reference cannot compute only moves. */
static void add_basic(units *all, const char *name, MPI_Datatype type, type_class c, int sign)
{
  int bytes = 0;
  if (!type_exists(type, &bytes)) return;
  scalar kind = integer_of_bytes(bytes, sign);
  if (c == CLASS_FLOAT) kind = bytes == 4 ? SCALAR_F32 : bytes == 8 ? SCALAR_F64 : SCALAR_FL;
  if (c == CLASS_COMPLEX) kind = bytes == 8 ? SCALAR_C32 : bytes == 16 ? SCALAR_C64 : SCALAR_CL;
  if (c == CLASS_LOGICAL) kind = bytes == 1 ? SCALAR_BOOL : SCALAR_LOGICAL;
  unit *u = add_unit(all, name, type);
  if (c != CLASS_MOVE && scalar_bytes(kind) == (size_t)bytes) {
    add_piece(u, 0, kind);
    add_predefined(u, class_codes(c));
  } else {
    for (int i = 0; i < bytes; i++) add_piece(u, i, bytes == 1 ? kind : SCALAR_U8);
    add_predefined(u, class_codes(CLASS_MOVE));
  }
  finish_unit(u);
}

static void add_pair(units *all, const char *name, MPI_Datatype type, scalar value, size_t at,
                     scalar index)
{
  int bytes = 0;
  if (!type_exists(type, &bytes)) return;
  if ((size_t)bytes != scalar_bytes(value) + scalar_bytes(index)) return;
  unit *u = add_unit(all, name, type);
  add_piece(u, 0, value);
  add_piece(u, (ptrdiff_t)at, index);
  add_predefined(u, class_codes(CLASS_PAIR));
  finish_unit(u);
}

#define BASIC(type, class, sign) add_basic(all, #type, type, class, sign)

static void add_c_types(units *all)
{
  BASIC(MPI_CHAR, CLASS_MOVE, CHAR_MIN < 0); /* as the machine has it */
  BASIC(MPI_WCHAR, CLASS_MOVE, 0);
  BASIC(MPI_BYTE, CLASS_BYTE, 0);
  BASIC(MPI_SIGNED_CHAR, CLASS_INTEGER, 1);
  BASIC(MPI_UNSIGNED_CHAR, CLASS_INTEGER, 0);
  BASIC(MPI_SHORT, CLASS_INTEGER, 1);
  BASIC(MPI_UNSIGNED_SHORT, CLASS_INTEGER, 0);
  BASIC(MPI_INT, CLASS_INTEGER, 1);
  BASIC(MPI_UNSIGNED, CLASS_INTEGER, 0);
  BASIC(MPI_LONG, CLASS_INTEGER, 1);
  BASIC(MPI_UNSIGNED_LONG, CLASS_INTEGER, 0);
  BASIC(MPI_LONG_LONG, CLASS_INTEGER, 1);
  BASIC(MPI_UNSIGNED_LONG_LONG, CLASS_INTEGER, 0);
  BASIC(MPI_C_BOOL, CLASS_LOGICAL, 0);
  BASIC(MPI_FLOAT, CLASS_FLOAT, 0);
  BASIC(MPI_DOUBLE, CLASS_FLOAT, 0);
  BASIC(MPI_LONG_DOUBLE, CLASS_FLOAT, 0);
  BASIC(MPI_C_FLOAT_COMPLEX, CLASS_COMPLEX, 0);
  BASIC(MPI_C_DOUBLE_COMPLEX, CLASS_COMPLEX, 0);
  BASIC(MPI_C_LONG_DOUBLE_COMPLEX, CLASS_COMPLEX, 0);
  BASIC(MPI_CXX_BOOL, CLASS_LOGICAL, 0);
  BASIC(MPI_CXX_FLOAT_COMPLEX, CLASS_COMPLEX, 0);
  BASIC(MPI_CXX_DOUBLE_COMPLEX, CLASS_COMPLEX, 0);
  BASIC(MPI_CXX_LONG_DOUBLE_COMPLEX, CLASS_COMPLEX, 0);
}

static void add_fixed_types(units *all)
{
  BASIC(MPI_INT8_T, CLASS_INTEGER, 1);
  BASIC(MPI_INT16_T, CLASS_INTEGER, 1);
  BASIC(MPI_INT32_T, CLASS_INTEGER, 1);
  BASIC(MPI_INT64_T, CLASS_INTEGER, 1);
  BASIC(MPI_UINT8_T, CLASS_INTEGER, 0);
  BASIC(MPI_UINT16_T, CLASS_INTEGER, 0);
  BASIC(MPI_UINT32_T, CLASS_INTEGER, 0);
  BASIC(MPI_UINT64_T, CLASS_INTEGER, 0);
  BASIC(MPI_AINT, CLASS_FORTRAN, 1);
  BASIC(MPI_OFFSET, CLASS_FORTRAN, 1);
  BASIC(MPI_COUNT, CLASS_FORTRAN, 1);
}

static void add_fortran_types(units *all)
{
  BASIC(MPI_CHARACTER, CLASS_MOVE, 0);
  BASIC(MPI_INTEGER, CLASS_FORTRAN, 1);
  BASIC(MPI_INTEGER1, CLASS_FORTRAN, 1);
  BASIC(MPI_INTEGER2, CLASS_FORTRAN, 1);
  BASIC(MPI_INTEGER4, CLASS_FORTRAN, 1);
  BASIC(MPI_INTEGER8, CLASS_FORTRAN, 1);
  BASIC(MPI_LOGICAL, CLASS_LOGICAL, 0);
  BASIC(MPI_REAL, CLASS_FLOAT, 0);
  BASIC(MPI_REAL4, CLASS_FLOAT, 0);
  BASIC(MPI_REAL8, CLASS_FLOAT, 0);
  BASIC(MPI_DOUBLE_PRECISION, CLASS_FLOAT, 0);
  BASIC(MPI_COMPLEX, CLASS_COMPLEX, 0);
  BASIC(MPI_COMPLEX8, CLASS_COMPLEX, 0);
  BASIC(MPI_COMPLEX16, CLASS_COMPLEX, 0);
  BASIC(MPI_DOUBLE_COMPLEX, CLASS_COMPLEX, 0);
  /* Where long double is not the 128-bit format, C has no arithmetic for these. */
  type_class real16 = LDBL_MANT_DIG == 113 ? CLASS_FLOAT : CLASS_MOVE;
  BASIC(MPI_REAL16, real16, 0);
  BASIC(MPI_COMPLEX32, real16 == CLASS_FLOAT ? CLASS_COMPLEX : CLASS_MOVE, 0);
}

/* By precision and range: predefined types too, and not to be freed. */
static void add_parametrised_types(units *all)
{
  MPI_Datatype type;
  MPI_Type_create_f90_real(6, 30, &type);
  add_basic(all, "real(6, 30)", type, CLASS_FLOAT, 0);
  MPI_Type_create_f90_real(15, 300, &type);
  add_basic(all, "real(15, 300)", type, CLASS_FLOAT, 0);
  MPI_Type_create_f90_complex(15, 300, &type);
  add_basic(all, "complex(15, 300)", type, CLASS_COMPLEX, 0);
  MPI_Type_create_f90_integer(9, &type);
  add_basic(all, "integer(9)", type, CLASS_FORTRAN, 1);
}

#define PAIR(type, c_type, value)                                                                  \
  do {                                                                                             \
    struct pair {                                                                                  \
      c_type v;                                                                                    \
      int i;                                                                                       \
    };                                                                                             \
    add_pair(all, #type, type, value, offsetof(struct pair, i), SCALAR_I32);                       \
  } while (0)

static void add_pair_types(units *all)
{
  PAIR(MPI_SHORT_INT, short, SCALAR_I16);
  PAIR(MPI_2INT, int, SCALAR_I32);
  PAIR(MPI_LONG_INT, long, integer_of_bytes(sizeof(long), 1));
  PAIR(MPI_FLOAT_INT, float, SCALAR_F32);
  PAIR(MPI_DOUBLE_INT, double, SCALAR_F64);
  PAIR(MPI_LONG_DOUBLE_INT, long double, SCALAR_FL);
  add_pair(all, "MPI_2INTEGER", MPI_2INTEGER, SCALAR_I32, 4, SCALAR_I32);
  add_pair(all, "MPI_2REAL", MPI_2REAL, SCALAR_F32, 4, SCALAR_F32);
  add_pair(all, "MPI_2DOUBLE_PRECISION", MPI_2DOUBLE_PRECISION, SCALAR_F64, 8, SCALAR_F64);
}

/* ---- derived types ---- */

static unit *add_derived(units *all, const char *name)
{
  unit *u = add_unit(all, name, MPI_DATATYPE_NULL);
  u->derived = 1;
  return u;
}

static void add_pieces(unit *u, int n, ptrdiff_t first, ptrdiff_t stride, scalar kind)
{
  for (int i = 0; i < n; i++) add_piece(u, first + i * stride, kind);
}

/* unit = the temporary type `of` with this lower bound and extent. */
static void resize(unit *u, MPI_Datatype of, MPI_Aint lb, MPI_Aint extent)
{
  MPI_Type_create_resized(of, lb, extent, &u->type);
  MPI_Type_free(&of);
}

static void add_contiguous_types(units *all)
{
  unit *u = add_derived(all, "3 doubles");
  MPI_Type_contiguous(3, MPI_DOUBLE, &u->type);
  add_pieces(u, 3, 0, sizeof(double), SCALAR_F64);
  add_predefined(u, class_codes(CLASS_FLOAT));
  finish_unit(u);

  u = add_derived(all, "copy of float");
  MPI_Type_dup(MPI_FLOAT, &u->type);
  add_piece(u, 0, SCALAR_F32);
  add_predefined(u, class_codes(CLASS_FLOAT));
  finish_unit(u);

  u = add_derived(all, "600 shorts"); /* a few of them are too large to be sent eagerly */
  MPI_Type_contiguous(600, MPI_SHORT, &u->type);
  add_pieces(u, 600, 0, sizeof(short), SCALAR_I16);
  add_predefined(u, class_codes(CLASS_INTEGER));
  finish_unit(u);
}

static void add_empty_types(units *all)
{
  MPI_Datatype t;
  unit *u = add_derived(all, "nothing");
  MPI_Type_contiguous(0, MPI_INT, &u->type);
  add_predefined(u, class_codes(CLASS_MOVE));
  finish_unit(u);

  u = add_derived(all, "nothing in 8 bytes");
  MPI_Type_contiguous(0, MPI_INT, &t);
  resize(u, t, 0, 8);
  add_predefined(u, class_codes(CLASS_MOVE));
  finish_unit(u);
}

static void add_gapped_types(units *all)
{
  unit *u = add_derived(all, "vector of ints with gaps");
  MPI_Type_vector(3, 2, 5, MPI_INT, &u->type);
  for (int i = 0; i < 3; i++) add_pieces(u, 2, 20 * i, 4, SCALAR_I32);
  add_predefined(u, class_codes(CLASS_INTEGER));
  finish_unit(u);

  u = add_derived(all, "int in 20 bytes");
  MPI_Type_create_resized(MPI_INT, 0, 20, &u->type);
  add_piece(u, 0, SCALAR_I32);
  add_predefined(u, class_codes(CLASS_INTEGER));
  finish_unit(u);

  u = add_derived(all, "floats out of order");
  MPI_Type_indexed(3, (int[]){1, 2, 1}, (int[]){5, 2, 0}, MPI_FLOAT, &u->type);
  add_piece(u, 20, SCALAR_F32);
  add_pieces(u, 2, 8, 4, SCALAR_F32);
  add_piece(u, 0, SCALAR_F32);
  add_predefined(u, class_codes(CLASS_FLOAT));
  finish_unit(u);

  u = add_derived(all, "vector backwards");
  MPI_Type_vector(2, 1, -2, MPI_INT64_T, &u->type);
  add_pieces(u, 2, 0, -16, SCALAR_I64);
  add_predefined(u, class_codes(CLASS_INTEGER));
  finish_unit(u);
}

/* Lower bounds below zero, and slots whose bytes lie in each other's gaps. */
static void add_shifted_types(units *all)
{
  MPI_Datatype t;
  unit *u = add_derived(all, "double before its slot");
  MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){-8}, MPI_DOUBLE, &t);
  resize(u, t, -16, 24);
  add_piece(u, -8, SCALAR_F64);
  add_predefined(u, class_codes(CLASS_FLOAT));
  finish_unit(u);

  enum { COLUMNS = 200 };
  u = add_derived(all, "column of a matrix");
  MPI_Type_vector(2, 1, COLUMNS, MPI_INT, &t);
  resize(u, t, 0, 4);
  add_pieces(u, 2, 0, 4 * COLUMNS, SCALAR_I32);
  add_predefined(u, class_codes(CLASS_INTEGER));
  finish_unit(u);
  u->most_slots = COLUMNS;
}

static MPI_Datatype tagged_type(void)
{
  MPI_Datatype t;
  MPI_Aint at[2] = {offsetof(tagged, tag), offsetof(tagged, value)};
  MPI_Type_create_struct(2, (int[]){1, 1}, at, (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE}, &t);
  return t;
}

static void add_tagged_pieces(unit *u, ptrdiff_t first)
{
  add_piece(u, first + (ptrdiff_t)offsetof(tagged, tag), SCALAR_U8);
  add_piece(u, first + (ptrdiff_t)offsetof(tagged, value), SCALAR_F64);
}

static void add_struct_types(units *all)
{
  unit *u = add_derived(all, "struct of char and double");
  u->type = tagged_type();
  add_tagged_pieces(u, 0);
  add_predefined(u, class_codes(CLASS_MOVE));
  add_user(all, u, "add tagged", user_tagged, 1);
  add_user(all, u, "left tagged", user_left_tagged, 0);
  finish_unit(u);

  u = add_derived(all, "struct in 40 bytes");
  resize(u, tagged_type(), 0, 40);
  add_tagged_pieces(u, 0);
  add_predefined(u, class_codes(CLASS_MOVE));
  add_user(all, u, "add tagged", user_tagged, 1);
  finish_unit(u);

  u = add_derived(all, "2 structs");
  MPI_Datatype t = tagged_type();
  MPI_Type_contiguous(2, t, &u->type);
  MPI_Type_free(&t);
  add_tagged_pieces(u, 0);
  add_tagged_pieces(u, sizeof(tagged));
  add_predefined(u, class_codes(CLASS_MOVE));
  finish_unit(u);
}

static void add_user_types(units *all)
{
  unit *u = add_derived(all, "affine map");
  MPI_Type_contiguous(2, MPI_UINT32_T, &u->type);
  add_pieces(u, 2, 0, 4, SCALAR_U32);
  add_predefined(u, class_codes(CLASS_INTEGER));
  add_user(all, u, "compose", user_affine, 0);
  finish_unit(u);

  u = add_derived(all, "2x2 matrix");
  MPI_Type_contiguous(4, MPI_UINT64_T, &u->type);
  add_pieces(u, 4, 0, 8, SCALAR_U64);
  add_predefined(u, class_codes(CLASS_MOVE));
  add_user(all, u, "matrix product", user_matrix, 0);
  finish_unit(u);
}

static void add_user_op_on_basic(units *all)
{
  for (int i = 0; i < all->n; i++)
    if (all->unit[i].type == MPI_UINT32_T) add_user(all, &all->unit[i], "gcd", user_gcd, 1);
}

/* ---- all of them ---- */

units *units_create(void)
{
  units *all = need(sizeof *all);
  memset(all, 0, sizeof *all);
  /* Asking for the size of a type that this MPI does not have must not end the program. */
  MPI_Errhandler before;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  add_c_types(all);
  add_fixed_types(all);
  add_fortran_types(all);
  add_parametrised_types(all);
  add_pair_types(all);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
  add_contiguous_types(all);
  add_empty_types(all);
  add_gapped_types(all);
  add_shifted_types(all);
  add_struct_types(all);
  add_user_types(all);
  add_user_op_on_basic(all);
  return all;
}

void units_free(units *all)
{
  for (int i = 0; i < all->n; i++) {
    if (all->unit[i].derived) MPI_Type_free(&all->unit[i].type);
    free(all->unit[i].piece);
  }
  for (int i = 0; i < all->nuser_ops; i++) MPI_Op_free(&all->user_op[i]);
  free(all->unit);
  free(all);
}

const unit *units_find(const units *all, const char *name)
{
  for (int i = 0; i < all->n; i++)
    if (strcmp(all->unit[i].name, name) == 0) return &all->unit[i];
  CHECK(0, "there is no unit '%s'", name);
}

const reduction *unit_reduction(const unit *u, const char *name)
{
  for (int i = 0; i < u->nreductions; i++)
    if (strcmp(u->reduction[i].name, name) == 0) return &u->reduction[i];
  CHECK(0, "there is no operation '%s' on %s", name, u->name);
}

/* ---- one unit, by the book ---- */

/* Of equal values the lesser index stays (MPI 3.1, section 5.9.4). */
static void apply_place(const piece *value, op_code code, unsigned char *to,
                        const unsigned char *from)
{
  const piece *index = value + 1;
  int order = scalar_compare(value->kind, to + value->offset, from + value->offset);
  if (code == OP_MINLOC) order = -order;
  if (order == 0) scalar_apply(index->kind, OP_MIN, to + index->offset, from + index->offset);
  if (order >= 0) return;
  scalar_apply(value->kind, OP_REPLACE, to + value->offset, from + value->offset);
  scalar_apply(index->kind, OP_REPLACE, to + index->offset, from + index->offset);
}

/* MPI's convention is b = a o b: so a copy of `from` is overwritten with to o from. */
static void apply_user(const unit *u, const reduction *r, unsigned char *to,
                       const unsigned char *from)
{
  _Alignas(16) unsigned char a[64], b[64];
  int one = 1;
  MPI_Datatype type = u->type;
  CHECK(u->first >= 0 && u->last <= 64, "%s is too large for a user operation", u->name);
  memset(a, 0, sizeof a);
  memset(b, 0, sizeof b);
  for (int i = 0; i < u->npieces; i++) {
    const piece *p = &u->piece[i];
    memcpy(a + p->offset, to + p->offset, scalar_bytes(p->kind));
    memcpy(b + p->offset, from + p->offset, scalar_bytes(p->kind));
  }
  r->function(a, b, &one, &type);
  for (int i = 0; i < u->npieces; i++)
    memcpy(to + u->piece[i].offset, b + u->piece[i].offset, scalar_bytes(u->piece[i].kind));
}

void unit_apply(const unit *u, const reduction *r, unsigned char *to, const unsigned char *from)
{
  if (r->code == OP_USER) {
    apply_user(u, r, to, from);
  } else if (r->code == OP_MAXLOC || r->code == OP_MINLOC) {
    for (int i = 0; i < u->npieces; i += 2) apply_place(&u->piece[i], r->code, to, from);
  } else {
    for (int i = 0; i < u->npieces; i++) {
      const piece *p = &u->piece[i];
      scalar_apply(p->kind, r->code, to + p->offset, from + p->offset);
    }
  }
}

void unit_copy(const unit *u, unsigned char *to, const unsigned char *from)
{
  for (int i = 0; i < u->npieces; i++)
    scalar_apply(u->piece[i].kind, OP_REPLACE, to + u->piece[i].offset, from + u->piece[i].offset);
}
