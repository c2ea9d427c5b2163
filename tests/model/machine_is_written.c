/* Machines by file: written whole or not at all, and opened again. */
#define _XOPEN_SOURCE 700
#include "check.h"
#include "model/machine.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/grove-machine-XXXXXX";
static char path[100], link_path[100];

static int entries(void)
{
  int n = 0;
  DIR *d = opendir(folder);
  CHECK(d, "no folder");
  for (struct dirent *e = readdir(d); e; e = readdir(d)) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static void check_holds(const char *file, const char *name)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_open(file, &m));
  CHECK(strcmp(m->name, name) == 0, "%s holds %s, not %s", file, m->name, name);
  grove_machine_free(&m);
}

static void replaces(void)
{
  grove_machine *a = NULL, *b = NULL;
  struct stat info;
  CHECK_OK(grove_machine_open("lassen", &a));
  CHECK_OK(grove_machine_open("tukey", &b));
  CHECK_OK(grove_machine_write(a, path));
  check_holds(path, "lassen");
  CHECK(chmod(path, 0640) == 0 && symlink(path, link_path) == 0, "no link");
  CHECK_OK(grove_machine_write(b, link_path));
  check_holds(path, "tukey");
  CHECK(lstat(link_path, &info) == 0 && S_ISLNK(info.st_mode), "the link has gone");
  CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640, "another mode");
  CHECK(entries() == 2, "%d files", entries());
  CHECK_OK(grove_machine_write(a, "/dev/null"));
  CHECK(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode), "/dev/null was replaced");

  /* What cannot be read back is not written, and the old file stays. */
  free(a->name);
  a->name = strdup("two\nlines");
  CHECK_STATUS(grove_machine_write(a, path), GROVE_ERR_ARG);
  check_holds(path, "tukey");
  CHECK(entries() == 2, "%d files", entries());
  grove_machine_free(&a);
  grove_machine_free(&b);
}

static void refuses(void)
{
  char elsewhere[120];
  grove_machine *m = NULL, *none = NULL;
  CHECK_OK(grove_machine_open("lassen", &m));
  snprintf(elsewhere, sizeof elsewhere, "%s/no/such/file", folder);
  CHECK_STATUS(grove_machine_write(m, elsewhere), GROVE_ERR_SYSTEM);
  CHECK(strstr(grove_last_error(), elsewhere), "'%s'", grove_last_error());
  CHECK_STATUS(grove_machine_write(m, folder), GROVE_ERR_SYSTEM);
  CHECK_STATUS(grove_machine_write(NULL, path), GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_write(m, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_open(elsewhere, &none), GROVE_ERR_SYSTEM);
  CHECK(strstr(grove_last_error(), elsewhere), "'%s'", grove_last_error());
  CHECK_STATUS(grove_machine_open(folder, &none), GROVE_ERR_SYSTEM);
  CHECK_STATUS(grove_machine_open("lasen", &none), GROVE_ERR_ARG);
  CHECK(strstr(grove_last_error(), "'lasen'") && strstr(grove_last_error(), "lassen, "), "'%s'",
        grove_last_error());
  CHECK_STATUS(grove_machine_open("/dev/zero", &none), GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_open("", &none), GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_open(NULL, &none), GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_open("lassen", NULL), GROVE_ERR_ARG);
  CHECK(!none, "an output was set");
  grove_machine_free(&m);
}

/* A name of the library's own comes first; a path is a path. */
static void prefers_names(void)
{
  grove_machine *m = NULL;
  CHECK(chdir(folder) == 0, "no folder");
  CHECK_OK(grove_machine_open("tukey", &m));
  CHECK_OK(grove_machine_write(m, "lassen"));
  CHECK_OK(grove_machine_write(m, "ours"));
  grove_machine_free(&m);
  check_holds("lassen", "lassen");
  check_holds("./lassen", "tukey");
  check_holds("ours", "tukey");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/machine_is_written");
  CHECK(mkdtemp(folder), "no folder of its own");
  snprintf(path, sizeof path, "%s/a.machine", folder);
  snprintf(link_path, sizeof link_path, "%s/link.machine", folder);
  replaces();
  refuses();
  prefers_names();
  static const char *const left[] = {"a.machine", "link.machine", "lassen", "ours"};
  for (int i = 0; i < 4; i++) unlink(left[i]);
  CHECK(rmdir(folder) == 0, "something was left in %s", folder);
  return test_end();
}
