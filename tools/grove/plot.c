#include "grove/plot.h"

#include "grove/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_GNUPLOT = 127 };

/* One gnuplot call runs it twice: for the SVG, then for the PNG. Preceded by: name = '...' */
static const char prologue[] =
  "data = name . '.dat'\n"
  "if (!exists('kind')) kind = 'svg'\n"
  "reset\n"
  "if (kind eq 'svg') set terminal svg size 1200,800 font 'sans,14' background 'white'\n"
  "if (kind eq 'png') set terminal png size 1200,800\n"
  "if (kind eq 'png' && strstrt(GPVAL_TERMINALS, 'pngcairo')) \\\n"
  "  set terminal pngcairo size 1200,800 font 'sans,12'\n"
  "set output name . '.' . kind\n"
  "set grid\n"
  "set key top left\n"
  "set datafile missing '-'\n"
  "\n";

static const char epilogue[] = "\n"
                               "set output\n"
                               "if (kind eq 'svg') kind = 'png'; load name . '.gp'\n";

static const char *base_name(const char *stem)
{
  const char *slash = strrchr(stem, '/');
  return slash ? slash + 1 : stem;
}

static FILE *open_beside(const char *stem, const char *ending)
{
  size_t room = strlen(stem) + strlen(ending) + 1;
  char *name = malloc(room);
  if (!name) return NULL;
  snprintf(name, room, "%s%s", stem, ending);
  FILE *file = fopen(name, "w");
  free(name);
  return file;
}

FILE *plot_open(const char *stem)
{
  make_folders(stem);
  return open_beside(stem, ".dat");
}

/* In single quotes gnuplot interprets only the closing quote; a line must not end there. */
void plot_quote(const char *text, char *out, size_t room)
{
  size_t used = 0;
  out[used++] = '\'';
  for (; *text && used + 3 < room; text++) {
    if (*text == '\'') out[used++] = '\'';
    out[used++] = (char)((unsigned char)*text < 0x20 || *text == 127 ? ' ' : *text);
  }
  out[used++] = '\'';
  out[used] = '\0';
}

static int write_script(const char *stem, const char *commands)
{
  FILE *file = open_beside(stem, ".gp");
  if (!file) return 1;
  char name[1024], quoted[1200];
  snprintf(name, sizeof name, "./%s", base_name(stem)); /* nothing that could begin with | or < */
  plot_quote(name, quoted, sizeof quoted);
  fputs("# Draws an SVG and a PNG of the numbers in the .dat beside it: gnuplot FILE\n", file);
  fprintf(file, "name = %s\n", quoted);
  fputs(prologue, file);
  fputs(commands, file);
  fputs(epilogue, file);
  int failed = ferror(file);
  return fclose(file) != 0 || failed;
}

/* In the child: runs gnuplot in the folder of the script, without asking questions. */
static void become_gnuplot(const char *stem)
{
  const char *name = base_name(stem);
  char *folder = strdup(stem), script[1024];
  int nothing = open("/dev/null", O_RDONLY);
  snprintf(script, sizeof script, "%s.gp", name);
  if (!folder || nothing < 0 || dup2(nothing, 0) < 0) _exit(1);
  folder[name - stem] = '\0';
  if (*folder && chdir(folder) != 0) _exit(1);
  char *const words[] = {"gnuplot", script, NULL};
  execvp(words[0], words);
  _exit(errno == ENOENT || errno == EACCES || errno == ENOTDIR ? NO_GNUPLOT : 1);
}

/* gnuplot's exit status; NO_GNUPLOT where there is none. */
static int run_gnuplot(const char *stem)
{
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) become_gnuplot(stem);
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int plot_draw(const char *stem, const char *commands, char *made, size_t room)
{
  int drawn = 0;
  return plot_draw_told(stem, commands, made, room, &drawn);
}

int plot_draw_told(const char *stem, const char *commands, char *made, size_t room, int *drawn)
{
  *drawn = 0;
  make_folders(stem);
  if (write_script(stem, commands)) {
    snprintf(made, room, "%s.gp cannot be written: %s", stem, strerror(errno));
    return EXIT_FAILED;
  }
  int status = run_gnuplot(stem);
  *drawn = status == 0;
  if (status == NO_GNUPLOT)
    snprintf(made, room,
             "%s.dat and %s.gp are there; gnuplot, which would draw them, is not on PATH", stem,
             stem);
  else if (status)
    snprintf(made, room, "gnuplot could not draw %s.gp; its words are above", stem);
  else
    snprintf(made, room, "%s.svg and %s.png, from %s.dat by %s.gp", stem, stem, stem, stem);
  return status == 0 || status == NO_GNUPLOT ? EXIT_OK : EXIT_FAILED;
}
