/* Shared memory: one process makes it, others attach, its name goes, the memory stays; more than
 * there is gets a status, not a signal; and nothing is ever left in /dev/shm. */
#define _GNU_SOURCE /* unshare */
#include "base/segment.h"
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 300000, CHILD_FAILS = 1 };

/* What this process has in /dev/shm: others have tests of their own there. */
static int left_behind(void)
{
  char prefix[32];
  int n = 0;
  snprintf(prefix, sizeof prefix, "grove-%ld-", (long)getpid());
  DIR *folder = opendir("/dev/shm");
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));)
    n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
  closedir(folder);
  return n;
}

static int has_shm(void)
{
  return access("/dev/shm", W_OK) == 0;
}

static unsigned char pattern(size_t i, int salt)
{
  return (unsigned char)(i * 31 + i / 4096 + (size_t)salt);
}

static void fill(const grove_segment *s, int salt)
{
  for (size_t i = 0; i < s->bytes; i++) ((unsigned char *)s->base)[i] = pattern(i, salt);
}

static int holds(const grove_segment *s, int salt)
{
  for (size_t i = 0; i < s->bytes; i++)
    if (((unsigned char *)s->base)[i] != pattern(i, salt)) return 0;
  return 1;
}

/* ---- children: they end by _exit and must not call MPI, so they count what went wrong ---- */

static void say(const char *condition, int line)
{
  fprintf(stderr, "segment_leaves_nothing: a child, line %d, not so: %s (last error '%s')\n", line,
          condition, grove_last_error());
}

#define CHILD_CHECK(condition)                                                                     \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      say(#condition, __LINE__);                                                                   \
      _exit(CHILD_FAILS);                                                                          \
    }                                                                                              \
  } while (0)

static int exit_status(pid_t child)
{
  int status = 0;
  CHECK(child > 0, "no child process");
  CHECK(waitpid(child, &status, 0) == child, "the child is lost");
  CHECK(WIFEXITED(status), "the child was ended by signal %d", WTERMSIG(status));
  return WEXITSTATUS(status);
}

/* One byte through a pipe: it is your turn. */
static void tell(int pipe_end)
{
  ssize_t n = write(pipe_end, "x", 1);
  (void)n;
}

static int listen_to(int pipe_end)
{
  char byte;
  return read(pipe_end, &byte, 1) == 1;
}

/* ---- sharing ---- */

static void child_shares(const char *name, const int from[2], const int to[2])
{
  grove_segment s = {0};
  CHILD_CHECK(grove_segment_attach(name, BYTES, &s) == GROVE_OK);
  CHILD_CHECK(s.base && s.bytes == BYTES);
  CHILD_CHECK(holds(&s, 1));
  fill(&s, 2);
  tell(to[1]);
  CHILD_CHECK(listen_to(from[0])); /* by now the name is gone, and the memory has changed */
  grove_segment gone = {0};
  CHILD_CHECK(grove_segment_attach(name, BYTES, &gone) == GROVE_ERR_SYSTEM);
  CHILD_CHECK(!gone.base && strstr(grove_last_error(), name));
  CHILD_CHECK(holds(&s, 3));
  fill(&s, 4);
  grove_segment_free(&s);
  CHILD_CHECK(!s.base);
  _exit(0);
}

static void shares(void)
{
  char name[GROVE_SEGMENT_NAME] = "";
  grove_segment s = {0};
  int from[2], to[2];
  CHECK(pipe(from) == 0 && pipe(to) == 0, "no pipe");
  CHECK_OK(grove_segment_create(BYTES, name, &s));
  CHECK(strncmp(name, "/grove-", 7) == 0, "the name is '%s'", name);
  CHECK(s.base && s.bytes == BYTES, "%zu bytes", s.bytes);
  CHECK(!has_shm() || left_behind() == 1, "%d names while one is in use", left_behind());
  for (size_t i = 0; i < BYTES; i++) CHECK(((char *)s.base)[i] == 0, "byte %zu is not 0", i);
  fill(&s, 1);
  pid_t child = fork();
  if (child == 0) child_shares(name, from, to);
  CHECK(listen_to(to[0]), "the child has nothing to say: its exit status is %d",
        exit_status(child));
  CHECK(holds(&s, 2), "what the child wrote is not here");
  grove_segment_unlink(name);
  CHECK(left_behind() == 0, "%d names after unlink", left_behind());
  fill(&s, 3);
  tell(from[1]);
  CHECK(exit_status(child) == 0, "the child failed");
  CHECK(holds(&s, 4), "what the child wrote after unlink is not here");
  grove_segment_unlink(name); /* again: nothing happens */
  grove_segment_free(&s);
  CHECK(!s.base && s.bytes == 0, "a freed segment is mapped");
  grove_segment_free(&s);
  for (int i = 0; i < 2; i++) close(from[i]), close(to[i]);
}

