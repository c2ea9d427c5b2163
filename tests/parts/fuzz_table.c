/* Any bytes at all, as a table of messages and endpoints: refused with a sentence, or read, and
 * then written and read again with nothing lost. See tests/fuzz. */
#define _POSIX_C_SOURCE 200809L /* fmemopen, open_memstream */
#include "parts/table_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int condition)
{
  if (!condition) abort(); /* what both drivers notice */
}

static grove_status read(const void *data, size_t size, grove_part_table *out)
{
  FILE *file = fmemopen((void *)data, size, "r");
  insist(file != NULL);
  grove_status status = grove_part_table_read(file, "fuzz", out);
  fclose(file);
  return status;
}

static char *print(const grove_part_table *table)
{
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  insist(file && grove_part_table_print(table, "", file) == GROVE_OK);
  fclose(file);
  return text;
}

static void check_ranges(const grove_part_table *table)
{
  int told = 0;
  for (int64_t i = 0; i < table->n; i++) {
    const grove_part_entry *e = &table->entries[i];
    insist(e->parts >= 1 && e->bytes >= 0 && e->messages >= 1 && e->messages <= e->parts);
    insist(e->endpoints >= 0 && e->endpoints <= GROVE_PART_MOST_ENDPOINTS);
    told |= e->endpoints > 0;
  }
  insist(grove_part_table_has_endpoints(table) == told);
}

static void look_up(const grove_part_table *table)
{
  static const int64_t some[] = {0, 1, 500, 70000, INT64_MAX};
  for (int i = 0; i < 25; i++)
    insist(!grove_part_table_nearest(table, some[i % 5], some[i / 5]) == (table->n == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  grove_part_table table = {0}, again = {0};
  if (size == 0) return 0; /* fmemopen refuses that */
  if (read(data, size, &table) != GROVE_OK) {
    insist(!table.entries && *grove_last_error());
    return 0;
  }
  check_ranges(&table);
  look_up(&table);
  char *text = print(&table);
  insist(read(text, strlen(text), &again) == GROVE_OK && again.n == table.n);
  for (int64_t i = 0; i < table.n; i++)
    insist(table.entries[i].endpoints == again.entries[i].endpoints);
  char *twice = print(&again);
  insist(strcmp(text, twice) == 0);
  free(text);
  free(twice);
  grove_part_table_free(&table);
  grove_part_table_free(&again);
  return 0;
}
