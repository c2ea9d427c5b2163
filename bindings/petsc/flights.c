/* The operations between Begin and End, in a table by the addresses of their arrays. It has at
 * least as many buckets as there are flights, so finding one takes the same time however many there
 * are.
 * Flights that ended are used again: in the long run nothing is allocated.
 */
#include "sf.h"

enum { FIRST_BUCKETS = 16 };

static size_t bucket_of(size_t nbuckets, const void *root, const void *leaf)
{
  uint64_t mixed = (uint64_t)(uintptr_t)root * 3 + (uint64_t)(uintptr_t)leaf;
  return (size_t)(mixed * 0x9E3779B97F4A7C15u >> 32) & (nbuckets - 1);
}

/* At the end, so that the oldest is found first. */
static void append_flight(grove_sf_flight **buckets, size_t nbuckets, grove_sf_flight *added)
{
  grove_sf_flight **at = &buckets[bucket_of(nbuckets, added->root, added->leaf)];
  while (*at) at = &(*at)->next;
  added->next = NULL;
  *at = added;
}

static PetscErrorCode grow_buckets(grove_sf_flights *f)
{
  size_t n = f->nbuckets ? 2 * f->nbuckets : FIRST_BUCKETS;
  grove_sf_flight **buckets;
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, &buckets));
  for (size_t i = 0; i < f->nbuckets; i++)
    for (grove_sf_flight *moved = f->buckets[i], *next; moved; moved = next) {
      next = moved->next;
      append_flight(buckets, n, moved);
    }
  PetscCall(PetscFree(f->buckets));
  f->buckets = buckets;
  f->nbuckets = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_flight_take(grove_sf_flights *f, grove_sf_flight **out)
{
  PetscFunctionBegin;
  if (f->count == f->nbuckets) PetscCall(grow_buckets(f));
  *out = f->idle;
  if (f->idle)
    f->idle = f->idle->next;
  else
    PetscCall(PetscNew(out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void grove_sf_flight_put(grove_sf_flights *f, grove_sf_flight *flight)
{
  append_flight(f->buckets, f->nbuckets, flight);
  f->count++;
}

/* A program may end an operation with another handle of the same type. */
static PetscErrorCode is_same_type(MPI_Datatype a, MPI_Datatype b, PetscBool *same)
{
  PetscFunctionBegin;
  *same = PETSC_TRUE;
  if (a != b) PetscCall(MPIPetsc_Type_compare(a, b, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_flight_find(grove_sf_flights *f, grove_sf_kind kind, MPI_Datatype unit,
                                    const void *root, const void *leaf, grove_sf_flight **out)
{
  PetscBool same = PETSC_FALSE;
  grove_sf_flight **at = NULL;
  PetscFunctionBegin;
  if (f->nbuckets) at = &f->buckets[bucket_of(f->nbuckets, root, leaf)];
  for (; at && *at; at = &(*at)->next) {
    if ((*at)->kind != kind || (*at)->root != root || (*at)->leaf != leaf) continue;
    PetscCall(is_same_type((*at)->unit, unit, &same));
    if (same) break;
  }
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "End without a Begin of the same operation with these arrays and this unit");
  *out = *at;
  *at = (*at)->next;
  f->count--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void grove_sf_flight_rest(grove_sf_flights *f, grove_sf_flight *flight)
{
  flight->next = f->idle;
  f->idle = flight;
}

PetscErrorCode grove_sf_flights_free(grove_sf_flights *f)
{
  PetscFunctionBegin;
  PetscCheck(f->count == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "%zu operations were begun on this SF and not ended", f->count);
  for (grove_sf_flight *next; f->idle; f->idle = next) {
    next = f->idle->next;
    PetscCall(PetscFree(f->idle));
  }
  PetscCall(PetscFree(f->buckets));
  f->nbuckets = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
