/* Where letters may be cut: between units, so that each part can be packed and unpacked alone. */
#include "exec/letter.h"

/* A fragment that begins inside a section ends with it at the latest: what follows would not be
 * aligned. */
int64_t grove_letter_cut(const grove_letter *letter, int64_t at, int64_t most)
{
  const grove_section *p = letter->sections, *end = p + letter->nsections;
  int64_t to = at;
  if (at == 0 && letter->data + GROVE_SECTION_ALIGNMENT <= most) return letter->data; /* as usual */
  if (letter->nsections > 1)
    most -= GROVE_SECTION_ALIGNMENT; /* for the gap behind the last section of a fragment */
  while (p->at + p->bytes <= at) p++;
  for (; p < end; p++) {
    int64_t left = p->at + p->bytes - to, room = at + most > to ? at + most - to : 0;
    if (room < left) return to + room / p->unit_bytes * p->unit_bytes - at;
    to = p + 1 < end ? p[1].at : letter->data;
    if (at % GROVE_SECTION_ALIGNMENT != 0) break;
  }
  return to - at;
}

int64_t grove_letter_chunk(const grove_letter *letter, int64_t at)
{
  int64_t bytes = grove_letter_cut(letter, at, grove_space_chunk());
  return bytes > 0 ? bytes : letter->data - at; /* a unit may be larger */
}

int grove_letter_count_chunks(const grove_letter *letter)
{
  int n = 0;
  for (int64_t at = 0; at < letter->data; at += grove_letter_chunk(letter, at)) n++;
  return n;
}
