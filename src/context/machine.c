/* Which machine a context prices its operations on. Rank 0 finds the profile, as text. All ranks
 * read it, unless it is the one that they last read.
 */
#include "context/context.h"

#include "base/digest.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- where a measured profile is kept ---- */

/* Letters and digits of `text`, words joined by dashes. */
static void append_slug(char *out, size_t room, const char *text)
{
  size_t used = strlen(out);
  for (; *text && used + 2 < room; text++) {
    if (isalnum((unsigned char)*text) || (*text == '.' && used > 0))
      out[used++] = (char)tolower((unsigned char)*text);
    else if (used > 0 && out[used - 1] != '-')
      out[used++] = '-';
  }
  out[used] = '\0';
}

/* A run on one node measures less than one on several; made-up nodes measure something else. */
static const char *nodes_of(const grove_context *ctx)
{
  if (ctx->options.node_size > 0 || *ctx->options.node_map) return "made-up-nodes";
  return ctx->topo.nnodes > 1 ? "nodes" : "node";
}

/* Processor, network and MPI in one word, written once per process. */
enum { SLUG_BYTES = 256 };
static pthread_once_t written = PTHREAD_ONCE_INIT;
static char slug[SLUG_BYTES];

static void write_slug(void)
{
  char processor[96], mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  grove_topo_processor(processor, sizeof processor);
  MPI_Get_library_version(mpi, &length);
  mpi[strcspn(mpi, "\n,")] = '\0';
  mpi[strlen(mpi) < 40 ? strlen(mpi) : 40] = '\0';
  append_slug(slug, sizeof slug, processor);
  append_slug(slug, sizeof slug, " ");
  append_slug(slug, sizeof slug, grove_topo_network());
  append_slug(slug, sizeof slug, " ");
  append_slug(slug, sizeof slug, mpi);
}

void grove_context_profile_stem(char *out, size_t room)
{
  char folder[512];
  grove_options_cache(folder, sizeof folder);
  pthread_once(&written, write_slug);
  if (*folder)
    snprintf(out, room, "%s/%s", folder, slug);
  else
    *out = '\0';
}

void grove_context_machine_name(const grove_context *ctx, char *out, size_t room)
{
  pthread_once(&written, write_slug);
  snprintf(out, room, "%s-%dc-%s", slug, ctx->topo.cores, nodes_of(ctx));
}

void grove_context_profile_path(const grove_context *ctx, char *out, size_t room)
{
  char folder[512], name[GROVE_MACHINE_NAME_BYTES];
  grove_options_cache(folder, sizeof folder);
  grove_context_machine_name(ctx, name, sizeof name);
  if (*folder)
    snprintf(out, room, "%s/%s.machine", folder, name);
  else
    *out = '\0';
}

/* ---- profiles as text ---- */

/* The profile that rank 0 has or has sent. */
typedef struct profile {
  char *text;
  int64_t bytes;
  int64_t sum; /* positive checksum: differs if the text does */
} profile;

static int64_t sum_of(const char *text, int64_t bytes)
{
  return (int64_t)(grove_digest_bytes(text, bytes) >> 2) + 1;
}

/* The last profile that this process read, for all its contexts. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  int64_t bytes, sum;
  grove_machine *machine;
} last;

static grove_machine *recall_machine(const profile *p)
{
  pthread_mutex_lock(&mutex);
  int same = last.machine && last.bytes == p->bytes && last.sum == p->sum;
  grove_machine *machine = same ? grove_machine_hold(last.machine) : NULL;
  pthread_mutex_unlock(&mutex);
  return machine;
}

static void remember_machine(const profile *p, grove_machine *machine)
{
  pthread_mutex_lock(&mutex);
  grove_machine *before = last.machine;
  last.bytes = p->bytes;
  last.sum = p->sum;
  last.machine = grove_machine_hold(machine);
  pthread_mutex_unlock(&mutex);
  grove_machine_free(&before);
}

/* This rank's failure. */
static grove_status read_profile(const profile *p, const char *file, grove_machine **out)
{
  *out = recall_machine(p);
  if (*out) return GROVE_OK;
  GROVE_PASS(grove_profile_read(p->text, (size_t)p->bytes, file, out));
  remember_machine(p, *out);
  return GROVE_OK;
}

