/* Every operation on every basic type: the kernel against plain C, one value at a time, and against
 * MPI_Reduce_local; what means nothing is refused; integers wrap, truth is 0 or 1. */
#include "pack/combine.h"

#include "check.h"
#include "random.h"
#include "units.h"
#include "user_ops.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { N = 23, ROOM = 64 /* bytes before and behind, as canaries */ };

/* ---- which operations there are ---- */

typedef struct operation {
  const char *name;
  op_code code;
  MPI_Op op;
} operation;

enum { OPERATIONS = 10 };

static void list_operations(operation list[OPERATIONS])
{
  const operation all[OPERATIONS] = {
    {"SUM", OP_SUM, MPI_SUM},    {"PROD", OP_PROD, MPI_PROD}, {"MAX", OP_MAX, MPI_MAX},
    {"MIN", OP_MIN, MPI_MIN},    {"LAND", OP_LAND, MPI_LAND}, {"LOR", OP_LOR, MPI_LOR},
    {"LXOR", OP_LXOR, MPI_LXOR}, {"BAND", OP_BAND, MPI_BAND}, {"BOR", OP_BOR, MPI_BOR},
    {"BXOR", OP_BXOR, MPI_BXOR},
  };
  memcpy(list, all, sizeof all);
}

/* MPI 3.1, 5.9.2, and one liberty: all integers, of Fortran too, have a truth value. */
static int has_meaning(grove_kind kind, op_code code)
{
  int ring = code == OP_SUM || code == OP_PROD, order = code == OP_MAX || code == OP_MIN;
  int truth = code == OP_LAND || code == OP_LOR || code == OP_LXOR;
  switch (kind) {
  case GROVE_KIND_SIGNED:
  case GROVE_KIND_UNSIGNED: return 1;
  case GROVE_KIND_FLOAT: return ring || order;
  case GROVE_KIND_COMPLEX: return ring;
  case GROVE_KIND_LOGICAL: return truth;
  case GROVE_KIND_BYTE: return !ring && !order && !truth;
  default: return 0;
  }
}

/* ---- a kernel on N values ---- */

typedef struct values {
  _Alignas(16) unsigned char memory[ROOM + N * 32 + ROOM];
} values;

static unsigned char *item(values *v, int i, size_t bytes)
{
  return v->memory + ROOM + (size_t)i * bytes;
}

/* One of the two: a product by -1 has the other sign. */
static void draw_zero(rng *r, scalar kind, void *to)
{
  unsigned char minus_one[sizeof(long double)];
  memset(to, 0, scalar_bytes(kind));
  do scalar_draw(kind, OP_PROD, rng_next(r), minus_one);
  while (scalar_compare(kind, minus_one, to) >= 0);
  if (rng_one_in(r, 2)) scalar_apply(kind, OP_PROD, to, minus_one);
}

/* Floating point values whose results are exact; integers of all sizes, 0 often among them. */
static void draw(values *v, rng *r, scalar kind, op_code code)
{
  size_t bytes = scalar_bytes(kind);
  memset(v->memory, 0x3c, sizeof v->memory);
  for (int i = 0; i < N; i++) {
    uint64_t bits = rng_one_in(r, 4) ? 0 : rng_next(r) >> (8 * rng_below(r, 8));
    if (kind <= SCALAR_U64)
      memcpy(item(v, i, bytes), &bits, bytes); /* little endian or not: random all the same */
    else
      scalar_draw(kind, code, rng_next(r), item(v, i, bytes));
    if (kind >= SCALAR_F32 && (code == OP_MAX || code == OP_MIN) && rng_one_in(r, 2))
      draw_zero(r, kind, item(v, i, bytes));
  }
}

/* What the sign of a zero is: in a product of complex numbers a matter of how it is computed; of 0
 * and -0, as a maximum, it is the second's, and MPI is free to say otherwise. */