/* Names never repeat, and several segments do not mix. */
static void several(void)
{
  enum { SEGMENTS = 20 };
  char name[SEGMENTS][GROVE_SEGMENT_NAME];
  grove_segment s[SEGMENTS];
  for (int i = 0; i < SEGMENTS; i++) {
    CHECK_OK(grove_segment_create((size_t)(1 + i * 1000), name[i], &s[i]));
    for (int k = 0; k < i; k++) CHECK(strcmp(name[i], name[k]) != 0, "'%s' twice", name[i]);
    fill(&s[i], i);
  }
  for (int i = 0; i < SEGMENTS; i++) {
    CHECK(holds(&s[i], i), "segment %d has changed", i);
    grove_segment_unlink(name[i]);
    grove_segment_free(&s[i]);
  }
  CHECK(left_behind() == 0, "%d names are left", left_behind());
}

/* ---- refusals ---- */

static void wrong_attach(void)
{
  char name[GROVE_SEGMENT_NAME];
  grove_segment s, other = {0};
  CHECK_STATUS(grove_segment_attach("/grove-never-was", 10, &other), GROVE_ERR_SYSTEM);
  CHECK(strstr(grove_last_error(), "/grove-never-was"), "'%s' names nothing", grove_last_error());
  CHECK_OK(grove_segment_create(5000, name, &s));
  CHECK_STATUS(grove_segment_attach(name, 5001, &other), GROVE_ERR_SYSTEM);
  CHECK(number_in(grove_last_error(), 5000) && number_in(grove_last_error(), 5001),
        "'%s' lacks the sizes", grove_last_error());
  CHECK(!other.base && other.bytes == 0, "a failed attach has set its output");
  CHECK_OK(grove_segment_attach(name, 4999, &other));
  grove_segment_free(&other);
  grove_segment_unlink(name);
  CHECK_STATUS(grove_segment_attach(name, 5000, &other), GROVE_ERR_SYSTEM);
  grove_segment_free(&s);
}

static void refused(size_t bytes)
{
  char name[GROVE_SEGMENT_NAME] = "";
  grove_segment s = {0};
  CHECK_STATUS(grove_segment_create(bytes, name, &s), GROVE_ERR_MEMORY);
  CHECK(!s.base && s.bytes == 0, "a failed segment has set its output");
  CHECK(strlen(grove_last_error()) > 20, "'%s' is no sentence", grove_last_error());
  CHECK(left_behind() == 0, "a failed segment has left its name");
  CHECK_STATUS(grove_segment_attach(name, 1, &s), GROVE_ERR_SYSTEM);
}

/* More than /dev/shm as a whole may hold is refused at once, whatever is in use. A mount without a
 * limit is left in peace: it would take all memory of the machine. */
static void more_than_there_is(void)
{
  struct statvfs shm;
  refused(SIZE_MAX);
  if (!has_shm() || statvfs("/dev/shm", &shm) != 0 || shm.f_blocks == 0) return;
  refused((size_t)shm.f_blocks * shm.f_frsize + (1 << 20));
  refused(100 * (size_t)shm.f_blocks * shm.f_frsize);
}

/* ---- a /dev/shm of 1 MiB, in a mount namespace of the child's own ---- */

static int write_text(const char *path, const char *text)
{
  FILE *file = fopen(path, "w");
  if (!file) return 0;
  int good = fputs(text, file) >= 0;
  return fclose(file) == 0 && good;
}

