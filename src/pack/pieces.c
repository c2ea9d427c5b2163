/* The bytes that a datatype consists of, in the order of a message. MPI has no call for that, and a
 * walk through its constructors would have to know them all. So MPI_Pack packs one unit in which
 * every byte holds its own place; the result is the list. A byte holds 256 places, so larger units
 * are packed twice or three times, with the low, middle and high bits of the place.
 */
#include "pack/unit.h"

#include <stdlib.h>
#include <string.h>

/* Beyond this a unit stays unknown, and MPI moves it. Three passes over a mebibyte take a
 * millisecond, and the places fit into 20 bits. */
enum { MOST_BYTES = 1 << 20 };

/* Adds to place[] the bits from `shift` on of the place in memory of each byte of the message. */
static grove_status ask_bits(const grove_unit *unit, int shift, unsigned char *memory,
                             unsigned char *packed, int32_t *place)
{
  int position = 0;
  for (int64_t k = 0; k < unit->true_extent; k++) memory[k] = (unsigned char)(k >> shift);
  GROVE_PASS_MPI(MPI_Pack(memory - unit->true_lb, 1, unit->type, packed, (int)unit->bytes,
                          &position, unit->comm));
  GROVE_PASS_CHECK(position == unit->bytes, GROVE_ERR_UNSUPPORTED,
                   "this MPI packs a unit of %lld bytes into %d", (long long)unit->bytes, position);
  for (int64_t k = 0; k < unit->bytes; k++) place[k] |= (int32_t)packed[k] << shift;
  return GROVE_OK;
}

/* MPICH packs a long double as a number. On x86 its last six bytes, which mean nothing, keep their
 * old contents in the message. They are taken to follow the others, as in memory. */
static grove_status place_padding(const grove_unit *unit, unsigned char *memory,
                                  unsigned char *packed, int32_t *place)
{
  int position = 0;
  memset(memory, 0, (size_t)unit->true_extent);
  memset(packed, 1, (size_t)unit->bytes);
  GROVE_PASS_MPI(MPI_Pack(memory - unit->true_lb, 1, unit->type, packed, (int)unit->bytes,
                          &position, unit->comm));
  for (int64_t k = 1; k < unit->bytes; k++)
    if (packed[k] == 1) place[k] = place[k - 1] + 1;
  return GROVE_OK;
}

static grove_status find_byte_places(const grove_unit *unit, int32_t *place)
{
  grove_status status = GROVE_OK;
  unsigned char *memory = NULL, *packed = NULL;
  GROVE_NEW(memory, unit->true_extent);
  GROVE_NEW(packed, unit->bytes);
  for (int shift = 0; (unit->true_extent - 1) >> shift > 0 || shift == 0; shift += 8)
    GROVE_TRY(ask_bits(unit, shift, memory, packed, place));
  GROVE_TRY(place_padding(unit, memory, packed, place));
fail:
  free(memory);
  free(packed);
  return status;
}

/* Joins adjacent places to pieces; with pieces == NULL only counts them. */
static int join_places(const int32_t *place, int64_t bytes, grove_piece *pieces)
{
  int n = 0;
  for (int64_t k = 0; k < bytes; n++) {
    int64_t end = k + 1;
    while (end < bytes && place[end] == place[end - 1] + 1) end++;
    if (pieces) pieces[n] = (grove_piece){place[k], (int32_t)k, (int32_t)(end - k)};
    k = end;
  }
  return n;
}

static grove_status ask_mpi(grove_unit *unit)
{
  grove_status status = GROVE_OK;
  int32_t *place = NULL;
  GROVE_NEW(place, unit->bytes);
  GROVE_TRY(find_byte_places(unit, place));
  int n = join_places(place, unit->bytes, NULL);
  if (n > GROVE_FEW_PIECES) {
    if (!unit->owned) goto fail; /* no named type gets here; nobody would free its pieces */
    GROVE_NEW(unit->many, n);
  }
  unit->npieces = n;
  join_places(place, unit->bytes, n > GROVE_FEW_PIECES ? unit->many : unit->few);
fail:
  free(place);
  return status;
}

grove_status grove_unit_find_pieces(grove_unit *unit)
{
  int plain = unit->bytes == unit->extent && unit->bytes == unit->true_extent && unit->true_lb == 0;
  if (unit->bytes == 0 || (plain && !unit->owned)) {
    unit->npieces = 1;
    unit->few[0] = (grove_piece){0, 0, (int32_t)unit->bytes};
  } else if (unit->true_extent <= MOST_BYTES) {
    GROVE_PASS(ask_mpi(unit));
  }
  unit->dense = plain && unit->npieces == 1;
  return GROVE_OK;
}

/* Marks unit k of a row; false if some of its bytes are marked already. */
static int mark_unit(const grove_unit *unit, int64_t k, unsigned char *marks)
{
  const grove_piece *piece = grove_unit_pieces(unit);
  for (int p = 0; p < unit->npieces; p++) {
    unsigned char *at = marks + k * unit->extent + piece[p].at;
    if (memchr(at, 1, (size_t)piece[p].bytes)) return 0;
    memset(at, 1, (size_t)piece[p].bytes);
  }
  return 1;
}

int64_t grove_unit_abreast(const grove_unit *unit, int64_t most)
{
  int64_t n = 0;
  if (llabs(unit->extent) >= unit->true_extent) return most;
  if (unit->npieces == 0 || unit->extent <= 0) return 1;
  unsigned char *marks = calloc(1, (size_t)(most * unit->extent + unit->true_extent));
  while (marks && n < most && mark_unit(unit, n, marks)) n++;
  free(marks);
  return n > 0 ? n : 1;
}
