#include "pack/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a walk through a datatype's constructors finds. */
typedef struct anatomy {
  int parts; /* basic types met so far */
  grove_kind kind;
  int bytes;
  int mixed; /* they are not all the same */
} anatomy;

static grove_status meet_type(MPI_Datatype type, int combiner, anatomy *found)
{
  int bytes = 0;
  grove_kind kind = grove_basic_kind(type, combiner);
  GROVE_PASS_MPI(MPI_Type_size(type, &bytes));
  if (found->parts++ == 0) {
    found->kind = kind;
    found->bytes = bytes;
  }
  if (found->kind != kind || found->bytes != bytes) found->mixed = 1;
  return GROVE_OK;
}

static int is_derived(int combiner)
{
  return combiner != MPI_COMBINER_NAMED && !grove_basic_is_parametrised(combiner);
}

/* What a derived type was made from. */
typedef struct contents {
  int combiner;
  int ntypes;
  MPI_Datatype *types;
  int64_t *lengths; /* of a struct: of each block */
} contents;

/* get_contents hands out references to derived parts, which we must free. */
static void free_contents(contents *c)
{
  for (int k = 0; c->types && k < c->ntypes; k++) {
    int combiner = MPI_COMBINER_NAMED;
    grove_basic_combiner(c->types[k], &combiner);
    if (is_derived(combiner)) MPI_Type_free(&c->types[k]);
  }
  free(c->types);
  free(c->lengths);
}

#if MPI_VERSION >= 4
static grove_status get_contents(MPI_Datatype type, contents *out)
{
  grove_status status = GROVE_OK;
  MPI_Count ni, na, nc, nt;
  int *i = NULL;
  MPI_Aint *a = NULL;
  MPI_Count *c = NULL;
  MPI_Datatype *t = NULL;
  GROVE_TRY_MPI(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nt, &out->combiner));
  GROVE_NEW(i, ni);
  GROVE_NEW(a, na);
  GROVE_NEW(c, nc);
  GROVE_NEW(t, nt);
  GROVE_NEW(out->lengths, nt);
  GROVE_TRY_MPI(MPI_Type_get_contents_c(type, ni, na, nc, nt, i, a, c, t));
  out->types = t;
  out->ntypes = (int)nt;
  t = NULL;
  /* A struct's integers, or large counts, are the number of blocks and then their lengths. */
  for (int k = 0; k < out->ntypes && out->combiner == MPI_COMBINER_STRUCT; k++)
    out->lengths[k] = nc > 0 ? (int64_t)c[1 + k] : i[1 + k];
fail:
  free(i);
  free(a);
  free(c);
  free(t);
  return status;
}
#else
static grove_status get_contents(MPI_Datatype type, contents *out)
{
  grove_status status = GROVE_OK;
  int ni, na, nt, *i = NULL;
  MPI_Aint *a = NULL;
  MPI_Datatype *t = NULL;
  GROVE_TRY_MPI(MPI_Type_get_envelope(type, &ni, &na, &nt, &out->combiner));
  GROVE_NEW(i, ni);
  GROVE_NEW(a, na);
  GROVE_NEW(t, nt);
  GROVE_NEW(out->lengths, nt);
  GROVE_TRY_MPI(MPI_Type_get_contents(type, ni, na, nt, i, a, t));
  out->types = t;
  out->ntypes = nt;
  t = NULL;
  /* A struct's integers are the number of blocks and then their lengths. */
  for (int k = 0; k < nt && out->combiner == MPI_COMBINER_STRUCT; k++) out->lengths[k] = i[1 + k];
fail:
  free(i);
  free(a);
  free(t);
  return status;
}
#endif

static grove_status walk_type(MPI_Datatype type, anatomy *found)
{
  grove_status status = GROVE_OK;
  contents parts = {0};
  int combiner = 0;
  GROVE_TRY(grove_basic_combiner(type, &combiner));
  if (!is_derived(combiner)) return meet_type(type, combiner, found);
  GROVE_TRY(get_contents(type, &parts));
  for (int k = 0; k < parts.ntypes; k++)
    if (combiner != MPI_COMBINER_STRUCT || parts.lengths[k] > 0)
      GROVE_TRY(walk_type(parts.types[k], found));
fail:
  free_contents(&parts);
  return status;
}