static int knows_signs(scalar kind, op_code code, int by_mpi)
{
  if (code == OP_PROD) return kind < SCALAR_C32;
  return !by_mpi || (code != OP_MAX && code != OP_MIN);
}

static void check_same(values *got, values *expected, const char *type, const operation *o,
                       const char *against, scalar kind, int by_mpi)
{
  values *both[2] = {got, expected};
  for (int i = 0; i < 2 * N; i++) {
    void *value = item(both[i % 2], i / 2, scalar_bytes(kind));
    scalar_scrub(kind, value);
    if (!knows_signs(kind, o->code, by_mpi)) scalar_scrub_zeros(kind, value);
  }
  for (size_t i = 0; i < sizeof got->memory; i++)
    CHECK(got->memory[i] == expected->memory[i], "%s on %s differs from %s in byte %zd of the data",
          o->name, type, against, (ptrdiff_t)i - ROOM);
}

/* Not every MPI has every operation on every type, and some err: to MAX and MIN of Open MPI 4.1.4
 * MPI_UNSIGNED_LONG has a sign and MPI_OFFSET none, to those of MPICH 4.0.2 MPI_UNSIGNED_CHAR has
 * one; MPICH adds MPI_REAL16 as if it were something else (aarch64), and Open MPI 4.1.6 does not
 * let short integers wrap around (x86-64). There plain C is the better witness. */
static int trusts_mpi(const unit *u, const operation *o)
{
  scalar kind = u->piece[0].kind;
  int order = o->code == OP_MAX || o->code == OP_MIN;
  int ring = o->code == OP_SUM || o->code == OP_PROD;
  if (strcmp(u->name, "MPI_REAL16") == 0 || strcmp(u->name, "MPI_COMPLEX32") == 0) return 0;
  return kind > SCALAR_U64 || (!order && !(ring && scalar_bytes(kind) < 4));
}

static void check_kernel(const grove_combine *c, const unit *u, const operation *o, rng *r)
{
  scalar kind = u->piece[0].kind;
  size_t bytes = scalar_bytes(kind);
  values a, b, got, plain, mpi, before;
  draw(&a, r, kind, o->code);
  draw(&b, r, kind, o->code);
  got = plain = mpi = a;
  before = b;
  c->kernels->flat(item(&got, 0, bytes), item(&b, 0, bytes), N);
  CHECK(memcmp(&b, &before, sizeof b) == 0, "%s on %s has changed its input", o->name, u->name);
  for (int i = 0; i < N; i++)
    scalar_apply(kind, o->code, item(&plain, i, bytes), item(&b, i, bytes));
  check_same(&got, &plain, u->name, o, "plain C", kind, 0);
  if (trusts_mpi(u, o) &&
      MPI_Reduce_local(item(&b, 0, bytes), item(&mpi, 0, bytes), N, u->type, o->op) == MPI_SUCCESS)
    check_same(&got, &mpi, u->name, o, "MPI_Reduce_local", kind, 1);
  values none = a;
  c->kernels->flat(item(&none, 0, bytes), item(&b, 0, bytes), 0);
  CHECK(memcmp(&none, &a, sizeof a) == 0, "%s on no %s has changed something", o->name, u->name);
}

/* ---- the same kernels on elements that are not in a row ---- */

enum { BLOCK = 6 };

/* Elements in targets, and those in values, one by one in the order of the list. */
typedef struct places {
  int n;
  int target[N], value[N];
} places;

static void check_places(const unit *u, const operation *o, const char *form, const places *p,
                         values *got, const values *before, values *from)
{
  scalar kind = u->piece[0].kind;
  size_t bytes = scalar_bytes(kind);
  values plain = *before;
  for (int i = 0; i < p->n; i++)
    scalar_apply(kind, o->code, item(&plain, p->target[i], bytes), item(from, p->value[i], bytes));
  check_same(got, &plain, u->name, o, form, kind, 0);
}