/* ---- finding one ---- */

const char *grove_context_similar_machine(void)
{
  const char *network = grove_topo_network();
  return strcmp(network, "tcp") == 0 ? "tcp-10g" : network;
}

/* The profile of this name, if it is one. */
static grove_status open_profile(const char *name_or_path, profile *out)
{
  grove_status status = GROVE_OK;
  grove_machine *machine = NULL;
  size_t length = 0;
  profile p = {0};
  GROVE_TRY(grove_machine_text(name_or_path, &p.text, &length));
  p.bytes = (int64_t)length;
  p.sum = sum_of(p.text, p.bytes);
  GROVE_TRY(read_profile(&p, name_or_path, &machine));
  *out = p;
  p.text = NULL;
fail:
  free(p.text);
  grove_machine_free(&machine);
  return status;
}

/* On rank 0. Nothing found and no error: to be measured later. */
static grove_status look_for(const grove_context *ctx, profile *out)
{
  const char *wanted = ctx->options.machine;
  char path[1024];
  grove_sentence before;
  if (strcasecmp(wanted, "measure") == 0) return GROVE_OK;
  if (strcasecmp(wanted, "auto") != 0) return open_profile(wanted, out);
  grove_context_profile_path(ctx, path, sizeof path);
  /* Nobody asked for this file by name. If it is missing or damaged the program goes on without it,
   * and the report names the machine that is used. */
  grove_error_keep(&before);
  if (*path && open_profile(path, out) == GROVE_OK) return GROVE_OK;
  grove_error_restore(&before);
  return open_profile(grove_context_similar_machine(), out);
}

/* The text is the caller's to free. */
static grove_status print_machine(const grove_machine *m, profile *out)
{
  size_t length = 0;
  FILE *file = open_memstream(&out->text, &length);
  GROVE_PASS_CHECK(file, GROVE_ERR_MEMORY, "no memory for the text of a profile");
  grove_status status = grove_profile_print(m, file);
  GROVE_PASS_CHECK(fclose(file) == 0 && status == GROVE_OK, GROVE_ERR_MEMORY,
                   "no memory for the text of a profile");
  out->bytes = (int64_t)length;
  out->sum = sum_of(out->text, out->bytes);
  return status;
}

/* A machine that does not exist, or a file that is no profile, is a wrong value of the option. */
static grove_status refuse_option(void)
{
  char why[GROVE_SENTENCE_BYTES];
  snprintf(why, sizeof why, "%s", grove_last_error());
  char *place = strrchr(why, '[');
  if (place && strncmp(place, "[src/", 5) == 0) *place = '\0'; /* it comes once, below */
  return grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__, "option machine: %.900s", why);
}

/* Gives all ranks rank 0's text, and the machine. Agreed by all. */
static grove_status tell_text(grove_context *ctx, profile *p, grove_machine **machine)
{
  grove_status mine = GROVE_OK;
  if (!p->text) p->text = grove_room((size_t)p->bytes, 1);
  GROVE_PASS(grove_context_tell(ctx, p->text, (int)p->bytes, 0));
  if (!*machine)
    mine = p->text ? read_profile(p, "(rank 0's)", machine)
                   : grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for a profile");
  return grove_context_agree(ctx, mine, NULL, 0);
}

/* The machine of rank 0's profile, on all ranks; NULL if there is none. On other ranks `p` is empty
 * on entry. Agreed by all. */
static grove_status share_profile(grove_context *ctx, grove_status mine, profile *p,
                                  grove_machine **out)
{
  grove_status status = GROVE_OK;
  grove_machine *machine = NULL;
  int64_t about[2] = {p->bytes, p->sum}, needed = 0;
  GROVE_TRY(grove_context_agree(ctx, mine, about, 2));
  p->bytes = about[0];
  p->sum = about[1];
  if (p->bytes > 0) {
    machine = recall_machine(p);
    needed = !machine;
    GROVE_TRY(grove_context_agree(ctx, GROVE_OK, &needed, 1));
  }
  if (needed) GROVE_TRY(tell_text(ctx, p, &machine));
  *out = machine;
  return GROVE_OK;
fail:
  grove_machine_free(&machine);
  return status;
}