static grove_status measure_unit(grove_unit *unit)
{
  MPI_Count bytes = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  GROVE_PASS_MPI(MPI_Type_size_x(unit->type, &bytes));
  GROVE_PASS_MPI(MPI_Type_get_extent_x(unit->type, &lb, &extent));
  GROVE_PASS_MPI(MPI_Type_get_true_extent_x(unit->type, &true_lb, &true_extent));
  GROVE_PASS_CHECK(bytes <= INT_MAX, GROVE_ERR_UNSUPPORTED,
                   "a unit of %lld bytes: larger than 2^31 - 1", (long long)bytes);
  unit->bytes = bytes;
  unit->extent = extent;
  unit->true_lb = bytes > 0 ? true_lb : 0;
  unit->true_extent = bytes > 0 ? true_extent : 0;
  return GROVE_OK;
}

static grove_status find_elements(grove_unit *unit)
{
  anatomy found = {0};
  GROVE_PASS(walk_type(unit->type, &found));
  if (found.mixed || found.bytes == 0) return GROVE_OK;
  unit->kind = found.kind;
  unit->element_bytes = found.bytes;
  unit->elements = unit->bytes / found.bytes;
  return GROVE_OK;
}

/* MPI has no call for this, but refuses to pack zero units of a type that is not committed. An MPI
 * set not to check arguments accepts it; then the duplicate is committed. */
static grove_status check_committed(MPI_Datatype type, MPI_Comm comm)
{
  char nothing[1] = "";
  int position = 0, class = MPI_SUCCESS;
  int code = MPI_Pack(nothing, 0, type, nothing, 1, &position, comm);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  GROVE_PASS_CHECK(class != MPI_ERR_TYPE, GROVE_ERR_ARG,
                   "the unit is a datatype that was not committed (MPI_Type_commit)");
  return GROVE_OK;
}

grove_status grove_unit_create(MPI_Datatype type, MPI_Comm comm, grove_unit *out)
{
  grove_status status = GROVE_OK;
  grove_unit unit = {.type = type, .comm = comm, .kind = GROVE_KIND_NONE};
  int combiner = 0;
  GROVE_CHECK(type != MPI_DATATYPE_NULL, GROVE_ERR_ARG, "the unit is MPI_DATATYPE_NULL");
  GROVE_TRY(grove_basic_combiner(type, &combiner));
  if (is_derived(combiner)) {
    GROVE_TRY(check_committed(type, comm));
    GROVE_TRY_MPI(MPI_Type_dup(type, &unit.type));
    unit.owned = 1;
    GROVE_TRY_MPI(MPI_Type_commit(&unit.type));
  }
  GROVE_TRY(measure_unit(&unit));
  GROVE_TRY(find_elements(&unit));
  GROVE_TRY(grove_unit_find_pieces(&unit));
  *out = unit;
  return GROVE_OK;
fail:
  grove_unit_free(&unit);
  return status;
}

void grove_unit_name(MPI_Datatype type, char out[GROVE_UNIT_NAME_BYTES])
{
  int combiner = 0, length = 0;
  MPI_Count bytes = 0;
  *out = '\0';
  if (grove_basic_combiner(type, &combiner) == GROVE_OK && !is_derived(combiner))
    MPI_Type_get_name(type, out, &length);
  if (*out) return;
  MPI_Type_size_x(type, &bytes);
  snprintf(out, GROVE_UNIT_NAME_BYTES, "a derived type of %lld bytes", (long long)bytes);
}

grove_unit grove_unit_packed(const grove_unit *unit)
{
  return (grove_unit){.type = MPI_BYTE,
                      .comm = unit->comm,
                      .bytes = unit->bytes,
                      .extent = unit->bytes,
                      .true_extent = unit->bytes,
                      .dense = 1,
                      .kind = GROVE_KIND_BYTE,
                      .elements = unit->bytes,
                      .element_bytes = 1,
                      .npieces = 1,
                      .few = {{0, 0, (int32_t)unit->bytes}}};
}

void grove_unit_forget_type(grove_unit *unit)
{
  if (!unit->owned || unit->type == MPI_DATATYPE_NULL || (!unit->dense && unit->npieces == 0))
    return;
  MPI_Type_free(&unit->type);
}

void grove_unit_free(grove_unit *unit)
{
  if (unit->owned && unit->type != MPI_DATATYPE_NULL && !grove_mpi_is_gone())
    MPI_Type_free(&unit->type);
  if (unit->owned) free(unit->many);
  unit->owned = 0;
  unit->many = NULL;
}