/* Blocks of 1 to BLOCK elements at slots of which some occur twice. */
static void check_listed(const grove_combine *c, const unit *u, const operation *o, rng *r)
{
  size_t bytes = scalar_bytes(u->piece[0].kind);
  int elements = (int)rng_between(r, 1, BLOCK), slots = N / elements;
  int32_t slot[N];
  int64_t target_at[N], value_at[N];
  places p = {.n = slots * elements};
  values a, b, got, scattered;
  draw(&a, r, u->piece[0].kind, o->code);
  draw(&b, r, u->piece[0].kind, o->code);
  got = scattered = a;
  for (int i = 0; i < slots; i++) {
    slot[i] = (int32_t)rng_below(r, slots);
    target_at[i] = slot[i] * elements * (int64_t)bytes;
    value_at[i] = i * elements * (int64_t)bytes;
    for (int e = 0; e < elements; e++) {
      p.target[i * elements + e] = slot[i] * elements + e;
      p.value[i * elements + e] = i * elements + e;
    }
  }
  c->kernels->listed(item(&got, 0, bytes), slot, item(&b, 0, bytes), slots, elements);
  check_places(u, o, "a list in plain C", &p, &got, &a, &b);
  c->kernels->any(&(grove_any_combine){.target = (char *)item(&scattered, 0, bytes),
                                       .value = (char *)item(&b, 0, bytes),
                                       .target_at = target_at,
                                       .value_at = value_at,
                                       .n = slots,
                                       .elements = elements});
  check_places(u, o, "places in plain C", &p, &scattered, &a, &b);
}

static void check_box(const grove_combine *c, const unit *u, const operation *o, rng *r)
{
  int64_t bytes = (int64_t)scalar_bytes(u->piece[0].kind);
  places p = {0};
  values a, b, got;
  draw(&a, r, u->piece[0].kind, o->code);
  draw(&b, r, u->piece[0].kind, o->code);
  got = a;
  for (int i = 0; i < 12; i++) { /* 3 by 2 by 2, which overlap */
    p.target[p.n] = i % 3 * 4 + i / 3 % 2 * 2 + i / 6;
    p.value[p.n++] = i;
  }
  c->kernels->box(&(grove_box_combine){.target = (char *)item(&got, 0, (size_t)bytes),
                                       .value = (const char *)item(&b, 0, (size_t)bytes),
                                       .n = {3, 2, 2},
                                       .stride = {4 * bytes, 2 * bytes, bytes}});
  check_places(u, o, "a box in plain C", &p, &got, &a, &b);
}

static void refused(MPI_Op op, const grove_unit *u, grove_status expected, const char *name)
{
  grove_combine c = {.commutative = 77};
  grove_status status = grove_combine_create(op, u, &c);
  CHECK(status == expected, "%s: %s", name, grove_status_name(status));
  CHECK(c.commutative == 77, "%s: a refusal has set the output", name);
  CHECK(strlen(grove_last_error()) > 20, "%s: '%s' is no sentence", name, grove_last_error());
}

/* Characters have arithmetic in Grove, as in C; MPI gives them none, and the reference neither. */
static void try_basic(const unit *u, const operation *list, int64_t *kernels)
{
  grove_unit g;
  int known = u->npieces == 1 && u->nreductions > 1;
  CHECK_OK(grove_unit_create(u->type, MPI_COMM_SELF, &g));
  for (int i = 0; i < OPERATIONS; i++) {
    char name[80];
    snprintf(name, sizeof name, "%s on %s", list[i].name, u->name);
    if (!has_meaning(g.kind, list[i].code)) {
      refused(list[i].op, &g, GROVE_ERR_UNSUPPORTED, name);
      continue;
    }
    grove_combine c;
    CHECK_OK(grove_combine_create(list[i].op, &g, &c));
    CHECK(c.way == GROVE_COMBINE_KERNEL && c.kernels && c.commutative && c.op == list[i].op,
          "%s: way %d", name, c.way);
    for (int64_t k = 0; known && k < test_samples(20); k++) {
      rng r = rng_from(test_seed(), mix2((uint64_t)i, (uint64_t)k));
      check_kernel(&c, u, &list[i], &r);
      check_listed(&c, u, &list[i], &r);
      check_box(&c, u, &list[i], &r);
    }
    *kernels += known;
  }
  grove_unit_free(&g);
}