/* Root of a user namespace, for those who are not root. */
static int become_root(void)
{
  char users[32], groups[32];
  snprintf(users, sizeof users, "0 %u 1", (unsigned)getuid());
  snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getgid());
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/uid_map", users) &&
         write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/gid_map", groups);
}

static int mount_small(void)
{
  if (unshare(CLONE_NEWNS) != 0 && !become_root()) return 0;
  if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0) return 0;
  return mount("none", "/dev/shm", "tmpfs", 0, "size=1m") == 0;
}

static void child_fills(void)
{
  char name[GROVE_SEGMENT_NAME], names[4][GROVE_SEGMENT_NAME];
  grove_segment s = {0}, part[4];
  int n = 0;
  if (!mount_small()) _exit(TEST_SKIPPED);
  CHILD_CHECK(left_behind() == 0);
  CHILD_CHECK(grove_segment_create(2 << 20, name, &s) == GROVE_ERR_MEMORY && !s.base);
  CHILD_CHECK(left_behind() == 0);
  /* Pieces of 300 KiB: three would fit, but half of so little is left to others; and what was
   * granted is really there. */
  grove_status status = GROVE_OK;
  for (; n < 4; n++) {
    status = grove_segment_create(300 << 10, names[n], &part[n]);
    if (status != GROVE_OK) break;
    fill(&part[n], n);
  }
  CHILD_CHECK(n == 1 && status == GROVE_ERR_MEMORY && left_behind() == 1);
  for (int i = 0; i < n; i++) {
    CHILD_CHECK(holds(&part[i], i));
    grove_segment_unlink(names[i]);
    grove_segment_free(&part[i]);
  }
  CHILD_CHECK(left_behind() == 0);
  CHILD_CHECK(grove_segment_create(400 << 10, name, &s) == GROVE_OK); /* all of it is back */
  fill(&s, 9);
  CHILD_CHECK(holds(&s, 9));
  grove_segment_unlink(name);
  grove_segment_free(&s);
  _exit(0);
}

static void small_machine(void)
{
  pid_t child = fork();
  if (child == 0) child_fills();
  int status = exit_status(child);
  CHECK(status == 0 || status == TEST_SKIPPED, "the child failed");
  if (status == TEST_SKIPPED)
    printf("base/segment_leaves_nothing: no namespace, so without a small /dev/shm\n");
}

/* ---- what others left ---- */

/* A file like a segment's, or nearly so. Open, and with a lock where its maker is alive. */
static int make_file(const char *form, unsigned number, int locked, char *path, size_t room)
{
  char name[128];
  snprintf(name, sizeof name, form, (long)getpid(), number);
  snprintf(path, room, "/dev/shm/%s", name);
  int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  CHECK(file >= 0, "no %s", path);
  CHECK(!locked || flock(file, LOCK_SH) == 0, "no lock on %s", path);
  return file;
}

/* Names that segments have, of this user, and of nobody who lives. */
static void sweeps(void)
{
  enum { STALE, ALIVE, ANOTHERS, STRANGE, LONGER, FILES };
  char path[FILES][160];
  int file[FILES], root = geteuid() == 0;
  if (!has_shm()) return;
  for (unsigned i = 0; i < FILES; i++) {
    const char *form = i == STRANGE ? "grove-%ld-later-%u" : "grove-%ld-1f-%u";
    file[i] = make_file(i == LONGER ? "grove-%ld-1f-%ux" : form, 900000 + i, i == ALIVE, path[i],
                        sizeof path[i]);
  }
  if (root) CHECK(fchown(file[ANOTHERS], 12345, 12345) == 0, "the file cannot be given away");
  grove_segment_sweep();
  for (int i = 0; i < FILES; i++) {
    int gone = i == STALE || (i == ANOTHERS && !root);
    CHECK((access(path[i], F_OK) != 0) == gone, "%s is %s", path[i], gone ? "there" : "gone");
    close(file[i]);
    unlink(path[i]);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/segment_leaves_nothing");
  shares();
  several();
  wrong_attach();
  more_than_there_is();
  small_machine();
  sweeps();
  CHECK(left_behind() == 0, "%d names are left", left_behind());
  return test_end();
}
