/* grove fabric: what libfabric has here, and whether it works between two ranks. */
#include "grove/fabric/fabric.h"

#include "grove/command.h"

#include "base/pause.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: grove fabric [--json]\n"
  "       mpirun -n 2 grove fabric --try [--provider P] [--limit SECONDS] [--json]\n"
  "\n"
  "Grove can move data over the networks that libfabric knows, without MPI: channels with\n"
  "transport_parts=ofi, forest operations with transport_off_node=ofi. This lists libfabric's\n"
  "providers on this machine, and how Grove would use each.\n"
  "\n"
  "  written with data   a write goes straight into the receiver's memory and announces itself\n"
  "  write and note      a write goes there too, but a message must announce it\n"
  "  two-sided           no writes: the bytes travel in messages, and are copied once\n"
  "  not usable          the last column says why\n"
  "\n"
  "The column memory tells what registration needs: local (memory that is sent from, too),\n"
  "address (memory is known by its address), key (the provider chooses keys), endpoint (once per\n"
  "endpoint). progress: with calls, data arrives only while the receiver is in a call of Grove.\n"
  "letters: whether forest operations can use the provider. The option fabric (GROVE_FABRIC)\n"
  "names the provider to use.\n"
  "\n"
  "  --try          two ranks send each other 8 B to 4 MiB over every usable provider, and check\n"
  "                 each byte; microseconds are one way: the median of half a round trip\n"
  "  --provider P   only this one: tcp;ofi_rxm, or with a card: tcp;ofi_rxm@eth0\n"
  "  --limit S      seconds after which a provider counts as not working (10)\n"
  "  --json         for programs: bytes, seconds, null where there is none\n"
  "\n"
  "Exit status: 0; 1 if a provider that was tried does not work; 2 for wrong usage, and if this\n"
  "Grove has no libfabric. docs/fabrics.md tells more.\n"
  "\n"
  "Examples:\n"
  "  grove fabric\n"
  "  mpirun -n 2 grove fabric --try\n"
  "  mpirun -n 2 --host a,b grove fabric --try --provider 'verbs;ofi_rxm'\n";

typedef struct settings {
  int json, tries;
  const char *provider;
  double limit;
} settings;

/* ---- the list ---- */

static void print_needs(const grove_fabric_about *a, char *out, size_t room)
{
  const char *const names[] = {"local", "address", "key", "endpoint"};
  const int are[] = {a->registers_sources, a->by_address, a->gives_keys, a->per_endpoint};
  size_t used = 0;
  *out = '\0';
  for (int i = 0; i < 4; i++)
    if (are[i] && used < room)
      used += (size_t)snprintf(out + used, room - used, "%s%s", used > 0 ? "," : "", names[i]);
  if (used == 0) snprintf(out, room, "-");
}

static void print_row(const fabric_row *r)
{
  char memory[64], largest[32];
  if (!r->is_usable) {
    printf("%-14s %-18s %s\n", r->provider, fabric_form(r), r->why);
    return;
  }
  print_needs(&r->about, memory, sizeof memory);
  printf("%-14s %-18s %4lld %10s %-20s %-8s %-7s %s%s\n", r->provider, fabric_form(r),
         (long long)r->about.data_bytes,
         r->about.largest >= INT64_MAX / 2 ? "any" : show_bytes((double)r->about.largest, largest),
         memory, r->about.polled ? "calls" : "its own", r->about.has_tags ? "yes" : "no",
         r->about.domain, r->about.within_host ? " (one host)" : "");
}

static void print_list(const fabric_row *rows, int n)
{
  printf("%-14s %-18s %4s %10s %-20s %-8s %-7s %s\n", "provider", "form", "data", "largest",
         "memory", "progress", "letters", "at");
  for (int i = 0; i < n; i++) print_row(&rows[i]);
  for (int i = 0; i < n; i++)
    if (rows[i].is_usable) return;
  printf("Grove can use none of these.\n");
}

static void print_row_json(const fabric_row *r)
{
  const grove_fabric_about *a = &r->about;
  printf("{\"provider\": ");
  print_json_text(stdout, r->provider);
  printf(", \"usable\": %s, \"form\": ", r->is_usable ? "true" : "false");
  print_json_text(stdout, fabric_form(r));
  printf(", \"why\": ");
  if (r->is_usable)
    printf("null");
  else
    print_json_text(stdout, r->why);
  printf(",\n   \"domain\": ");
  print_json_text(stdout, a->domain);
  printf(", \"domains\": %d, \"within_host\": %s, \"data_bytes\": %lld, \"largest_bytes\": ",
         r->ndomains, a->within_host ? "true" : "false", (long long)a->data_bytes);
  if (r->is_usable)
    printf("%lld", (long long)a->largest);
  else
    printf("null");
  printf(", \"endpoints\": %lld,\n", (long long)a->most_endpoints);
  printf(
    "   \"registers_sources\": %s, \"by_address\": %s, \"gives_keys\": %s, \"per_endpoint\": %s,"
    " \"polled\": %s, \"letters\": %s}",
    a->registers_sources ? "true" : "false", a->by_address ? "true" : "false",
    a->gives_keys ? "true" : "false", a->per_endpoint ? "true" : "false",
    a->polled ? "true" : "false", a->has_tags ? "true" : "false");
}

static void print_list_json(const fabric_row *rows, int n)
{
  printf("{\"providers\": [");
  for (int i = 0; i < n; i++) {
    printf("%s\n  ", i > 0 ? "," : "");
    print_row_json(&rows[i]);
  }
  printf("\n]}\n");
}

