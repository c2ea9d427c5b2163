/* grove multipath: a copy between two GPUs, split over every path between them.
 */
#include "grove/multipath/multipath.h"

#include "grove/command.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: grove multipath --machine M --from A --to B --bytes N [OPTION...]\n"
  "       grove multipath --machine M --from A --to B --sweep|--cost [OPTION...]\n"
  "\n"
  "A copy from GPU A to GPU B need not keep to the link between them: parts of it can go\n"
  "through other GPUs, and through the host's memory. A model says which share should go over\n"
  "which path, in how many chunks, and how long it should take. Nothing is moved.\n"
  "\n"
  "  --machine M       auto, a name of grove machine list, or a profile's file, with links\n"
  "  --from A --to B   GPUs, from 0 on\n"
  "  --bytes N         4194304, 512KiB, 256MB\n"
  "  --paths LIST      direct, gpu2 (through GPU 2) and host, separated by commas (all)\n"
  "  --solver S        exact (the default): the least time, by bisection; with the best whole\n"
  "                      number of chunks on each path, launched in the best order\n"
  "                    published: the equations of Sojoodi et al. 2025, with a constant phi\n"
  "                    search: shares on a grid and all orders, to compare with; 6 paths at most\n"
  "  --both            as many bytes go from B to A at the same time\n"
  "  --also C-D        and from C to D; may be repeated\n"
  "  --as-published    nothing is shared: ports, memory and other copies are ignored\n"
  "  --threshold G     everything goes over one path if splitting gains less than G times (1)\n"
  "  --sweep           sizes from 64 KiB to 1 GiB, or to N\n"
  "  --cost            instead: how long the decision itself takes here, computed and cached\n"
  "  --picture STEM    draws it: STEM.dat, STEM.gp and, with gnuplot, STEM.svg and STEM.png\n"
  "  --json            for programs: seconds, bytes, bytes per second; null where there is none.\n"
  "                    seconds of a path are share x bytes x omega + delta; delta includes the\n"
  "                    launches before it. checked_seconds: the same split with whole chunks,\n"
  "                    and with all that is shared. limited_by: what the path has no more of\n"
  "\n"
  "docs/multipath.md explains the model, docs/machines.md how links are written.\n"
  "\n"
  "Examples:\n"
  "  grove multipath --machine beluga --from 0 --to 1 --bytes 256MB\n"
  "  grove multipath --machine beluga --from 0 --to 1 --bytes 64MB --paths direct,gpu2 --json\n"
  "  grove multipath --machine narval --from 0 --to 1 --bytes 256MB --both --solver published\n"
  "  grove multipath --machine beluga --from 0 --to 1 --sweep --picture shares\n";

/* ---- arguments ---- */

#define GPU_NEEDS   "the number of a GPU, from 0 on"
#define BYTES_NEEDS "a number of bytes, 1 or more, such as 512KiB"

static int complain(const char *format, const char *what)
{
  fprintf(stderr, "grove multipath: ");
  fprintf(stderr, format, what);
  fprintf(stderr, "; see grove multipath --help\n");
  return EXIT_BAD_INPUT;
}

static int read_gpu(const char *text, int *out)
{
  int64_t number = 0;
  if (!isdigit((unsigned char)text[0]) || read_number(text, 0, 9999, &number)) return 1;
  *out = (int)number;
  return 0;
}

static int read_size(const char *text, int64_t *out)
{
  int64_t bytes = 0;
  if (read_bytes(text, &bytes) || bytes < 1) return 1;
  *out = bytes;
  return 0;
}

/* "2-3" */
static int read_also(const char *text, multipath_settings *s)
{
  char first[16] = "";
  const char *dash = strchr(text, '-');
  if (s->nalso == GROVE_COPIES - 2 || !dash || (size_t)(dash - text) >= sizeof first) return 1;
  memcpy(first, text, (size_t)(dash - text));
  if (read_gpu(first, &s->also[s->nalso][0]) || read_gpu(dash + 1, &s->also[s->nalso][1])) return 1;
  s->nalso++;
  return 0;
}

/* A flag without a value. */
static int *switch_of(multipath_settings *s, const char *flag)
{
  if (strcmp(flag, "--json") == 0) return &s->json;
  if (strcmp(flag, "--both") == 0) return &s->both;
  if (strcmp(flag, "--sweep") == 0) return &s->sweep;
  if (strcmp(flag, "--cost") == 0) return &s->cost;
  if (strcmp(flag, "--as-published") == 0) return &s->as_published;
  return NULL;
}

/* Reads a flag. Returns "" if its value is valid, what it must be if not, NULL if there is no such
 * flag. */
