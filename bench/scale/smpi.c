#include "smpi.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* Globals are a rank's own: SMPI loads the program once for every rank. */

/* The library's tags of set-up are below this one (GROVE_TAG_FIRST), and steps have it. */
enum { STEP_TAG = 9 };
enum { MAIL_TAG = 999999 };     /* SMPI's largest; the library hands tags out from below */
enum { INBOX_BYTES = 4 << 20 }; /* the largest message of set-up */

/* Ranks that meet have all heard of it by then. */
static const double MEETING_SECONDS = 0.01;

int smpi_nanosleep(const struct timespec *time, struct timespec *left);

static void give_up(const char *why)
{
  fprintf(stderr, "scale: %s\n", why);
  abort();
}

static void *room_for(size_t bytes)
{
  void *memory = malloc(bytes > 0 ? bytes : 1);
  if (!memory) give_up("no memory");
  return memory;
}

/* ---- mail: messages of set-up ---- */

typedef struct mail {
  struct mail *next;
  int source, tag, bytes;
  char data[];
} mail;

/* What travels. */
typedef struct envelope {
  int tag;
  char data[];
} envelope;

static mail *arrived; /* in the order of arrival */
static MPI_Comm mail_comm;
static MPI_Request inbox = MPI_REQUEST_NULL;
static envelope *inbox_room;

static void open_inbox(MPI_Comm comm)
{
  if (mail_comm != MPI_COMM_NULL && mail_comm != comm) give_up("two contexts");
  if (inbox != MPI_REQUEST_NULL) return;
  mail_comm = comm;
  if (!inbox_room) inbox_room = room_for(INBOX_BYTES);
  PMPI_Irecv(inbox_room, INBOX_BYTES, MPI_BYTE, MPI_ANY_SOURCE, MAIL_TAG, comm, &inbox);
}

/* The inbox has been filled. */
static void empty_inbox(const MPI_Status *about)
{
  int bytes = 0;
  mail **end = &arrived;
  PMPI_Get_count(about, MPI_BYTE, &bytes);
  bytes -= (int)sizeof *inbox_room;
  mail *m = room_for(sizeof *m + (size_t)bytes);
  *m = (mail){.source = about->MPI_SOURCE, .tag = inbox_room->tag, .bytes = bytes};
  memcpy(m->data, inbox_room->data, (size_t)bytes);
  while (*end) end = &(*end)->next;
  *end = m;
  inbox = MPI_REQUEST_NULL;
}

/* Where the first such message is linked; NULL: there is none. */
static mail **find_mail(int source, int tag)
{
  for (mail **m = &arrived; *m; m = &(*m)->next)
    if ((source == MPI_ANY_SOURCE || (*m)->source == source) && (*m)->tag == tag) return m;
  return NULL;
}

/* SMPI copies what is sent at once, so that the sender need not wait. */
static void send_mail(const void *data, int bytes, int peer, int tag, MPI_Comm comm)
{
  MPI_Request request;
  envelope *e = room_for(sizeof *e + (size_t)bytes);
  e->tag = tag;
  if (bytes > 0) memcpy(e->data, data, (size_t)bytes);
  if (sizeof *e + (size_t)bytes > INBOX_BYTES) give_up("a message of set-up is too large");
  PMPI_Isend(e, (int)sizeof *e + bytes, MPI_BYTE, peer, MAIL_TAG, comm, &request);
  if (request != MPI_REQUEST_NULL) PMPI_Wait(&request, MPI_STATUS_IGNORE);
  free(e);
}

static int take_mail(void *data, int source, int tag)
{
  mail **link = find_mail(source, tag), *m = link ? *link : NULL;
  if (!m) return 0;
  memcpy(data, m->data, (size_t)m->bytes);
  *link = m->next;
  free(m);
  return 1;
}

/* ---- requests that were asked for in vain ---- */

static MPI_Request **watched; /* where the caller keeps them */
static MPI_Request *copies;
static int nwatched, room;
static int expects; /* since the last yield, mail, in vain */
static int moved;   /* since the last yield: something was complete */

/* What a request becomes that completed while the rank slept, until it is asked for again. */
static const MPI_Request THROUGH = (MPI_Request)(uintptr_t)2;

static void make_room(void)
{
  if (nwatched < room) return;
  room = 2 * room + 64;
  watched = realloc(watched, (size_t)room * sizeof *watched);
  copies = realloc(copies, (size_t)room * sizeof *copies);
  if (!watched || !copies) give_up("no memory");
}

