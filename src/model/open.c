/* Machines by name and by file. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "model/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 4 << 20, READ_BYTES = 16384 }; /* a profile has some kilobytes */

/* ---- reading ---- */

static const grove_builtin *find_builtin(const char *name)
{
  for (const grove_builtin *b = grove_builtins; b->name; b++)
    if (strcmp(b->name, name) == 0) return b;
  return NULL;
}

/* "bluewaters, lassen, ..." */
static void list_builtins(char *out, size_t room)
{
  size_t used = 0;
  out[0] = '\0';
  for (const grove_builtin *b = grove_builtins; b->name; b++) {
    int n = snprintf(out + used, room - used, "%s%s", used > 0 ? ", " : "", b->name);
    if (n < 0 || used + (size_t)n >= room) return;
    used += (size_t)n;
  }
}

/* Reads all of it, even from files without a known size, such as pipes. */
static grove_status read_file(FILE *file, const char *path, char **text, size_t *length)
{
  grove_status status = GROVE_OK;
  char *all = NULL;
  size_t used = 0, n = 0;
  do {
    GROVE_GROW(all, used, READ_BYTES);
    n = fread(all + used, 1, READ_BYTES, file);
    used += n;
    GROVE_CHECK(used <= MOST_BYTES, GROVE_ERR_ARG, "%.300s has more than %d bytes: no profile has",
                path, MOST_BYTES);
  } while (n > 0);
  GROVE_CHECK(!ferror(file), GROVE_ERR_SYSTEM, "%.300s cannot be read: %s", path, strerror(errno));
  *text = all;
  *length = used;
  return GROVE_OK;
fail:
  free(all);
  return status;
}

static grove_status text_of_file(const char *path, char **text, size_t *length)
{
  grove_status status = GROVE_OK;
  char names[400];
  FILE *file = fopen(path, "r");
  if (!file && errno == ENOENT && !strchr(path, '/')) {
    list_builtins(names, sizeof names);
    GROVE_CHECK(0, GROVE_ERR_ARG,
                "there is no machine '%.100s', and no file of that name; there are %s", path,
                names);
  }
  GROVE_CHECK(file, GROVE_ERR_SYSTEM, "%.300s cannot be opened: %s", path, strerror(errno));
  GROVE_TRY(read_file(file, path, text, length));
fail:
  if (file) fclose(file);
  return status;
}

static grove_status text_of_builtin(const grove_builtin *b, char **text, size_t *length)
{
  *length = strlen(b->text);
  GROVE_PASS_ROOM(*text, *length);
  memcpy(*text, b->text, *length);
  return GROVE_OK;
}

grove_status grove_machine_text(const char *name_or_path, char **text, size_t *length)
{
  const grove_builtin *b = strchr(name_or_path, '/') ? NULL : find_builtin(name_or_path);
  return b ? text_of_builtin(b, text, length) : text_of_file(name_or_path, text, length);
}

grove_status grove_machine_open(const char *name_or_path, grove_machine **out)
{
  grove_status status = GROVE_OK;
  char *text = NULL;
  size_t length = 0;
  GROVE_CHECK(name_or_path && *name_or_path && out, GROVE_ERR_ARG,
              "grove_machine_open needs a name or a path, and a place for the result");
  GROVE_TRY(grove_machine_text(name_or_path, &text, &length));
  GROVE_TRY(grove_profile_read(text, length, name_or_path, out));
fail:
  free(text);
  return grove_verdict_alone(status);
}

/* ---- writing ---- */

/* A new file beside `path`, with an unused name. */
static int make_beside(const char *path, char *name, size_t room)
{
  for (int i = 0; i < 100; i++) {
    snprintf(name, room, "%s.%ld-%d.new", path, (long)getpid(), i);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* Writes all to `file`, flushes it to disk, and closes it. */
static grove_status print_and_close(const grove_machine *m, FILE *file, int to_disk)
{
  grove_status status = grove_profile_print(m, file);
  int failed = status == GROVE_OK && to_disk && fsync(fileno(file)) != 0;
  if (fclose(file) != 0) failed = 1;
  if (status == GROVE_OK && failed)
    status = grove_error(GROVE_ERR_SYSTEM, __FILE__, __LINE__,
                         "machine '%.100s' could not be written: %s", m->name, strerror(errno));
  return status;
}

/* A terminal or a pipe cannot be replaced, only written to. */
static grove_status write_into(const grove_machine *m, const char *path)
{
  FILE *file = fopen(path, "w");
  GROVE_PASS_CHECK(file, GROVE_ERR_SYSTEM, "%.300s cannot be written: %s", path, strerror(errno));
  return print_and_close(m, file, 0);
}

/* A reader finds the old file or the new one, never half of one. */
static grove_status replace_file(const grove_machine *m, const char *path, const struct stat *old)
{
  grove_status status = GROVE_OK;
  FILE *file = NULL;
  char *name = NULL;
  size_t room = strlen(path) + 64;
  int fd = -1;
  GROVE_NEW(name, room);
  fd = make_beside(path, name, room);
  GROVE_CHECK(fd >= 0, GROVE_ERR_SYSTEM, "%.300s cannot be written: %s", path, strerror(errno));
  if (old) fchmod(fd, old->st_mode & 07777); /* if that fails, the mode is that of a new file */
  file = fdopen(fd, "w");
  GROVE_CHECK(file, GROVE_ERR_SYSTEM, "%.300s cannot be written: %s", path, strerror(errno));
  fd = -1;
  GROVE_TRY(print_and_close(m, file, 1));
  GROVE_CHECK(rename(name, path) == 0, GROVE_ERR_SYSTEM, "%.300s cannot be written: %s", path,
              strerror(errno));
  free(name);
  return GROVE_OK;
fail:
  if (fd >= 0) close(fd);
  if (name && *name) unlink(name);
  free(name);
  return status;
}

grove_status grove_machine_write(const grove_machine *m, const char *path)
{
  grove_status status = GROVE_OK;
  struct stat old;
  char *real = NULL;
  GROVE_CHECK(m && path && *path, GROVE_ERR_ARG, "grove_machine_write needs a machine and a path");
  if (stat(path, &old) != 0) {
    status = replace_file(m, path, NULL);
  } else if (!S_ISREG(old.st_mode)) {
    status = write_into(m, path);
  } else {
    real = realpath(path, NULL); /* a link stays, and leads to the new file */
    GROVE_CHECK(real, GROVE_ERR_SYSTEM, "%.300s cannot be written: %s", path, strerror(errno));
    status = replace_file(m, real, &old);
  }
fail:
  free(real);
  return grove_verdict_alone(status);
}