/* ---- the corners, by hand ---- */

#define CORNER(c_type, type, op, a, b, result)                                                     \
  do {                                                                                             \
    grove_unit u_;                                                                                 \
    grove_combine c_;                                                                              \
    c_type t_ = (c_type)(a), v_ = (c_type)(b);                                                     \
    CHECK_OK(grove_unit_create(type, MPI_COMM_SELF, &u_));                                         \
    CHECK_OK(grove_combine_create(op, &u_, &c_));                                                  \
    c_.kernels->flat(&t_, &v_, 1);                                                                 \
    CHECK(t_ == (c_type)(result), #op " of " #a " and " #b " as " #type " is %lld",                \
          (long long)t_);                                                                          \
    grove_unit_free(&u_);                                                                          \
  } while (0)

static void wraps(void)
{
  CORNER(int8_t, MPI_INT8_T, MPI_SUM, INT8_MAX, 1, INT8_MIN);
  CORNER(int8_t, MPI_SIGNED_CHAR, MPI_PROD, -128, -1, -128);
  CORNER(int16_t, MPI_SHORT, MPI_SUM, INT16_MIN, -1, INT16_MAX);
  CORNER(int16_t, MPI_INT16_T, MPI_PROD, INT16_MAX, INT16_MAX, 1);
  CORNER(uint16_t, MPI_UINT16_T, MPI_PROD, UINT16_MAX, UINT16_MAX, 1);
  CORNER(int32_t, MPI_INT32_T, MPI_SUM, INT32_MAX, 1, INT32_MIN);
  CORNER(int32_t, MPI_INT, MPI_PROD, INT32_MIN, -1, INT32_MIN);
  CORNER(uint32_t, MPI_UNSIGNED, MPI_SUM, UINT32_MAX, 2, 1);
  CORNER(int64_t, MPI_INT64_T, MPI_SUM, INT64_MAX, INT64_MAX, -2);
  CORNER(int64_t, MPI_INT64_T, MPI_PROD, INT64_MIN, 3, INT64_MIN);
  CORNER(uint64_t, MPI_UINT64_T, MPI_PROD, UINT64_MAX, UINT64_MAX, 1);
}

static void truth(void)
{
  CORNER(int32_t, MPI_INT, MPI_LAND, 2, 4, 1);
  CORNER(int32_t, MPI_INT, MPI_LAND, -8, 0, 0);
  CORNER(int32_t, MPI_INT, MPI_LOR, 0, 256, 1);
  CORNER(int32_t, MPI_INT, MPI_LXOR, 2, 4, 0);
  CORNER(int32_t, MPI_INT, MPI_LXOR, 0, -3, 1);
  CORNER(uint8_t, MPI_UINT8_T, MPI_LAND, 16, 1, 1);
  CORNER(int64_t, MPI_INT64_T, MPI_LOR, (int64_t)1 << 40, 0, 1); /* not only the low half */
  CORNER(int64_t, MPI_INT64_T, MPI_LXOR, (int64_t)1 << 40, 0, 1);
  CORNER(uint16_t, MPI_UINT16_T, MPI_LXOR, 256, 256, 0);
  CORNER(unsigned char, MPI_C_BOOL, MPI_LXOR, 1, 1, 0);
  CORNER(unsigned char, MPI_C_BOOL, MPI_LAND, 1, 1, 1);
}

