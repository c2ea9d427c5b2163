#include "grove/model/figure.h"

#include "grove/command.h"
#include "grove/model/figures.h"
#include "grove/plot.h"

#include <string.h>

enum { PATH_BYTES = 4096 };

static int complain(const char *format, const char *what)
{
  fprintf(stderr, "grove model: ");
  fprintf(stderr, format, what);
  fprintf(stderr, "; see grove model figure --list\n");
  return EXIT_BAD_INPUT;
}

static int print_list(int json)
{
  if (json)
    printf("{\"figures\": [");
  else
    printf("%-11s %-11s %s\n", "figure", "machine", "what it shows");
  for (int i = 0; i < nfigures; i++) {
    const figure *f = &figures[i];
    if (json)
      printf("%s\n  {\"name\": \"%s\", \"machine\": \"%s\", \"about\": \"%s\"}", i > 0 ? "," : "",
             f->name, f->machine, f->about);
    else
      printf("%-11s %-11s %s\n", f->name, f->machine, f->about);
  }
  if (json) printf("\n]}\n");
  return EXIT_OK;
}

typedef struct settings {
  const char *name, *folder, *machine;
  int as_published, json;
} settings;

enum { MOST_FIGURES = 64 };

/* What was made of the figures that were asked for. */
typedef struct gallery {
  int drawn, nskipped;
  struct {
    const figure *f;
    const char *lacks;
  } skipped[MOST_FIGURES];
} gallery;

/* What the machine lacks for a figure; NULL: nothing. */
static const char *find_lack(const figure *f, const source *from)
{
  FILE *nowhere = fopen("/dev/null", "w");
  const char *lacks = nowhere ? f->write(from, &(sheet){.data = nowhere}) : NULL;
  if (nowhere) fclose(nowhere);
  return lacks;
}

/* The numbers of a figure go to STEM.dat. */
static int write_numbers(const figure *f, const source *from, const char *stem, sheet *out)
{
  out->data = plot_open(stem);
  if (!out->data) {
    fprintf(stderr, "grove model: %s.dat cannot be written\n", stem);
    return EXIT_BAD_INPUT;
  }
  f->write(from, out);
  int failed = ferror(out->data);
  if (fclose(out->data) != 0) failed = 1;
  if (failed) fprintf(stderr, "grove model: %s.dat could not be written to its end\n", stem);
  return failed ? EXIT_FAILED : EXIT_OK;
}

static void tell_files(const figure *f, const source *from, const char *stem, int drawn, int first)
{
  static const char *const endings[] = {"dat", "gp", "svg", "png"};
  char file[PATH_BYTES + 8];
  printf("%s{\"name\": \"%s\", \"machine\": ", first ? "{\"figures\": [\n  " : ",\n  ", f->name);
  print_json_text(stdout, from->m->name);
  printf(", \"files\": [");
  for (int i = 0; i < (drawn ? 4 : 2); i++) {
    snprintf(file, sizeof file, "%s.%s", stem, endings[i]);
    printf(i > 0 ? ", " : "");
    print_json_text(stdout, file);
  }
  printf("]}");
}

static int draw_from(const figure *f, const source *from, const settings *s, int first)
{
  sheet out = {0};
  char stem[PATH_BYTES], who[GROVE_TEXT_BYTES], commands[16384], made[4 * PATH_BYTES + 200];
  int drawn = 0;
  snprintf(stem, sizeof stem, "%s/figure-%s", s->folder, f->name);
  int status = write_numbers(f, from, stem, &out);
  if (status != EXIT_OK) return status;
  plot_quote(from->m->name, who, sizeof who);
  snprintf(commands, sizeof commands,
           "who = %s\nlast = %d\nleast = last + 1\ncolors = '%s'\ndashes = '%s'\n%s", who, out.last,
           out.colors, out.dashes, f->commands);
  status = plot_draw_told(stem, commands, made, sizeof made, &drawn);
  if (status != EXIT_OK) {
    fprintf(stderr, "grove model: figure %s: %s\n", f->name, made);
  } else if (s->json) {
    tell_files(f, from, stem, drawn, first);
  } else {
    printf("figure %s: %s\n", f->name, made);
    if (f->say) f->say(from);
  }
  return status;
}

