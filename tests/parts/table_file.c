/* Tables of messages by parts and bytes: read, written and read again, looked up by the nearest
 * entry; what is no table is refused with file, line and column. */
#define _POSIX_C_SOURCE 200809L /* fmemopen */
#include "parts/table_file.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static grove_status read(const char *text, grove_part_table *out)
{
  FILE *file = fmemopen((void *)text, strlen(text), "r");
  CHECK(file, "no file in memory");
  grove_status status = grove_part_table_read(file, "a.table", out);
  fclose(file);
  return status;
}

/* Prints the table, and reads that. The caller frees the text. */
static char *print_and_read(const grove_part_table *table, const char *about,
                            grove_part_table *again)
{
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  CHECK(file, "no file in memory");
  CHECK_OK(grove_part_table_print(table, about, file));
  fclose(file);
  CHECK_OK(read(text, again));
  CHECK(again->n == table->n, "%lld entries are left", (long long)again->n);
  for (int64_t i = 0; i < table->n; i++) {
    const grove_part_entry *a = &table->entries[i], *b = &again->entries[i];
    CHECK(a->parts == b->parts && a->bytes == b->bytes && a->messages == b->messages &&
            a->endpoints == b->endpoints &&
            (a->seconds == b->seconds || (isnan(a->seconds) && isnan(b->seconds))),
          "entry %lld", (long long)i);
  }
  return text;
}

static void there_and_back(void)
{
  grove_part_table table = {0}, again = {0};
  CHECK_OK(read("# parts bytes messages\n"
                "32 1048576 4 0.000151\n"
                "\n"
                "\t 128  0 \t128 \r\n"
                "  # a remark\n"
                "1 9223372036854775807 1 2.5e-07\n",
                &table));
  CHECK(table.n == 3, "%lld entries", (long long)table.n);
  CHECK(table.entries[0].parts == 32 && table.entries[0].bytes == 1048576 &&
          table.entries[0].messages == 4 && table.entries[0].seconds == 0.000151,
        "the first");
  CHECK(table.entries[1].messages == 128 && isnan(table.entries[1].seconds), "the second");
  CHECK(table.entries[2].bytes == INT64_MAX && table.entries[2].seconds == 2.5e-07, "the third");
  CHECK(!grove_part_table_has_endpoints(&table), "a file of old tells no endpoints");
  for (int64_t i = 0; i < table.n; i++)
    CHECK(table.entries[i].endpoints == 0, "entry %lld", (long long)i);
  char *text = print_and_read(&table, "tried on a machine\nwith two lines", &again);
  CHECK(strstr(text, "# tried on a machine\n#") && !strstr(text, "endpoints"), "%s", text);
  free(text);
  grove_part_table_free(&table);
  grove_part_table_free(&again);
}

/* Some entries tell their endpoints, others do not; seconds may lack before them. */
static void endpoints(void)
{
  grove_part_table table = {0}, again = {0};
  CHECK_OK(read("32 1048576 4 0.000151 8\n32 4096 1 1e-05\n32 65536 2 - 16\n32 64 1\n", &table));
  static const int64_t told[] = {8, 0, 16, 0};
  CHECK(table.n == 4 && grove_part_table_has_endpoints(&table), "%lld entries", (long long)table.n);
  for (int i = 0; i < 4; i++)
    CHECK(table.entries[i].endpoints == told[i], "entry %d: %lld endpoints", i,
          (long long)table.entries[i].endpoints);
  CHECK(table.entries[0].seconds == 0.000151 && isnan(table.entries[2].seconds), "seconds");
  char *text = print_and_read(&table, "", &again);
  CHECK(strstr(text, "endpoints\n"), "%s", text);
  free(text);
  grove_part_table_free(&table);
  grove_part_table_free(&again);
}

static void nearest(void)
{
  grove_part_table table = {0};
  CHECK(!grove_part_table_nearest(&table, 1, 1), "an empty table has none");
  CHECK_OK(read("8 1000 1\n8 4000 2\n32 1000 3\n32 4000 4\n32 4000 5\n", &table));
  static const int64_t row[][3] = {{8, 1000, 1},     {8, 1999, 1},  {8, 2001, 2}, {15, 4000, 2},
                                   {17, 4000, 5},    {1, 0, 1},     {99, 5, 3},   {16, 2000, 5},
                                   {99, 1 << 30, 5}, {15, 2001, 2}, {17, 1999, 3}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    const grove_part_entry *e = grove_part_table_nearest(&table, row[i][0], row[i][1]);
    CHECK(e->messages == row[i][2], "%lld parts, %lld bytes: entry %lld", (long long)row[i][0],
          (long long)row[i][1], (long long)e->messages);
  }
  grove_part_table_free(&table);
}

static void refusals(void)
{
  static const struct {
    const char *text, *place, *why;
  } row[] = {
    {"8 1000\n", "line 1, column 1", "three to five"},
    {"8 1000 1 0.5 9 7\n", "line 1, column 16", "three to five"},
    {"8 1000 1 0.5 0\n", "line 1, column 14", "'0' is no number of endpoints"},
    {"8 1000 1 0.5 17\n", "line 1, column 14", "'17' is no number of endpoints"},
    {"8 1000 1 0.5 2.0\n", "line 1, column 14", "'2.0' is no number of endpoints"},
    {"8 1000 1 - x\n", "line 1, column 12", "'x' is no number of endpoints"},
    {"8 1000 1 -\n", "line 1, column 10", "'-'"},
    {"\n# x\n8 1000 1\n0 1000 1\n", "line 4, column 1", "'0' is no number of parts"},
    {"8 -1 1\n", "line 1, column 3", "'-1' is no number of bytes"},
    {"8 1000 9\n", "line 1, column 8", "'9' is no number of messages"},
    {"8 1000 0\n", "line 1, column 8", "'0' is no number of messages"},
    {"8 1000 1x\n", "line 1, column 8", "'1x' is no number of messages"},
    {"8 1000 1 -2\n", "line 1, column 10", "'-2'"},
    {"8 1000 1 inf\n", "line 1, column 10", "'inf' is no number of seconds"},
    {"8 9223372036854775808 1\n", "line 1, column 3", "is no number of bytes"},
    {"2147483648 1 1\n", "line 1, column 1", "is no number of parts"},
    {"8 1000 1\n8 1000 1", "line 2, column 9", "does not end"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_part_table table = {0};
    CHECK_STATUS(read(row[i].text, &table), GROVE_ERR_ARG);
    const char *said = grove_last_error();
    CHECK(strstr(said, "a.table") && strstr(said, row[i].place) && strstr(said, row[i].why),
          "row %d: %s", (int)i, said);
    CHECK(!table.entries && table.n == 0, "a table all the same");
  }
  char *line = need(3000);
  grove_part_table table = {0};
  memset(line, ' ', 2999);
  memcpy(line, "8 1000 1", 8);
  memcpy(line + 2998, "\n", 2);
  CHECK_STATUS(read(line, &table), GROVE_ERR_ARG);
  CHECK(strstr(grove_last_error(), "line 1") && strstr(grove_last_error(), "too long"), "%s",
        grove_last_error());
  free(line);
  CHECK_STATUS(grove_part_table_open("/nowhere/a.table", &table), GROVE_ERR_SYSTEM);
  CHECK(strstr(grove_last_error(), "/nowhere/a.table"), "%s", grove_last_error());
  CHECK_STATUS(grove_part_table_open("/", &table), GROVE_ERR_SYSTEM);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "parts/table_file");
  there_and_back();
  endpoints();
  nearest();
  refusals();
  return test_end();
}
