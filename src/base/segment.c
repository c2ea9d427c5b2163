#define _GNU_SOURCE /* fallocate */
#include "base/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* File descriptors left to the program and its MPI. */
enum { SPARE_FILES = 128 };

/* The process id makes the name traceable; the clock makes it unique beyond one container. */
static void fresh_name(char name[GROVE_SEGMENT_NAME])
{
  static unsigned serial; /* atomic */
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(name, GROVE_SEGMENT_NAME, "/grove-%ld-%llx-%u", (long)getpid(),
           (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec,
           __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED));
}

/* Every context keeps a file open. With very many, no shared memory is better than no files. */
static grove_status check_spare(int file)
{
  struct rlimit limit;
  GROVE_PASS_CHECK(getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
                     (rlim_t)file + SPARE_FILES < limit.rlim_cur,
                   GROVE_ERR_SYSTEM, "file %d is open: too close to the limit of %llu", file,
                   (unsigned long long)limit.rlim_cur);
  return GROVE_OK;
}

/* A new file, locked as long as it is open here. If a sweeping process removes the name in between,
 * another name is tried. */
static grove_status make_file(char name[GROVE_SEGMENT_NAME], int *out)
{
  grove_status status = GROVE_OK;
  struct stat about;
  for (int tries = 0; tries < 10; tries++) {
    fresh_name(name);
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    GROVE_CHECK(file >= 0, GROVE_ERR_SYSTEM, "cannot create the shared memory %s: %s", name,
                strerror(errno));
    *out = file;
    if (flock(file, LOCK_SH | LOCK_NB) == 0 && fstat(file, &about) == 0 && about.st_nlink > 0)
      return GROVE_OK;
    close(file);
    shm_unlink(name);
  }
  status =
    grove_error(GROVE_ERR_SYSTEM, __FILE__, __LINE__, "cannot lock the shared memory %s", name);
fail:
  *out = -1;
  return status;
}

grove_status grove_segment_create(size_t bytes, char name[GROVE_SEGMENT_NAME], grove_segment *out)
{
  grove_status status = GROVE_OK;
  grove_segment s = {.bytes = bytes, .file = -1};
  GROVE_TRY(make_file(name, &s.file));
  GROVE_TRY(check_spare(s.file));
  GROVE_TRY(grove_segment_reserve(&s, 0, (int64_t)bytes));
  GROVE_TRY(grove_segment_map(&s, 0, (int64_t)bytes, &s.base));
  *out = s;
  return GROVE_OK;
fail:
  if (s.file >= 0) {
    close(s.file);
    shm_unlink(name);
  }
  return status;
}

grove_status grove_segment_attach(const char *name, size_t bytes, grove_segment *out)
{
  grove_status status = GROVE_OK;
  struct stat about = {0};
  grove_segment s = {.bytes = bytes, .file = shm_open(name, O_RDWR, 0600)};
  GROVE_CHECK(s.file >= 0, GROVE_ERR_SYSTEM, "cannot open the shared memory %s: %s", name,
              strerror(errno));
  GROVE_TRY(check_spare(s.file));
  GROVE_CHECK(fstat(s.file, &about) == 0 && (size_t)about.st_size >= bytes, GROVE_ERR_SYSTEM,
              "the shared memory %s has %lld bytes, not %zu", name, (long long)about.st_size,
              bytes);
  GROVE_TRY(grove_segment_map(&s, 0, (int64_t)bytes, &s.base));
  *out = s;
  return GROVE_OK;
fail:
  if (s.file >= 0) close(s.file);
  return status;
}

void grove_segment_unlink(const char *name)
{
  shm_unlink(name);
}

void grove_segment_free(grove_segment *segment)
{
  if (segment->base) {
    munmap(segment->base, segment->bytes);
    close(segment->file);
  }
  *segment = (grove_segment){0};
}

/* ---- regions ---- */

int64_t grove_segment_page(void)
{
  return sysconf(_SC_PAGESIZE);
}