static void watch(MPI_Request *request)
{
  make_room();
  watched[nwatched++] = request;
}

/* A caller that was given something looks at the rest again before it waits. */
static int note_moved(void)
{
  moved = 1;
  nwatched = 0;
  return 1;
}

/* Sleeps until one of n has completed, and says which. To wait for one alone is cheaper. */
static int sleep_on(int n, MPI_Request *requests, MPI_Status *about)
{
  int which = 0;
  if (n == 1)
    PMPI_Wait(requests, about);
  else
    PMPI_Waitany(n, requests, &which, about);
  return which;
}

/* Until one that is watched has completed, or mail has come. */
static void sleep_on_watched(void)
{
  MPI_Status about;
  int n = nwatched;
  make_room(); /* for the inbox too */
  for (int i = 0; i < n; i++) copies[i] = *watched[i];
  if (expects) {
    open_inbox(mail_comm);
    copies[n++] = inbox;
  }
  if (n == 0) give_up("a rank waits for nothing");
  int which = sleep_on(n, copies, &about);
  if (which < nwatched)
    *watched[which] = THROUGH;
  else
    empty_inbox(&about);
}

int scale_yield(void)
{
  if (!moved) sleep_on_watched();
  moved = nwatched = expects = 0;
  return 0;
}

double scale_meet(void)
{
  double now = MPI_Wtime(), latest = 0;
  PMPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double left = latest + MEETING_SECONDS - MPI_Wtime();
  const struct timespec rest = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
  smpi_nanosleep(&rest, NULL);
  return MPI_Wtime();
}

/* ---- requests of our own: receives of mail, and collective steps ---- */

typedef struct step {
  void *mail_data; /* a receive of mail: where it goes; NULL: a step */
  int source, tag;
  MPI_Comm comm;
  int rank, size; /* in a bcast counted from its root */
  int root;
  int reach; /* how far away the partner of this round is */
  char *data, *other;
  int count, bytes;
  MPI_Datatype type;
  MPI_Op op; /* MPI_OP_NULL: a bcast */
} step;

static int is_own(MPI_Request request)
{
  return ((uintptr_t)request & 1) != 0;
}

static step *own_of(MPI_Request request)
{
  return (step *)((uintptr_t)request & ~(uintptr_t)1);
}

static MPI_Request request_of(step about)
{
  step *s = room_for(sizeof *s);
  *s = about;
  return (MPI_Request)((uintptr_t)s | 1);
}

static int peer_of(const step *s, int rank)
{
  return ((rank + s->size) % s->size + s->root) % s->size;
}

/* A bcast's round: ranks below `reach` have the data, and each tells one that has not. */
static int tells(const step *s)
{
  return s->op != MPI_OP_NULL || (s->rank < s->reach && s->rank + s->reach < s->size);
}

static int hears(const step *s)
{
  return s->op != MPI_OP_NULL || (s->rank >= s->reach && s->rank < 2 * s->reach);
}

static void tell(const step *s)
{
  if (s->reach < s->size && tells(s))
    send_mail(s->data, s->bytes, peer_of(s, s->rank + s->reach), STEP_TAG, s->comm);
}

/* Goes on as far as messages are here; true at the end. What a rank knows goes `reach` ranks on,
 * twice as far in every round. */
static int advance(step *s)
{
  for (; s->reach < s->size; s->reach *= 2, tell(s)) {
    if (!hears(s)) continue;
    char *to = s->op == MPI_OP_NULL ? s->data : s->other;
    if (!take_mail(to, peer_of(s, s->rank - s->reach), STEP_TAG)) return 0;
    if (s->op != MPI_OP_NULL) PMPI_Reduce_local(s->other, s->data, s->count, s->type, s->op);
  }
  return 1;
}

static MPI_Request begin(step about, MPI_Comm comm)
{
  open_inbox(comm);
  about.comm = comm;
  about.reach = 1;
  MPI_Comm_rank(comm, &about.rank);
  MPI_Comm_size(comm, &about.size);
  about.rank = (about.rank - about.root + about.size) % about.size;
  if (about.op != MPI_OP_NULL) about.other = room_for((size_t)about.bytes);
  tell(&about);
  return request_of(about);
}