/* A minus one is less as a signed number, and most as an unsigned one. */
static void least_and_most(void)
{
  CORNER(int8_t, MPI_INT8_T, MPI_MAX, -1, 1, 1);
  CORNER(uint8_t, MPI_UINT8_T, MPI_MAX, -1, 1, -1);
  CORNER(int16_t, MPI_INT16_T, MPI_MIN, -1, 1, -1);
  CORNER(uint16_t, MPI_UINT16_T, MPI_MIN, -1, 1, 1);
  CORNER(int32_t, MPI_INT, MPI_MAX, INT32_MIN, 0, 0);
  CORNER(uint32_t, MPI_UNSIGNED, MPI_MAX, INT32_MIN, 0, INT32_MIN);
  CORNER(int64_t, MPI_INT64_T, MPI_MIN, -1, 1, -1);
  CORNER(uint64_t, MPI_UINT64_T, MPI_MIN, -1, 1, 1);
  CORNER(double, MPI_DOUBLE, MPI_MAX, -2.5, -1.5, -1.5);
  CORNER(float, MPI_FLOAT, MPI_MIN, -2.5, -1.5, -2.5);
  CORNER(long double, MPI_LONG_DOUBLE, MPI_SUM, 0.5, 0.25, 0.75);
}

/* ---- values that cannot be compared: MAX is `a > b ? a : b`, bit by bit ---- */

/* N of them, so that a row has both a vectorised part and a rest. */
static void check_doubles(MPI_Op op, double a, double b, double expected)
{
  grove_unit u;
  grove_combine c;
  double t[N], v[N];
  CHECK_OK(grove_unit_create(MPI_DOUBLE, MPI_COMM_SELF, &u));
  CHECK_OK(grove_combine_create(op, &u, &c));
  for (int i = 0; i < N; i++) {
    t[i] = a;
    v[i] = b;
  }
  c.kernels->flat(t, v, N);
  for (int i = 0; i < N; i++)
    CHECK(memcmp(&t[i], &expected, sizeof expected) == 0, "%s of %g and %g is %g, not %g",
          op == MPI_MAX ? "MAX" : "MIN", a, b, t[i], expected);
  grove_unit_free(&u);
}

static void check_located(MPI_Op op, double a, int i, double b, int j, double value, int index)
{
  struct located {
    double value;
    int index;
  } t = {a, i};
  char v[sizeof(double) + sizeof(int)];
  grove_unit u;
  grove_combine c;
  memcpy(v, &b, sizeof b);
  memcpy(v + sizeof b, &j, sizeof j);
  CHECK_OK(grove_unit_create(MPI_DOUBLE_INT, MPI_COMM_SELF, &u));
  CHECK_OK(grove_combine_create(op, &u, &c));
  c.kernels->listed(&t, (const int32_t[]){0}, v, 1, 1);
  CHECK(memcmp(&t.value, &value, sizeof value) == 0 && t.index == index,
        "(%g, %d) and (%g, %d) give (%g, %d)", a, i, b, j, t.value, t.index);
  grove_unit_free(&u);
}

static void incomparable(void)
{
  const MPI_Op order[2] = {MPI_MAX, MPI_MIN}, located[2] = {MPI_MAXLOC, MPI_MINLOC};
  for (int k = 0; k < 2; k++) {
    check_doubles(order[k], (double)NAN, 1, 1);
    check_doubles(order[k], 1, (double)NAN, (double)NAN);
    check_doubles(order[k], 0., -0., -0.);
    check_doubles(order[k], -0., 0., 0.);
    check_located(located[k], 2, 7, 2, 5, 2, 5);
    check_located(located[k], 2, 5, 2, 7, 2, 5);
    check_located(located[k], (double)NAN, 7, 1, 5, (double)NAN, 5);
    check_located(located[k], 1, 5, (double)NAN, 7, 1, 5);
    check_located(located[k], -0., 7, 0., 5, -0., 5);
  }
}

/* ---- what is no kernel ---- */

