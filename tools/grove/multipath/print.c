/* What grove multipath prints and draws. */
#include "grove/multipath/multipath.h"

#include "grove/command.h"
#include "grove/plot.h"

#include <math.h>
#include <string.h>

/* ---- JSON ---- */

/* , "name": value */
static void number(const char *name, double value)
{
  printf(", \"%s\": ", name);
  print_json_number(value);
}

static void print_path(const multipath_answer *a, int copy, int i)
{
  const grove_path *p = &a->set.copy[copy].path[i];
  const grove_path_load *load = &a->split[copy].load[i];
  int staged = p->kind != GROVE_PATH_DIRECT, used = load->share > 0;
  char thing[64];
  int limit = used ? load->limited_by : a->set.copy[copy].useless[i];
  printf("{\"kind\": \"%s\", \"via\": ", grove_path_kind_names[p->kind]);
  print_json_number(p->via >= 0 ? p->via : NAN);
  number("alpha", p->alpha);
  number("beta", used ? load->beta : p->beta);
  number("epsilon", staged ? p->epsilon : NAN);
  number("alpha2", staged ? p->alpha2 : NAN);
  number("beta2", !staged ? NAN : used ? load->beta2 : p->beta2);
  number("phi", staged && used ? load->phi : NAN);
  number("omega", used ? load->omega : NAN);
  number("delta", used ? load->delta : NAN);
  number("share", load->share);
  printf(", \"bytes\": %lld, \"chunks\": %lld", (long long)load->bytes, (long long)load->chunks);
  number("seconds", load->seconds);
  printf(", \"limited_by\": ");
  if (limit >= 0) {
    grove_resource_name(&a->set, limit, thing, sizeof thing);
    print_json_text(stdout, thing);
  } else {
    printf("null");
  }
  printf("}");
}

static void print_paths(const multipath_answer *a, int copy)
{
  for (int i = 0; i < a->set.copy[copy].npaths; i++) {
    printf(i > 0 ? ",\n  " : "\n  ");
    print_path(a, copy, i);
  }
}

void multipath_print_json(const multipath_settings *s, const multipath_answer *a)
{
  printf("{\"machine\": ");
  print_json_text(stdout, a->set.m->name);
  printf(", \"from\": %d, \"to\": %d, \"bytes\": %.0f, \"solver\": \"%s\"", s->from, s->to,
         a->bytes, grove_solver_names[s->solver]);
  number("seconds", a->split[0].seconds);
  number("single_path_seconds", a->single);
  number("gain", a->gain);
  printf(",\n \"both\": %s", s->both ? "true" : "false");
  number("bound", a->bound);
  number("checked_seconds", a->split[0].checked);
  printf(", \"says\": ");
  print_json_text(stdout, a->says);
  printf(",\n \"paths\": [");
  print_paths(a, 0);
  printf("]");
  if (a->set.count > 1) printf(",\n \"others\": [");
  for (int c = 1; c < a->set.count; c++) {
    printf("%s\n {\"from\": %d, \"to\": %d", c > 1 ? "," : "", a->set.copy[c].from,
           a->set.copy[c].to);
    number("seconds", a->split[c].seconds);
    printf(", \"paths\": [");
    print_paths(a, c);
    printf("]}");
  }
  if (a->set.count > 1) printf("]");
  printf("}");
}

/* ---- for people ---- */

static void print_us(double seconds, int there)
{
  if (there)
    printf(" %9.2f", 1e6 * seconds);
  else
    printf(" %9s", "-");
}

static void print_rate(double rate, int there)
{
  if (there)
    printf(" %7.1f", 1e-9 * rate);
  else
    printf(" %7s", "-");
}

static void print_copy(const multipath_answer *a, int copy)
{
  const grove_copy_paths *c = &a->set.copy[copy];
  char name[16], bytes[32];
  printf("%-8s %9s %7s %9s %9s %7s %8s %14s %7s %9s\n", "path", "alpha us", "GB/s", "epsilon",
         "alpha2", "GB/s", "share %", "bytes", "chunks", "ends us");
  for (int i = 0; i < c->npaths; i++) {
    const grove_path *p = &c->path[i];
    const grove_path_load *load = &a->split[copy].load[i];
    int staged = p->kind != GROVE_PATH_DIRECT, used = load->share > 0;
    printf("%-8s", multipath_path_name(p, name));
    print_us(p->alpha, 1);
    print_rate(used ? load->beta : p->beta, 1);
    print_us(p->epsilon, staged);
    print_us(p->alpha2, staged);
    print_rate(used ? load->beta2 : p->beta2, staged);
    snprintf(bytes, sizeof bytes, "%lld", (long long)load->bytes);
    printf(" %8.3f %14s %7lld", 100 * load->share, bytes, (long long)load->chunks);
    print_us(load->seconds, used);
    printf("\n");
  }
}

void multipath_print_table(const multipath_settings *s, const multipath_answer *a)
{
  char bytes[32];
  const char *single =
    a->set.copy[0].path[0].kind == GROVE_PATH_DIRECT ? "the direct path" : "the best path";
  show_bytes(a->bytes, bytes);
  for (int c = 0; c < a->set.count; c++) {
    printf("%s%s: %s from GPU %d to GPU %d, %s%s\n\n", c > 0 ? "\n" : "", a->set.m->name, bytes,
           a->set.copy[c].from, a->set.copy[c].to, grove_solver_names[s->solver],
           a->set.count > 1 ? ", at the same time" : "");
    print_copy(a, c);
  }
  printf("\n%.2f us in all, %.1f GB/s; %s alone %.2f us: a gain of %.3f (the rates: %.3f).\n",
         1e6 * a->split[0].seconds, 1e-9 * a->bytes / a->split[0].seconds, single, 1e6 * a->single,
         a->gain, a->bound);
  if (a->split[0].checked > a->split[0].seconds * 1.001)
    printf("With whole chunks and all that is shared this split takes %.2f us.\n",
           1e6 * a->split[0].checked);
  printf("%s\n", a->says);
}