/* ---- the try ---- */

static void print_trial(const char *provider, const fabric_trial *t)
{
  printf("%-14s", provider);
  for (int i = 0; i < FABRIC_SIZES && t->is_good; i++) printf(" %10.1f", t->seconds[i] * 1e6);
  if (t->is_good)
    printf("  %s\n", "every byte right");
  else
    printf(" given up: %s\n", t->why);
  fflush(stdout);
}

static void print_trial_json(const char *provider, const fabric_trial *t, int first)
{
  printf("%s\n  {\"provider\": ", first ? "" : ",");
  print_json_text(stdout, provider);
  printf(", \"works\": %s, \"why\": ", t->is_good ? "true" : "false");
  if (t->is_good)
    printf("null");
  else
    print_json_text(stdout, t->why);
  printf(", \"sizes\": [");
  for (int i = 0; i < FABRIC_SIZES; i++) {
    printf("%s{\"bytes\": %lld, \"seconds\": ", i > 0 ? ", " : "", (long long)fabric_sizes[i]);
    if (t->seconds[i] > 0)
      print_json_number(t->seconds[i]);
    else
      printf("null");
    printf("}");
  }
  printf("]}");
}

static void print_head(const settings *s)
{
  char room[32];
  if (s->json) {
    printf("{\"tries\": [");
    return;
  }
  printf("%-14s", "us, one way");
  for (int i = 0; i < FABRIC_SIZES; i++) printf(" %10s", show_bytes((double)fabric_sizes[i], room));
  printf("\n");
}

/* Rank 0 has the list; the others are told name by name. */
static int try_all(const settings *s, int rank, const fabric_row *rows, int n)
{
  int failures = 0, done = 0;
  double begin = grove_clock();
  if (rank == 0) print_head(s);
  for (int i = 0; i < n; i++) {
    char provider[GROVE_FABRIC_NAME_BYTES + 64] = "";
    fabric_trial t;
    if (rank == 0)
      snprintf(provider, sizeof provider, "%s", s->provider ? s->provider : rows[i].provider);
    MPI_Bcast(provider, sizeof provider, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0 && grove_clock() - begin > 2)
      fprintf(stderr, "grove fabric: trying %s, at most %g s\n", provider, s->limit);
    fabric_try(provider, s->limit, &t);
    failures += !t.is_good;
    if (rank == 0 && s->json) print_trial_json(provider, &t, done == 0);
    if (rank == 0 && !s->json) print_trial(provider, &t);
    done++;
  }
  if (rank == 0 && s->json) printf("\n]}\n");
  return failures > 0 ? EXIT_FAILED : EXIT_OK;
}

/* Those that are usable, to the front; how many. */
static int keep_usable(fabric_row *rows, int n)
{
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (rows[i].is_usable) rows[kept++] = rows[i];
  return kept;
}

static int try_providers(const settings *s)
{
  fabric_row *rows = NULL;
  int size = 0, rank = 0, told[2] = {EXIT_OK, 1};
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && size < 2) {
    fprintf(stderr, "grove fabric: --try needs two ranks: mpirun -n 2 grove fabric --try\n");
    told[0] = EXIT_BAD_INPUT;
  } else if (rank == 0) {
    int n = 0;
    told[0] = fabric_list(&rows, &n);
    if (!s->provider) told[1] = keep_usable(rows, n);
    if (told[0] == EXIT_OK && told[1] == 0) {
      fprintf(stderr, "grove fabric: libfabric has no provider here that Grove can use\n");
      told[0] = EXIT_FAILED;
    }
  }
  MPI_Bcast(told, 2, MPI_INT, 0, MPI_COMM_WORLD);
  int status = told[0] == EXIT_OK ? try_all(s, rank, rows, told[1]) : told[0];
  free(rows);
  MPI_Finalize();
  return status;
}

/* ---- the command ---- */

static int tries(int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--try") == 0) return 1;
  return 0;
}

static int read_settings(int argc, char **argv, settings *s)
{
  const char *value;
  *s = (settings){.limit = 10};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      s->json = 1;
    } else if (strcmp(argv[i], "--try") == 0) {
      s->tries = 1;
    } else if ((value = flag_value(argc, argv, &i, "--provider"))) {
      if (!*value || strlen(value) >= GROVE_FABRIC_NAME_BYTES)
        return refuse_value("fabric", "--provider", value, "the name of a provider");
      s->provider = value;
    } else if ((value = flag_value(argc, argv, &i, "--limit"))) {
      if (read_real(value, 0.1, 3600, &s->limit))
        return refuse_value("fabric", "--limit", value, "seconds, from 0.1 to 3600");
    } else {
      return refuse_flag("fabric", argv[i], help);
    }
  }
  if (s->provider && !s->tries) {
    fprintf(stderr, "grove fabric: --provider goes with --try\n");
    return EXIT_BAD_INPUT;
  }
  return EXIT_OK;
}

static int run(int argc, char **argv)
{
  settings s;
  fabric_row *rows = NULL;
  int n = 0, status = read_settings(argc, argv, &s);
  if (status != EXIT_OK) return status;
  if (s.tries) return try_providers(&s);
  status = fabric_list(&rows, &n);
  if (status == EXIT_OK && s.json) print_list_json(rows, n);
  if (status == EXIT_OK && !s.json) print_list(rows, n);
  free(rows);
  return status;
}

const command command_fabric = {
  .name = "fabric",
  .summary = "libfabric's networks: what is here, how Grove uses it, whether it works",
  .help = help,
  .run = run,
  .is_parallel = tries,
};