static const char *read_flag(int argc, char **argv, int *i, multipath_settings *s,
                             const char **value)
{
  if ((*value = flag_value(argc, argv, i, "--machine"))) {
    s->machine = *value;
    return "";
  }
  if ((*value = flag_value(argc, argv, i, "--paths"))) {
    s->paths = *value;
    return "";
  }
  if ((*value = flag_value(argc, argv, i, "--picture"))) {
    s->picture = *value;
    return **value ? "" : "the beginning of a file's name";
  }
  if ((*value = flag_value(argc, argv, i, "--from")))
    return read_gpu(*value, &s->from) ? GPU_NEEDS : "";
  if ((*value = flag_value(argc, argv, i, "--to")))
    return read_gpu(*value, &s->to) ? GPU_NEEDS : "";
  if ((*value = flag_value(argc, argv, i, "--bytes")))
    return read_size(*value, &s->bytes) ? BYTES_NEEDS : "";
  if ((*value = flag_value(argc, argv, i, "--solver")))
    return read_word(*value, grove_solver_names, GROVE_SOLVERS, &s->solver)
             ? "exact, published or search"
             : "";
  if ((*value = flag_value(argc, argv, i, "--threshold")))
    return read_real(*value, 1, 1e9, &s->threshold) ? "a number, 1 or more" : "";
  if ((*value = flag_value(argc, argv, i, "--also")))
    return read_also(*value, s) ? "two GPUs such as 2-3, at most ten times" : "";
  return NULL;
}

static int read_settings(int argc, char **argv, multipath_settings *s)
{
  *s = (multipath_settings){.from = -1, .to = -1, .bytes = -1, .threshold = 1};
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL;
    int *alone = switch_of(s, flag);
    if (alone) {
      *alone = 1;
      continue;
    }
    const char *needs = read_flag(argc, argv, &i, s, &value);
    if (!needs) return refuse_flag("multipath", flag, help);
    if (*needs) {
      fprintf(stderr, "grove multipath: %.*s is '%s', and must be %s; see grove multipath --help\n",
              (int)strcspn(flag, "="), flag, value, needs);
      return EXIT_BAD_INPUT;
    }
  }
  if (s->sweep && s->cost) return complain("%s", "--sweep or --cost, not both");
  if (!s->machine) return complain("--machine is missing: it must be %s", MACHINE_NEEDS);
  if (s->from < 0) return complain("--from is missing: it must be %s", GPU_NEEDS);
  if (s->to < 0) return complain("--to is missing: it must be %s", GPU_NEEDS);
  if (s->bytes < 0 && !s->sweep && !s->cost)
    return complain("--bytes is missing: it must be %s", BYTES_NEEDS);
  return EXIT_OK;
}

/* ---- solving ---- */

double multipath_size(const multipath_settings *s, int i)
{
  double size = ldexp(65536, i), last = s->bytes > 0 ? (double)s->bytes : (double)(1 << 30);
  if (!s->sweep) return i == 0 ? last : 0;
  if (size < last) return size;
  return size < 2 * last || (i == 0) ? last : 0;
}

const char *multipath_path_name(const grove_path *p, char room[16])
{
  if (p->kind == GROVE_PATH_GPU)
    snprintf(room, 16, "gpu%d", p->via);
  else
    snprintf(room, 16, "%s", grove_path_kind_names[p->kind]);
  return room;
}

static int count_used(const grove_split *split)
{
  int used = 0;
  for (int i = 0; i < split->npaths; i++) used += split->load[i].share > 0;
  return used;
}

/* The resource that limits a path of the first copy, and which path; -1: none does. */
static int find_obstacle(const multipath_answer *a, int *path)
{
  const grove_copy_paths *copy = &a->set.copy[0];
  for (int used = 1; used >= 0; used--)
    for (*path = 0; *path < copy->npaths; ++*path) {
      const grove_path_load *load = &a->split[0].load[*path];
      if ((load->share > 0) != used) continue;
      if (used && load->limited_by >= 0) return load->limited_by;
      if (!used && copy->useless[*path] >= 0) return copy->useless[*path];
    }
  return -1;
}

static void say_what_binds(multipath_answer *a)
{
  const grove_copy_paths *copy = &a->set.copy[0];
  char thing[64] = "", name[16];
  int path = 0, obstacle = find_obstacle(a, &path), used = count_used(&a->split[0]);
  if (obstacle >= 0) grove_resource_name(&a->set, obstacle, thing, sizeof thing);
  if (copy->npaths == 1)
    snprintf(a->says, sizeof a->says, "There is only one path.");
  else if (used == 1 && obstacle >= 0)
    snprintf(a->says, sizeof a->says,
             "What is shared binds: the single path uses up %s, and nothing is gained by %s.",
             thing, multipath_path_name(&copy->path[path], name));
  else if (used == 1)
    snprintf(a->says, sizeof a->says,
             "Latencies bind: at this size other paths would take longer to start than they save.");
  else if (obstacle >= 0)
    snprintf(a->says, sizeof a->says,
             "What is shared binds: %s gives the path %s no more; together the rates would allow "
             "%.2f times.",
             thing, multipath_path_name(&copy->path[path], name), a->bound);
  else if (a->gain >= 0.9 * a->bound)
    snprintf(a->says, sizeof a->says,
             "The links bind: their rates together would allow %.2f times.", a->bound);
  else
    snprintf(
      a->says, sizeof a->says,
      "Latencies bind: of the %.2f times that the rates would allow, launches and chunks take "
      "%.0f %%.",
      a->bound, 100 * (1 - a->gain / a->bound));
}

