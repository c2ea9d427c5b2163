#include "lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef MATRIX_MARKET_ZLIB
#include <zlib.h>
#endif

enum { RAW_BYTES = 1 << 17, TEXT_BYTES = 1 << 19 };

/* ---- refusals ---- */

int lines_fail(lines *l, const char *format, ...)
{
  char *to = l->error->sentence;
  size_t room = sizeof l->error->sentence;
  long long line = (long long)l->number;
  int used = line > 0 ? snprintf(to, room, "%.600s:%lld: ", l->name, line)
                      : snprintf(to, room, "%.600s: ", l->name);
  va_list words;
  va_start(words, format);
  vsnprintf(to + used, room - (size_t)used, format, words);
  va_end(words);
  l->error->line = line;
  return 1;
}

int lines_fail_expected(lines *l, const cursor *at, const char *what)
{
  char word[40] = "";
  cursor_quote(at, word, sizeof word);
  if (word[0] == '\0') return lines_fail(l, "%s is expected, and the line ends", what);
  return lines_fail(l, "%s is expected, and not '%s'", what, word);
}

int lines_expect_end(lines *l, cursor *at)
{
  return at_end(at) ? 0 : lines_fail_expected(l, at, "the end of the line");
}

/* The same for functions that return -1. */
static int refuse(lines *l, const char *why)
{
  return -lines_fail(l, "%s", why);
}

static int refuse_by_system(lines *l, const char *what)
{
  return -lines_fail(l, "%s: %s", what, strerror(errno));
}

/* ---- bytes as they are ---- */

/* Appends raw bytes; 0 at the end. */
static int read_raw(lines *l)
{
  size_t left = l->raw_end - l->raw_begin, room, got;
  memmove(l->raw, l->raw + l->raw_begin, left);
  l->raw_begin = 0;
  l->raw_end = left;
  room = RAW_BYTES - left;
  if (l->file) {
    errno = 0;
    got = fread(l->raw + left, 1, room, l->file);
    if (got < room && ferror(l->file)) return refuse_by_system(l, "cannot be read");
  } else {
    got = room < l->memory_left ? room : l->memory_left;
    if (got > 0) memcpy(l->raw + left, l->memory, got);
    l->memory += got;
    l->memory_left -= got;
  }
  l->done += (int64_t)got;
  l->raw_end += got;
  return got > 0;
}

/* Makes at least two available, if the file has them. */
static int peek(lines *l)
{
  return l->raw_end - l->raw_begin < 2 && read_raw(l) < 0 ? -1 : 0;
}

static int is_gzip(const lines *l)
{
  const unsigned char *raw = l->raw + l->raw_begin;
  return l->raw_end - l->raw_begin >= 2 && raw[0] == 0x1f && raw[1] == 0x8b;
}

/* ---- unpacking ---- */

#ifdef MATRIX_MARKET_ZLIB

static int open_member(lines *l)
{
  z_stream *z = l->unpacker;
  if (!z) {
    l->unpacker = z = calloc(1, sizeof *z);
    if (!z || inflateInit2(z, 15 + 16) != Z_OK) { /* the largest window; a gzip header */
      free(z);
      l->unpacker = NULL;
      return refuse(l, "no memory to unpack it");
    }
  } else {
    inflateReset(z);
  }
  l->members++;
  l->between = 0;
  return 0;
}

/* Another member may follow, or zeros that fill a block; nothing else. 1: go on; 0: the end. */
static int look_behind_member(lines *l)
{
  if (peek(l)) return -1;
  if (is_gzip(l)) return open_member(l) ? -1 : 1;
  for (;;) {
    while (l->raw_begin < l->raw_end)
      if (l->raw[l->raw_begin++] != 0)
        return refuse(l, "there is something behind the compressed data that is not compressed");
    int got = read_raw(l);
    if (got <= 0) return got;
  }
}

/* Some bytes of text; 0 at the end. */
static ptrdiff_t unpack(lines *l, char *to, size_t room)
{
  z_stream *z = l->unpacker;
  for (;;) {
    if (l->between) {
      int more = look_behind_member(l);
      if (more <= 0) return more;
    }
    if (l->raw_begin == l->raw_end) {
      int got = read_raw(l);
      if (got < 0) return -1;
      if (got == 0) return refuse(l, "the compressed data are cut in the middle");
    }
    z->next_in = l->raw + l->raw_begin;
    z->avail_in = (uInt)(l->raw_end - l->raw_begin);
    z->next_out = (Bytef *)to;
    z->avail_out = (uInt)room;
    int code = inflate(z, Z_NO_FLUSH);
    l->raw_begin = l->raw_end - z->avail_in;
    if (code == Z_STREAM_END) l->between = 1;
    if (code == Z_MEM_ERROR) return refuse(l, "no memory to unpack it");
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return refuse(l, "the compressed data are damaged");
    if (z->avail_out < room) return (ptrdiff_t)(room - z->avail_out);
  }
}

