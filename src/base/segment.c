#include "base/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The process id makes the name traceable, the clock makes it unique beyond one container. */
static void fresh_name(char name[GROVE_SEGMENT_NAME])
{
  static unsigned serial;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(name, GROVE_SEGMENT_NAME, "/grove-%ld-%llx-%u", (long)getpid(),
           (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec,
           serial++);
}

static grove_status map(int file, size_t bytes, grove_segment *out)
{
  grove_status status = GROVE_OK;
  void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  GROVE_CHECK(base != MAP_FAILED, GROVE_ERR_MEMORY, "cannot map %zu bytes of shared memory: %s",
              bytes, strerror(errno));
  *out = (grove_segment){base, bytes};
fail:
  return status;
}

grove_status grove_segment_create(size_t bytes, char name[GROVE_SEGMENT_NAME], grove_segment *out)
{
  grove_status status = GROVE_OK;
  fresh_name(name);
  int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  GROVE_CHECK(file >= 0, GROVE_ERR_SYSTEM, "cannot create the shared memory %s: %s", name,
              strerror(errno));
  int reserved = 0;
  do reserved = posix_fallocate(file, 0, (off_t)bytes);
  while (reserved == EINTR);
  GROVE_CHECK(reserved == 0, GROVE_ERR_MEMORY, "cannot reserve %zu bytes of shared memory: %s",
              bytes, strerror(reserved));
  GROVE_TRY(map(file, bytes, out));
  close(file);
  return GROVE_OK;
fail:
  if (file >= 0) {
    close(file);
    shm_unlink(name);
  }
  return status;
}

grove_status grove_segment_attach(const char *name, size_t bytes, grove_segment *out)
{
  grove_status status = GROVE_OK;
  struct stat about = {0};
  int file = shm_open(name, O_RDWR, 0600);
  GROVE_CHECK(file >= 0, GROVE_ERR_SYSTEM, "cannot open the shared memory %s: %s", name,
              strerror(errno));
  GROVE_CHECK(fstat(file, &about) == 0 && (size_t)about.st_size >= bytes, GROVE_ERR_SYSTEM,
              "the shared memory %s has %lld bytes, not %zu", name, (long long)about.st_size,
              bytes);
  GROVE_TRY(map(file, bytes, out));
fail:
  if (file >= 0) close(file);
  return status;
}

void grove_segment_unlink(const char *name)
{
  shm_unlink(name);
}

void grove_segment_free(grove_segment *segment)
{
  if (segment->base) munmap(segment->base, segment->bytes);
  *segment = (grove_segment){0};
}