static grove_status add_copies(const multipath_settings *s, const grove_machine *m, double bytes,
                               grove_copies *set)
{
  set->alone = s->as_published;
  GROVE_PASS(grove_copies_add(set, m, s->from, s->to, bytes, s->paths));
  if (s->both) GROVE_PASS(grove_copies_add(set, m, s->to, s->from, bytes, s->paths));
  for (int i = 0; i < s->nalso; i++)
    GROVE_PASS(grove_copies_add(set, m, s->also[i][0], s->also[i][1], bytes, NULL));
  return GROVE_OK;
}

/* Puts everything on one path after all. */
static void keep_single(multipath_answer *a)
{
  grove_split single[GROVE_COPIES];
  int entry[GROVE_COPIES];
  grove_multipath_single(&a->set, single, entry);
  for (int c = 0; c < a->set.count; c++) {
    for (int i = 0; i < a->split[c].npaths; i++)
      a->split[c].load[i] = (grove_path_load){.place = -1, .limited_by = -1};
    a->split[c].load[entry[c]] = single[c].load[0];
    a->split[c].seconds = single[c].seconds;
    a->split[c].checked = single[c].checked;
  }
  a->gain = 1;
}

int multipath_solve(const multipath_settings *s, const grove_machine *m, double bytes,
                    multipath_answer *a)
{
  memset(a, 0, sizeof *a);
  a->bytes = bytes;
  if (add_copies(s, m, bytes, &a->set) != GROVE_OK ||
      grove_multipath_solve(&a->set, (grove_solver)s->solver, a->split) != GROVE_OK) {
    fprintf(stderr, "grove multipath: %s\n", last_sentence());
    return EXIT_BAD_INPUT;
  }
  a->single = grove_multipath_single(&a->set, NULL, NULL);
  a->bound = grove_multipath_bound(&a->set);
  double last = 0;
  for (int c = 0; c < a->set.count; c++) last = fmax(last, a->split[c].seconds);
  a->gain = a->single / last;
  say_what_binds(a);
  if (a->gain < s->threshold && count_used(&a->split[0]) > 1) {
    snprintf(a->says, sizeof a->says, "Splitting would gain %.3f times, less than the threshold.",
             a->gain);
    keep_single(a);
  }
  return EXIT_OK;
}

/* ---- the command ---- */

static int print_all(const multipath_settings *s, const grove_machine *m, multipath_answer *a)
{
  int status = EXIT_OK;
  for (int i = 0; status == EXIT_OK && multipath_size(s, i) > 0; i++) {
    status = multipath_solve(s, m, multipath_size(s, i), a);
    if (status != EXIT_OK) return status;
    int last = !(multipath_size(s, i + 1) > 0);
    if (s->json && s->sweep) printf("%s", i == 0 ? "{\"sizes\": [\n" : "");
    if (s->json)
      multipath_print_json(s, a);
    else if (s->sweep)
      multipath_print_sweep(s, a, i == 0);
    else
      multipath_print_table(s, a);
    if (s->json) printf("%s\n", !s->sweep ? "" : last ? "\n]}" : ",");
  }
  return status;
}

/* Of the machines that come with Grove, those with links: "beluga, dgx". */
static void list_linked(char *out, size_t room)
{
  size_t used = 0;
  *out = '\0';
  for (const grove_builtin *b = grove_builtins; b->name && used < room; b++) {
    grove_machine *m = NULL;
    if (grove_machine_open(b->name, &m) == GROVE_OK && m->links.devices > 0)
      used += (size_t)snprintf(out + used, room - used, "%s%s", used ? ", " : "", b->name);
    grove_machine_free(&m);
  }
}

static int check_links(const grove_machine *m)
{
  char linked[400];
  if (m->links.devices > 0) return EXIT_OK;
  list_linked(linked, sizeof linked);
  fprintf(stderr,
          "grove multipath: machine '%s' has no links between GPUs; these have: %s; or a "
          "profile's file with links\n",
          m->name, linked);
  return EXIT_BAD_INPUT;
}

static int run(int argc, char **argv)
{
  multipath_settings s;
  grove_machine *m = NULL;
  int status = read_settings(argc, argv, &s);
  if (status == EXIT_OK) status = open_machine("multipath", s.machine, &m);
  if (status == EXIT_OK) status = check_links(m);
  if (status != EXIT_OK) {
    grove_machine_free(&m);
    return status;
  }
  if (s.cost) {
    status = multipath_cost(&s, m);
    grove_machine_free(&m);
    return status;
  }
  multipath_answer *a = malloc(sizeof *a);
  status = a ? print_all(&s, m, a) : EXIT_FAILED;
  if (status == EXIT_OK && s.picture) status = multipath_draw(&s, m, a);
  free(a);
  grove_machine_free(&m);
  return status;
}

const command command_multipath = {
  .name = "multipath",
  .summary = "a copy between two GPUs, split over every path between them",
  .help = help,
  .run = run,
};