static void close_unpacker(lines *l)
{
  if (l->unpacker) inflateEnd(l->unpacker);
  free(l->unpacker);
}

#else

static int open_member(lines *l)
{
  return refuse(l, "is compressed, and this was built without zlib; gunzip it first");
}

static ptrdiff_t unpack(lines *l, char *to, size_t room)
{
  (void)to;
  (void)room;
  return refuse(l, "cannot be unpacked");
}

static void close_unpacker(lines *l)
{
  free(l->unpacker);
}

#endif

static ptrdiff_t copy(lines *l, char *to, size_t room)
{
  if (l->raw_begin == l->raw_end && read_raw(l) < 0) return -1;
  size_t n = l->raw_end - l->raw_begin;
  n = n < room ? n : room;
  memcpy(to, l->raw + l->raw_begin, n);
  l->raw_begin += n;
  return (ptrdiff_t)n;
}

/* ---- lines ---- */

static void find_size(lines *l)
{
  struct stat about;
  if (fstat(fileno(l->file), &about) == 0 && S_ISREG(about.st_mode)) l->all = about.st_size;
}

int lines_open(lines *l, const char *name, const void *memory, size_t length, read_error *error)
{
  *l = (lines){.name = name, .error = error, .memory = memory, .memory_left = length};
  *error = (read_error){0};
  l->all = (int64_t)length;
  if (!memory) {
    l->all = 0;
    l->file = fopen(name, "rb");
    if (!l->file) return -refuse_by_system(l, "cannot be opened");
    find_size(l);
  }
  l->raw = malloc(RAW_BYTES);
  l->text = malloc(TEXT_BYTES);
  if (!l->raw || !l->text) return lines_fail(l, "no memory to read it");
  return peek(l) < 0 || (is_gzip(l) && open_member(l) < 0);
}

void lines_close(lines *l)
{
  if (l->file) fclose(l->file);
  close_unpacker(l);
  free(l->raw);
  free(l->text);
}

/* Appends text to what is left. */
static int fill(lines *l)
{
  size_t left = l->end - l->begin;
  memmove(l->text, l->text + l->begin, left);
  l->begin = 0;
  l->end = left;
  ptrdiff_t got = (l->unpacker ? unpack : copy)(l, l->text + left, TEXT_BYTES - left);
  if (got < 0) return -1;
  l->end += (size_t)got;
  l->finished = got == 0;
  return 0;
}

/* Where the line that begins here ends; NULL: beyond the text read so far. */
static char *find_end(const lines *l)
{
  return memchr(l->text + l->begin, '\n', l->end - l->begin);
}

/* A line that does not fit: only its beginning is kept. */
static int skip_long(lines *l)
{
  if (l->text[l->begin] != '%') return refuse(l, "the line is too long");
  for (;;) {
    char *end = find_end(l);
    if (end || l->finished) {
      l->begin = end ? (size_t)(end - l->text) : l->end;
      return 0;
    }
    l->begin = l->end;
    if (fill(l)) return -1;
  }
}

void *lines_grow(lines *l, void *array, int64_t count, size_t bytes)
{
  void *more = realloc(array, (size_t)count * bytes);
  if (!more) lines_fail(l, "no memory for %lld entries", (long long)count);
  return more;
}

int lines_next(lines *l, cursor *line)
{
  static const char comment[] = "%";
  char *stop;
  while (!(stop = find_end(l)) && !l->finished && l->end - l->begin <= LINES_LONGEST)
    if (fill(l)) return -1;
  if (!stop && l->begin == l->end) return 0;
  l->number++;
  *line = (cursor){l->text + l->begin, stop ? stop : l->text + l->end};
  if (line->end - line->at > LINES_LONGEST) {
    if (skip_long(l)) return -1;
    *line = (cursor){comment, comment + 1};
    stop = l->begin < l->end ? l->text + l->begin : NULL;
  } else if (line->end > line->at && line->end[-1] == '\r') {
    line->end--;
  }
  l->begin = stop ? (size_t)(stop - l->text) + 1 : l->end;
  return 1;
}