/* Ranks hear the same value more than once, so it must be a maximum or a minimum. */
int scale_iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, MPI_Request *request)
{
  int size = 0;
  if (op != MPI_MAX && op != MPI_MIN)
    return PMPI_Iallreduce(in, out, count, type, op, comm, request);
  PMPI_Type_size(type, &size);
  memcpy(out, in, (size_t)size * (size_t)count);
  step about = {.data = out, .count = count, .bytes = size * count, .type = type, .op = op};
  *request = begin(about, comm);
  return MPI_SUCCESS;
}

int scale_ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
                 MPI_Request *request)
{
  int size = 0;
  PMPI_Type_size(type, &size);
  step about = {.root = root, .data = data, .bytes = size * count, .op = MPI_OP_NULL};
  *request = begin(about, comm);
  return MPI_SUCCESS;
}

static int end_own(MPI_Request *request)
{
  step *s = own_of(*request);
  if (s->mail_data ? !take_mail(s->mail_data, s->source, s->tag) : !advance(s)) {
    expects = 1;
    return 0;
  }
  free(s->other);
  free(s);
  *request = MPI_REQUEST_NULL;
  return note_moved();
}

/* ---- what the library calls ---- */

int scale_isend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Request *request)
{
  int size = 0;
  if (tag >= STEP_TAG) return PMPI_Isend(data, count, type, peer, tag, comm, request);
  PMPI_Type_size(type, &size);
  send_mail(data, size * count, peer, tag, comm);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int scale_irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Request *request)
{
  if (tag >= STEP_TAG) return PMPI_Irecv(data, count, type, source, tag, comm, request);
  open_inbox(comm);
  *request = request_of((step){.mail_data = data, .source = source, .tag = tag});
  return MPI_SUCCESS;
}

int scale_iprobe(int source, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
  (void)comm;
  mail **link = tag == MPI_ANY_TAG && arrived ? &arrived : find_mail(source, tag);
  *found = link != NULL;
  expects |= !*found && source == MPI_ANY_SOURCE;
  if (!link) return MPI_SUCCESS;
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_SOURCE = (*link)->source;
    status->count = (*link)->bytes;
  }
  note_moved();
  return MPI_SUCCESS;
}

static int is_through(MPI_Request *request)
{
  if (*request == MPI_REQUEST_NULL) return 1;
  if (is_own(*request)) return end_own(request);
  if (*request == THROUGH) {
    *request = MPI_REQUEST_NULL;
    return note_moved();
  }
  watch(request);
  return 0;
}

int scale_test(MPI_Request *request, int *done, MPI_Status *status)
{
  (void)status; /* nobody wants it */
  *done = is_through(request);
  return MPI_SUCCESS;
}

int scale_testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses)
{
  (void)statuses;
  *done = 1;
  for (int i = 0; i < n && *done; i++) *done = is_through(&requests[i]);
  return MPI_SUCCESS;
}

/* Of a stage's messages the rank sleeps on the first that is missing, receives before sends: to
 * sleep on all of them costs SMPI their number to the third power, and a stage needs them all. */
int scale_testsome(int n, MPI_Request *requests, int *count, int *which, MPI_Status *statuses)
{
  int active = 0;
  (void)statuses;
  *count = 0;
  for (int i = 0; i < n; i++) {
    active += requests[i] != MPI_REQUEST_NULL;
    if (requests[i] != THROUGH) continue;
    requests[i] = MPI_REQUEST_NULL;
    which[(*count)++] = i;
  }
  if (active == 0) *count = MPI_UNDEFINED;
  if (*count > 0) note_moved();
  for (int i = 0; i < n && *count == 0; i++) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    watch(&requests[i]);
    break;
  }
  return MPI_SUCCESS;
}

/* ---- memory ---- */

static int64_t allocated;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

int64_t scale_allocated(void)
{
  return allocated;
}

static int64_t bytes_of(void *memory)
{
  return memory ? (int64_t)malloc_usable_size(memory) : 0;
}

void *__wrap_malloc(size_t bytes)
{
  void *memory = __real_malloc(bytes);
  allocated += bytes_of(memory);
  return memory;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
  void *memory = __real_calloc(count, bytes);
  allocated += bytes_of(memory);
  return memory;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
  int64_t before = bytes_of(memory);
  void *after = __real_realloc(memory, bytes);
  if (after) allocated += bytes_of(after) - before;
  return after;
}

void __wrap_free(void *memory)
{
  allocated -= bytes_of(memory);
  __real_free(memory);
}