void multipath_print_sweep(const multipath_settings *s, const multipath_answer *a, int first)
{
  const grove_copy_paths *c = &a->set.copy[0];
  char name[16], bytes[32];
  if (first) {
    printf("%s: from GPU %d to GPU %d, %s%s; shares in %%\n\n", a->set.m->name, c->from, c->to,
           grove_solver_names[s->solver], a->set.count > 1 ? ", with others at the same time" : "");
    printf("%10s %11s %8s %7s", "bytes", "us", "GB/s", "gain");
    for (int i = 0; i < c->npaths; i++) printf(" %8s", multipath_path_name(&c->path[i], name));
    printf("\n");
  }
  printf("%10s %11.2f %8.1f %7.3f", show_bytes(a->bytes, bytes), 1e6 * a->split[0].seconds,
         1e-9 * a->bytes / a->split[0].seconds, a->gain);
  for (int i = 0; i < c->npaths; i++) printf(" %8.3f", 100 * a->split[0].load[i].share);
  printf("\n");
}

/* ---- pictures ---- */

static const char bars[] =
  "set style fill solid 0.6 border -1\n"
  "set yrange [-0.6:last - 0.4] reverse\n"
  "set xrange [0:*]\n"
  "set title who noenhanced\n"
  "set xlabel 'microseconds; a bar begins when its path is launched'\n"
  "unset key\n"
  "plot data using 3:0:3:4:($0 - 0.35):($0 + 0.35):ytic(1) with boxxyerror lc 'steelblue', \\\n"
  "  data using 3:0:(sprintf(' %.1f %%, %d chunks', $2, $5)) with labels left\n";

static const char lines[] =
  "set logscale x 2\n"
  "set format x '2^{%L}'\n"
  "set title who noenhanced\n"
  "set xlabel 'bytes'\n"
  "set ylabel 'share of the bytes'\n"
  "set y2label 'times as fast as on one path'\n"
  "set yrange [0:1]\n"
  "set y2range [0:*]\n"
  "set ytics nomirror\n"
  "set y2tics\n"
  "set key outside right\n"
  "plot for [i=3:last] data using 1:i with linespoints lw 2 title columnheader(i), \\\n"
  "  data using 1:2 axes x1y2 with lines lw 3 lc 'black' title 'gain'\n";

/* The paths in the order of their table. */
static int write_bars(FILE *data, const multipath_answer *a)
{
  char name[16];
  int n = 0;
  for (int i = 0; i < a->split[0].npaths; i++) {
    const grove_path_load *load = &a->split[0].load[i];
    if (!(load->share > 0)) continue;
    fprintf(data, "%s %.6g %.6g %.6g %lld\n", multipath_path_name(&a->set.copy[0].path[i], name),
            100 * load->share, 1e6 * load->launch, 1e6 * load->seconds, (long long)load->chunks);
    n++;
  }
  return n;
}

static int write_lines(FILE *data, const multipath_settings *s, const grove_machine *m,
                       multipath_answer *a)
{
  char name[16];
  for (int k = 0; multipath_size(s, k) > 0; k++) {
    if (multipath_solve(s, m, multipath_size(s, k), a) != EXIT_OK) return 0;
    const grove_copy_paths *c = &a->set.copy[0];
    if (k == 0) {
      fprintf(data, "bytes gain");
      for (int i = 0; i < c->npaths; i++)
        fprintf(data, " %s", multipath_path_name(&c->path[i], name));
      fprintf(data, "\n");
    }
    fprintf(data, "%.0f %.6g", a->bytes, a->gain);
    for (int i = 0; i < c->npaths; i++) fprintf(data, " %.6g", a->split[0].load[i].share);
    fprintf(data, "\n");
  }
  return 2 + a->set.copy[0].npaths;
}

int multipath_draw(const multipath_settings *s, const grove_machine *m, multipath_answer *a)
{
  char title[GROVE_TEXT_BYTES], who[GROVE_TEXT_BYTES + 8], made[16384];
  char commands[sizeof who + sizeof lines + sizeof bars + 64];
  FILE *data = plot_open(s->picture);
  if (!data) {
    fprintf(stderr, "grove multipath: %s.dat cannot be written\n", s->picture);
    return EXIT_BAD_INPUT;
  }
  int last = s->sweep ? write_lines(data, s, m, a) : write_bars(data, a);
  int failed = ferror(data);
  if (fclose(data) != 0 || failed) {
    fprintf(stderr, "grove multipath: %s.dat could not be written to its end\n", s->picture);
    return EXIT_FAILED;
  }
  snprintf(title, sizeof title, "%.200s: from GPU %d to GPU %d, %s%s", m->name, s->from, s->to,
           grove_solver_names[s->solver], s->both ? ", both ways at once" : "");
  plot_quote(title, who, sizeof who);
  snprintf(commands, sizeof commands, "who = %s\nlast = %d\n%s", who, last,
           s->sweep ? lines : bars);
  int status = plot_draw(s->picture, commands, made, sizeof made);
  fprintf(s->json ? stderr : stdout, status == EXIT_OK ? "%s\n" : "grove multipath: %s\n", made);
  return status;
}