/* A figure that the machine has no numbers for is refused; of all figures, it is skipped. */
static int draw_or_skip(const figure *f, const source *from, const settings *s, gallery *out)
{
  const char *lacks = find_lack(f, from);
  if (!lacks) {
    int status = draw_from(f, from, s, out->drawn == 0);
    out->drawn += status == EXIT_OK;
    return status;
  }
  int skips = strcmp(s->name, "all") == 0 && out->nskipped < MOST_FIGURES;
  fprintf(stderr, "grove model: %sthe profile %s lacks what figure %s needs: %s\n",
          skips ? "skipped: " : "", from->m->name, f->name, lacks);
  if (!skips) return EXIT_BAD_INPUT;
  out->skipped[out->nskipped].f = f;
  out->skipped[out->nskipped++].lacks = lacks;
  return EXIT_OK;
}

static int draw(const figure *f, const settings *s, gallery *out)
{
  grove_machine *m = NULL;
  int status = open_machine("model", s->machine ? s->machine : f->machine, &m);
  const source from = {m, s->as_published};
  if (status == EXIT_OK) status = draw_or_skip(f, &from, s, out);
  grove_machine_free(&m);
  return status;
}

static void tell_skipped(const gallery *g)
{
  printf("\n], \"skipped\": [");
  for (int i = 0; i < g->nskipped; i++) {
    printf("%s\n  {\"name\": \"%s\", \"lacks\": ", i > 0 ? "," : "", g->skipped[i].f->name);
    print_json_text(stdout, g->skipped[i].lacks);
    printf("}");
  }
  printf("]}\n");
}

static int refuse_figure(const char *name)
{
  fprintf(stderr, "grove model: there is no figure '%s'; there are all", name);
  for (int i = 0; i < nfigures; i++) fprintf(stderr, ", %s", figures[i].name);
  fprintf(stderr, "; see grove model figure --list\n");
  return EXIT_BAD_INPUT;
}

static int draw_all(const settings *s)
{
  gallery all = {0};
  int status = EXIT_OK, found = 0;
  for (int i = 0; i < nfigures && status == EXIT_OK; i++) {
    if (strcmp(s->name, "all") != 0 && strcmp(s->name, figures[i].name) != 0) continue;
    found = 1;
    status = draw(&figures[i], s, &all);
  }
  if (s->json && all.drawn > 0) tell_skipped(&all);
  if (status == EXIT_OK && found && all.drawn == 0)
    status = complain("no figure can be drawn of %s", s->machine);
  return found ? status : refuse_figure(s->name);
}

int model_figure(int argc, char **argv)
{
  settings s = {.folder = "."};
  const char *value = NULL;
  int list = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--list") == 0)
      list = 1;
    else if (strcmp(argv[i], "--json") == 0)
      s.json = 1;
    else if (strcmp(argv[i], "--as-published") == 0)
      s.as_published = 1;
    else if ((value = flag_value(argc, argv, &i, "-o")))
      s.folder = value;
    else if ((value = flag_value(argc, argv, &i, "--machine")))
      s.machine = value;
    else if (argv[i][0] == '-')
      return complain("'%s' is not understood: there are --list, -o, --machine, --as-published and "
                      "--json",
                      argv[i]);
    else if (s.name)
      return complain("one figure at a time, or all, not also '%s'", argv[i]);
    else
      s.name = argv[i];
  }
  if (list) return print_list(s.json);
  if (!s.name) return complain("which figure? %s", "One of the list, or all");
  if (!*s.folder) return complain("-o names no folder%s", "");
  return draw_all(&s);
}