grove_status grove_context_share_machine(grove_context *ctx, grove_status mine,
                                         const grove_machine *machine, grove_machine **out)
{
  profile p = {0};
  if (mine == GROVE_OK && ctx->rank == 0 && machine) mine = print_machine(machine, &p);
  grove_status status = share_profile(ctx, mine, &p, out);
  free(p.text);
  return status;
}

/* On rank 0. */
static grove_status find_machine(const grove_context *ctx, profile *out)
{
  grove_status status = look_for(ctx, out);
  return status == GROVE_OK || status == GROVE_ERR_MEMORY ? status : refuse_option();
}

grove_status grove_context_find_machine(grove_context *ctx, grove_status mine)
{
  grove_status status = GROVE_OK;
  profile p = {0};
  grove_machine *machine = NULL;
  if (mine == GROVE_OK && ctx->rank == 0) mine = find_machine(ctx, &p);
  GROVE_TRY(share_profile(ctx, mine, &p, &machine));
  grove_machine_free(&ctx->machine);
  ctx->machine = machine;
fail:
  free(p.text);
  return status;
}

/* ---- being given one ---- */

/* A checksum that is the same for machines with the same rows. */
static grove_status sum_text(const grove_machine *m, int64_t *out)
{
  profile p = {0};
  grove_status status = print_machine(m, &p);
  *out = p.sum;
  free(p.text);
  return status;
}

/* What a rank passes: a checksum, and a name for sentences. */
typedef struct passed {
  int64_t sum;
  char name[128];
} passed;

/* The sentence names the first rank whose machine is not that of rank 0. Agreed by all. */
static grove_status refuse_machines(grove_context *ctx, const passed *own)
{
  grove_status mine = GROVE_OK;
  passed first = *own;
  GROVE_PASS(grove_context_tell(ctx, &first, sizeof first, 0));
  if (own->sum != first.sum)
    mine = grove_error(GROVE_ERR_ARG, __FILE__, __LINE__,
                       "rank %d: grove_context_use_machine: this rank passes %s, rank 0 passes "
                       "%s%s; all must pass the same machine",
                       ctx->rank, own->name, first.name,
                       strcmp(own->name, first.name) == 0 ? ", with other numbers" : "");
  return grove_context_agree(ctx, mine, NULL, 0);
}

static grove_status use_machine(grove_context *ctx, const grove_machine *m)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  grove_machine *copy = NULL;
  passed own = {.name = "NULL"};
  if (m) snprintf(own.name, sizeof own.name, "'%.100s'", m->name);
  if (m) mine = grove_machine_copy(m, &copy);
  if (m && mine == GROVE_OK) mine = sum_text(m, &own.sum);
  /* A rank in another call puts up no 1. */
  int64_t sum[4] = {own.sum, ~own.sum, 1, -1};
  GROVE_TRY(grove_context_agree(ctx, mine, sum, 4));
  if (sum[3] >= 0) GROVE_TRY(grove_context_refuse_call(ctx));
  if (sum[0] != ~sum[1]) GROVE_TRY(refuse_machines(ctx, &own));
  ctx->generation++; /* routes that were chosen by the old prices are chosen anew */
  if (!m) return grove_context_find_machine(ctx, GROVE_OK);
  grove_machine_free(&ctx->machine);
  ctx->machine = copy;
  return GROVE_OK;
fail:
  grove_machine_free(&copy);
  return status;
}

grove_status grove_context_use_machine(grove_context *ctx, const grove_machine *m)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_context_use_machine: the context is NULL");
  GROVE_TRY(grove_context_enter_call(ctx, "grove_context_use_machine"));
  status = use_machine(ctx, m);
  grove_context_leave_call(ctx);
fail:
  return grove_verdict(ctx, status);
}
