#define _GNU_SOURCE /* memfd_create, MAP_ANONYMOUS, MAP_NORESERVE */
#include "sparse.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static sparse map(int64_t bytes, int flags, int file)
{
  void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) return (sparse){NULL, bytes};
  return (sparse){memory, bytes};
}

/* A file longer than the limit would be a signal, not an error. */
static int may_be_long(int64_t bytes)
{
  struct rlimit most;
  return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
         (int64_t)most.rlim_cur >= bytes;
}

/* In memory if possible: on a disk every page that is touched may cost a write. */
static int open_nameless(void)
{
  const char *folder = getenv("TMPDIR");
  char name[4096];
  int file = memfd_create("grove-sparse", MFD_CLOEXEC);
  if (file >= 0) return file;
  snprintf(name, sizeof name, "%s/grove-sparse-XXXXXX", folder && *folder ? folder : "/tmp");
  file = mkstemp(name);
  if (file >= 0) unlink(name);
  return file;
}

sparse sparse_file(int64_t bytes)
{
  sparse s = {NULL, bytes};
  int file = may_be_long(bytes) ? open_nameless() : -1;
  if (file < 0) return s;
  if (ftruncate(file, (off_t)bytes) == 0) s = map(bytes, MAP_SHARED, file);
  close(file);
  return s;
}

sparse sparse_memory(int64_t bytes)
{
  return map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void sparse_free(sparse *s)
{
  if (s->memory) munmap(s->memory, (size_t)s->bytes);
  s->memory = NULL;
}

int sparse_everywhere(const sparse *s)
{
  int mine = s->memory != NULL, all = 0;
  MPI_Request request;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  polite_wait(&request);
  return all;
}
