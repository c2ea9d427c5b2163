/* The file of the aggregator `table`: the number of messages that was fastest when tried, and over
 * libfabric the number of endpoints. One line per entry; '#' begins a line of comment. The last two
 * columns may lack, and seconds may be '-':
 *
 *     parts  bytes of all  messages  seconds   endpoints
 *     32     1048576       4         0.000151
 *     32     1048576       8         0.000129  4
 *
 *     grove_part_table table = {0};
 *     GROVE_TRY(grove_part_table_open("parts.table", &table));
 *     const grove_part_entry *e = grove_part_table_nearest(&table, 32, 1 << 20);
 *     grove_part_table_free(&table);
 */
#ifndef GROVE_PARTS_TABLE_FILE_H
#define GROVE_PARTS_TABLE_FILE_H

#include "base/status.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_PART_MOST_ENDPOINTS = 16 }; /* as of the option `endpoints` */

typedef struct grove_part_entry {
  int64_t parts, bytes, messages;
  double seconds;    /* NaN: not told */
  int64_t endpoints; /* 0: not told */
} grove_part_entry;

typedef struct grove_part_table {
  int64_t n;
  grove_part_entry *entries; /* in the order of the file */
} grove_part_table;

/* Reads a table. `name` is the file's, for errors: GROVE_ERR_ARG with file, line and column if it
 * is no table, GROVE_ERR_SYSTEM if it cannot be read. */
grove_status grove_part_table_open(const char *path, grove_part_table *out);
grove_status grove_part_table_read(FILE *file, const char *name, grove_part_table *out);

/* Adds an entry. */
grove_status grove_part_table_add(grove_part_table *table, grove_part_entry entry);

/* Writes it so that reading it back gives the same entries. `about`: one line, or "". There is a
 * column of endpoints if any entry tells them. */
grove_status grove_part_table_print(const grove_part_table *table, const char *about, FILE *file);

/* Does any entry tell its endpoints? */
int grove_part_table_has_endpoints(const grove_part_table *table);

void grove_part_table_free(grove_part_table *table);

/* The entry nearest to these parts and bytes, by the logarithms of both; the last of several that
 * are equally near, since results are appended. NULL: the table is empty. */
const grove_part_entry *grove_part_table_nearest(const grove_part_table *table, int64_t parts,
                                                 int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