static void others(const units *types)
{
  MPI_Op own[2];
  MPI_Op_create(user_affine, 0, &own[0]);
  MPI_Op_create(user_gcd, 1, &own[1]);
  for (int i = 0; i < types->n; i++) {
    const unit *u = &types->unit[i];
    grove_unit g;
    grove_combine c;
    CHECK_OK(grove_unit_create(u->type, MPI_COMM_SELF, &g));
    CHECK_OK(grove_combine_create(MPI_REPLACE, &g, &c));
    CHECK(c.way == GROVE_COMBINE_REPLACE && !c.commutative, "REPLACE on %s", u->name);
    CHECK_OK(grove_combine_create(MPI_NO_OP, &g, &c));
    CHECK(c.way == GROVE_COMBINE_NOTHING, "NO_OP on %s", u->name);
    for (int k = 0; k < 2; k++) {
      CHECK_OK(grove_combine_create(own[k], &g, &c));
      CHECK(c.way == GROVE_COMBINE_MPI && c.commutative == k && c.op == own[k],
            "a user's operation on %s: way %d, commutative %d", u->name, c.way, c.commutative);
    }
    refused(MPI_OP_NULL, &g, GROVE_ERR_ARG, "MPI_OP_NULL");
    if (g.kind == GROVE_KIND_PAIR && !u->derived) {
      CHECK_OK(grove_combine_create(MPI_MAXLOC, &g, &c));
      CHECK(c.way == GROVE_COMBINE_KERNEL && c.commutative, "MAXLOC on %s", u->name);
      CHECK_OK(grove_combine_create(MPI_MINLOC, &g, &c));
    } else {
      refused(MPI_MAXLOC, &g, GROVE_ERR_UNSUPPORTED, u->name);
      refused(MPI_MINLOC, &g, GROVE_ERR_UNSUPPORTED, u->name);
    }
    grove_unit_free(&g);
  }
  for (int k = 0; k < 2; k++) MPI_Op_free(&own[k]);
}

/* Units of several elements: the kernel of the element, if there is one. */
static void derived(const units *types)
{
  grove_unit g;
  grove_combine c, of_element;
  CHECK_OK(grove_unit_create(MPI_DOUBLE, MPI_COMM_SELF, &g));
  CHECK_OK(grove_combine_create(MPI_SUM, &g, &of_element));
  grove_unit_free(&g);
  CHECK_OK(grove_unit_create(units_find(types, "3 doubles")->type, MPI_COMM_SELF, &g));
  CHECK_OK(grove_combine_create(MPI_SUM, &g, &c));
  CHECK(c.way == GROVE_COMBINE_KERNEL && c.kernels == of_element.kernels, "3 doubles: way %d",
        c.way);
  refused(MPI_BAND, &g, GROVE_ERR_UNSUPPORTED, "BAND on 3 doubles");
  grove_unit_free(&g);
  CHECK_OK(
    grove_unit_create(units_find(types, "struct of char and double")->type, MPI_COMM_SELF, &g));
  refused(MPI_SUM, &g, GROVE_ERR_UNSUPPORTED, "SUM on a struct");
  grove_unit_free(&g);
  CHECK_OK(grove_unit_create(units_find(types, "nothing")->type, MPI_COMM_SELF, &g));
  CHECK_OK(grove_combine_create(MPI_SUM, &g, &c));
  CHECK(c.way == GROVE_COMBINE_NOTHING, "SUM on nothing: way %d", c.way);
  grove_unit_free(&g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "pack/combine_kernels");
  units *types = units_create();
  operation list[OPERATIONS];
  int64_t kernels = 0;
  list_operations(list);
  /* An operation that this MPI does not have on a type must not end the program. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < types->n; i++) {
    test_case(i);
    if (!types->unit[i].derived) try_basic(&types->unit[i], list, &kernels);
  }
  CHECK(kernels > 200, "only %lld kernels were tried", (long long)kernels);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  wraps();
  truth();
  least_and_most();
  incomparable();
  others(types);
  derived(types);
  units_free(types);
  return test_end();
}