/* MPI has files there too, and touches space that it has not reserved. So part of the space stays
 * free for it: half if there is little, a quarter if there is much. */
int64_t grove_segment_left(const grove_segment *segment)
{
  const int64_t little = (int64_t)1 << 25;
  struct statvfs about;
  if (fstatvfs(segment->file, &about) != 0 || about.f_blocks == 0) return INT64_MAX;
  int64_t all = (int64_t)(about.f_blocks * about.f_frsize);
  int64_t left = (int64_t)(about.f_bavail * about.f_frsize);
  int64_t spare = all / 4 > little ? all / 4 : all / 2 < little ? all / 2 : little;
  return left > spare ? left - spare : 0;
}

static grove_status check_space(const grove_segment *segment, int64_t bytes)
{
  int64_t left = grove_segment_left(segment);
  GROVE_PASS_CHECK(bytes <= left, GROVE_ERR_MEMORY,
                   "%lld bytes of shared memory are left; %lld more would be too much",
                   (long long)left, (long long)bytes);
  return GROVE_OK;
}

/* Beyond this limit the kernel sends a signal. */
static grove_status check_limit(int64_t end)
{
  struct rlimit limit;
  GROVE_PASS_CHECK(getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
                     (rlim_t)end <= limit.rlim_cur,
                   GROVE_ERR_MEMORY, "files may have at most %llu bytes",
                   (unsigned long long)limit.rlim_cur);
  return GROVE_OK;
}

grove_status grove_segment_reserve(const grove_segment *segment, int64_t offset, int64_t bytes)
{
  int outcome = 0;
  GROVE_PASS(check_limit(offset + bytes));
  GROVE_PASS(check_space(segment, bytes));
  do outcome = posix_fallocate(segment->file, (off_t)offset, (off_t)bytes);
  while (outcome == EINTR);
  GROVE_PASS_CHECK(outcome == 0, GROVE_ERR_MEMORY, "cannot reserve %lld bytes of shared memory: %s",
                   (long long)bytes, strerror(outcome));
  return GROVE_OK;
}

void grove_segment_return(const grove_segment *segment, int64_t offset, int64_t bytes)
{
#ifdef FALLOC_FL_PUNCH_HOLE
  (void)!fallocate(segment->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                   (off_t)bytes);
#endif
}

grove_status grove_segment_map(const grove_segment *segment, int64_t offset, int64_t bytes,
                               void **out)
{
  void *memory =
    mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->file, (off_t)offset);
  GROVE_PASS_CHECK(memory != MAP_FAILED, GROVE_ERR_MEMORY,
                   "cannot map %lld bytes of shared memory: %s", (long long)bytes, strerror(errno));
  *out = memory;
  return GROVE_OK;
}

void grove_segment_unmap(void *memory, int64_t bytes)
{
  munmap(memory, (size_t)bytes);
}

/* ---- what others left ---- */

/* Was this name made by fresh_name? */
static int is_ours(const char *name)
{
  long process;
  unsigned long long time;
  unsigned serial;
  int end = 0;
  return sscanf(name, "/grove-%ld-%llx-%u%n", &process, &time, &serial, &end) == 3 &&
         name[end] == '\0';
}

/* Removes the name if nobody holds a lock on it: then its maker is gone. */
static void remove_if_stale(const char *name)
{
  struct stat about;
  int file = shm_open(name, O_RDWR, 0600);
  if (file < 0) return;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
      flock(file, LOCK_EX | LOCK_NB) == 0)
    shm_unlink(name); /* while we hold the lock */
  close(file);
}

void grove_segment_sweep(void)
{
  DIR *folder = opendir("/dev/shm"); /* where Linux keeps them; other systems show nothing */
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char name[GROVE_SEGMENT_NAME];
    int length = snprintf(name, sizeof name, "/%s", entry->d_name);
    if (length < (int)sizeof name && is_ours(name)) remove_if_stale(name);
  }
  closedir(folder);
}
