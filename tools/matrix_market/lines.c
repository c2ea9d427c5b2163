#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef MATRIX_MARKET_ZLIB
#include <zlib.h>
#endif

enum { RAW_BYTES = 1 << 17, TEXT_BYTES = 1 << 19 };

static int trouble(lines *l, const char *why)
{
  l->why = why;
  return -1;
}

static int trouble_of_system(lines *l, const char *what)
{
  snprintf(l->words, sizeof l->words, "%s: %s", what, strerror(errno));
  return trouble(l, l->words);
}

/* ---- bytes as they are ---- */

/* More raw bytes behind those that are left; 0 at the end. */
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
    if (got < room && ferror(l->file)) return trouble_of_system(l, "cannot be read");
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

/* Two at least, if the file has them. */
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
      return trouble(l, "no memory to unpack it");
    }
  } else {
    inflateReset(z);
  }
  l->members++;
  l->between = 0;
  return 0;
}

/* Another member may follow, or zeros that fill a block; nothing else. 1: go on, 0: the end. */
static int look_behind_member(lines *l)
{
  if (peek(l)) return -1;
  if (is_gzip(l)) return open_member(l) ? -1 : 1;
  for (;;) {
    while (l->raw_begin < l->raw_end)
      if (l->raw[l->raw_begin++] != 0)
        return trouble(l, "there is something behind the compressed data that is not compressed");
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
      if (got == 0) return trouble(l, "the compressed data are cut in the middle");
    }
    z->next_in = l->raw + l->raw_begin;
    z->avail_in = (uInt)(l->raw_end - l->raw_begin);
    z->next_out = (Bytef *)to;
    z->avail_out = (uInt)room;
    int code = inflate(z, Z_NO_FLUSH);
    l->raw_begin = l->raw_end - z->avail_in;
    if (code == Z_STREAM_END) l->between = 1;
    if (code == Z_MEM_ERROR) return trouble(l, "no memory to unpack it");
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return trouble(l, "the compressed data are damaged");
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
  return trouble(l, "is compressed, and this was built without zlib; gunzip it first");
}

static ptrdiff_t unpack(lines *l, char *to, size_t room)
{
  (void)to;
  (void)room;
  return trouble(l, "cannot be unpacked");
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

int lines_open(lines *l, const char *path, const void *memory, size_t length)
{
  *l = (lines){.memory = memory, .memory_left = length, .all = (int64_t)length};
  if (path) {
    l->all = 0;
    l->file = fopen(path, "rb");
    if (!l->file) return trouble_of_system(l, "cannot be opened");
    find_size(l);
  }
  l->raw = malloc(RAW_BYTES);
  l->text = malloc(TEXT_BYTES);
  if (!l->raw || !l->text) return trouble(l, "no memory to read it");
  if (peek(l)) return -1;
  return is_gzip(l) ? open_member(l) : 0;
}

void lines_close(lines *l)
{
  if (l->file) fclose(l->file);
  close_unpacker(l);
  free(l->raw);
  free(l->text);
}

/* More text behind what is left of it. */
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

/* Where the line ends that begins here; NULL: not in the text that is there. */
static char *find_end(const lines *l)
{
  return memchr(l->text + l->begin, '\n', l->end - l->begin);
}

/* A line that does not fit: only its beginning is left of it. */
static int skip_long(lines *l)
{
  if (l->text[l->begin] != '%') return trouble(l, "the line is too long");
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

int lines_next(lines *l, const char **begin, const char **end)
{
  static const char comment[] = "%";
  char *stop;
  while (!(stop = find_end(l)) && !l->finished && l->end - l->begin <= LINES_LONGEST)
    if (fill(l)) return -1;
  if (!stop && l->begin == l->end) return 0;
  l->number++;
  *begin = l->text + l->begin;
  *end = stop ? stop : l->text + l->end;
  if (*end - *begin > LINES_LONGEST) {
    if (skip_long(l)) return -1;
    *begin = comment;
    *end = comment + 1;
    stop = l->begin < l->end ? l->text + l->begin : NULL;
  } else if (*end > *begin && (*end)[-1] == '\r') {
    --*end;
  }
  l->begin = stop ? (size_t)(stop - l->text) + 1 : l->end;
  return 1;
}
