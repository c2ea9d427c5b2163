/* What the files of this binding share. It puts Grove behind MPI's neighbourhood collectives, in
 * programs that were compiled without it: its functions come before MPI's, and call those by the
 * names that begin with PMPI_.
 *
 *     settings.c      the option `preload`
 *     log.c           what is told at MPI_Finalize
 *     side.c          what a rank sends or receives in a call, whatever the call is named
 *     held.c          what is kept for a communicator
 *     pattern.c       from the blocks of all ranks to a forest
 *     move.c          one call along a pattern, with the same blocks or with others
 *     choice.c        which calls go through Grove
 *     forms.h         the parameters of the neighbourhood collectives
 *     collectives.c   those that wait
 *     nonblocking.c   those that begin with MPI_I
 *     persistent.c    those that end with _init
 *     fortran.c       those that wait, from Fortran, where MPI's do not call the ones of C
 *     flight.c        a call that has begun, and its end
 *     probe.c         which is faster, on memory of its own
 *     requests.c      requests that are Grove's, and MPI's functions on one of them
 *     several.c       MPI's functions on several requests
 *     progress.c      MPI's functions that wait while such a request is active
 *     partitioned.c   MPI_Psend_init and its family, for MPIs that lack it or do it slowly
 */
#ifndef GROVE_MPI_PRELOAD_H
#define GROVE_MPI_PRELOAD_H

#include <grove.h>
#include <mpi.h>
#include <stdint.h>

/* ---- settings.c ---- */

typedef struct grove_pre_settings {
  int on;       /* 0: all goes to MPI */
  int log;      /* tell at MPI_Finalize what went where */
  int always;   /* no trial: what can go through Grove does */
  int inits;    /* calls that end with _init may go through Grove */
  int requests; /* those that begin with MPI_I too: the program keeps what docs/preload.md says */
  int partitioned; /* partitioned messages are Grove's although MPI has them */
  double after;    /* seconds in MPI's functions after which a pattern is worth a set-up */
} grove_pre_settings;

/* The option, read when it is first asked for. */
const grove_pre_settings *grove_pre_settings_get(void);

/* Whether several threads may be in MPI at once. */
int grove_pre_threads(void);

/* Tells MPI's error handler of comm of a failure of Grove's; returns the code for the caller. */
int grove_pre_error(MPI_Comm comm, const char *call);

/* Not 0: this thread is in Grove, which calls functions of MPI; they then go to MPI. */
extern _Thread_local int grove_pre_inside;

/* Whether partitioned messages are Grove's: the program includes grove_mpi.h, or, with an MPI that
 * has them, the user asks for it. The same on all ranks. */
int grove_pre_partitioned(void);
/* Whether Grove's requests may need calls of Grove to go on, and MPI's functions that wait are made
 * to see to it. The same on all ranks. */
int grove_pre_polite(void);

/* ---- log.c ---- */

/* Calls on a communicator of so many ranks: how many, how many of them went through Grove, how many
 * of those with other blocks than the pattern's; and why. */
void grove_pre_log_add(const char *name, int ranks, int64_t calls, int64_t by_grove, int64_t others,
                       const char *why);
void grove_pre_log_print(void);

/* ---- side.c ---- */

/* What one rank sends, or receives, in one call: block i belongs to neighbour i. Of the pointers
 * those are set that the call has; else what stands beside them holds for all blocks. */
typedef struct grove_pre_side {
  const void *buffer;
  int n;
  const int *counts;
  int count;
  const MPI_Datatype *types;
  MPI_Datatype type;
  const int *steps;        /* displacements, in extents of the type */
  const MPI_Aint *offsets; /* displacements, in bytes */
  int one_block;           /* without displacements: all blocks are the first one */
} grove_pre_side;

int grove_pre_side_count(const grove_pre_side *s, int i);
MPI_Datatype grove_pre_side_type(const grove_pre_side *s, int i);
/* Where block i begins, from the buffer on; how many bytes of data it has. */
MPI_Aint grove_pre_side_offset(const grove_pre_side *s, int i);
int64_t grove_pre_side_bytes(const grove_pre_side *s, int i);

/* Whether every block lies in memory as it travels: its type is one of MPI's own, without gaps. */
int grove_pre_side_plain(const grove_pre_side *s);
/* Whether MPI would take these arguments. */
int grove_pre_side_valid(const grove_pre_side *s);

/* A copy of the arguments, to compare those of later calls with. NULL where memory lacks. */
grove_pre_side *grove_pre_side_copy(const grove_pre_side *s);
void grove_pre_side_free(grove_pre_side **s);
/* Whether blocks, types and displacements are the same; the buffer may be another one. Types must
 * be known to stay what they are: those of a side that is plain. */
int grove_pre_side_same(const grove_pre_side *a, const grove_pre_side *b);
/* Whether every block has the same number of bytes. */
int grove_pre_side_same_bytes(const grove_pre_side *s, const int64_t *bytes);
/* A copy that holds when the call has returned: with its buffer, and with types of its own, since
 * the program may free those that it gave. NULL where memory lacks. */
grove_pre_side *grove_pre_side_keep(const grove_pre_side *s);
void grove_pre_side_release(grove_pre_side **s);

/* ---- held.c ---- */

typedef enum grove_pre_call {
  CALL_NEIGHBOR_ALLTOALL,
  CALL_NEIGHBOR_ALLTOALLV,
  CALL_NEIGHBOR_ALLTOALLW,
  CALL_NEIGHBOR_ALLGATHER,
  CALL_NEIGHBOR_ALLGATHERV,
  CALL_ALLTOALLV,
  CALL_INEIGHBOR_ALLTOALL, /* in the order of the first ones */
  CALL_INEIGHBOR_ALLTOALLV,
  CALL_INEIGHBOR_ALLTOALLW,
  CALL_INEIGHBOR_ALLGATHER,
  CALL_INEIGHBOR_ALLGATHERV,
  CALL_INIT_ALLTOALL,
  CALL_INIT_ALLTOALLV,
  CALL_INIT_ALLTOALLW,
  CALL_INIT_ALLGATHER,
  CALL_INIT_ALLGATHERV,
  CALLS
} grove_pre_call;

extern const char *const grove_pre_call_name[CALLS];

struct grove_pre_choice;

/* What is kept for a communicator, as an attribute of it. */
typedef struct grove_pre_held {
  MPI_Comm comm; /* the user's */
  MPI_Comm own;  /* of the same ranks; MPI_COMM_NULL before the first pattern */
  grove_context *ctx;
  int size, rank;
  int inputs, outputs;                    /* neighbours; -1: it has no topology */
  int *output_rank;                       /* the ranks of the latter */
  struct grove_pre_choice *choice[CALLS]; /* NULL before the first such call */
  struct grove_pre_held *next;
} grove_pre_held;

/* NULL where calls on comm are nothing for Grove: it is no intracommunicator. Local. */
grove_pre_held *grove_pre_held_get(MPI_Comm comm);
/* Makes the context. Collective; the same result on every rank. */
grove_status grove_pre_held_context(grove_pre_held *h);
/* Frees what is left, and tells what went where. Collective over MPI_COMM_WORLD. */
void grove_pre_held_finalize(void);
/* What is kept, if comm has a topology and calls on it may go through Grove; else NULL. Local. */
grove_pre_held *grove_pre_neighbourhood(MPI_Comm comm);
/* What MPI_Finalize does first. */
void grove_pre_end(void);

/* ---- pattern.c ---- */

/* Blocks of all ranks, as a forest: roots are the units of what is sent, leaves those of what is
 * received. A rank whose blocks are plain has them where they lie in its buffers, from the lowest
 * one on; else they lie packed in a stage. */
typedef struct grove_pre_pattern {
  grove_forest *forest;
  MPI_Datatype unit;
  int inputs, outputs;
  int64_t *input_bytes, *output_bytes; /* of each block */
  int64_t *input_at, *output_at;       /* its place among the leaves, the roots; in bytes */
  int *input_rank, *input_slot;        /* whose block it is, and which of them; -1: nobody's */
  const int *output_rank;         /* of the communicator's neighbours; NULL: block i to rank i */
  grove_pre_side *input, *output; /* the arguments, where they are plain; else NULL */
  MPI_Aint input_low, output_low;
  int64_t input_span, output_span; /* bytes of leaves and roots */
  char *input_stage, *output_stage;
  int users; /* calls that have begun, and whoever made it */
} grove_pre_pattern;

/* Collective: NULL on every rank if it cannot be made on one. `why` is then the reason; `again` is
 * set if later calls may have more to move. */
grove_pre_pattern *grove_pre_pattern_create(grove_pre_held *h, grove_pre_call call,
                                            const grove_pre_side *send,
                                            const grove_pre_side *receive, int *again,
                                            char why[256]);
/* Whether it is so on any rank. Collective. */
int grove_pre_any(MPI_Comm comm, int mine);
/* One user less; the last one frees it. Local. */
void grove_pre_pattern_free(grove_pre_pattern **p);

/* ---- move.c ---- */

/* Packs blocks into a stage of roots, or unpacks those of leaves. */
void grove_pre_pack(const grove_pre_pattern *p, const grove_pre_side *send, char *stage);
void grove_pre_unpack(const grove_pre_pattern *p, const grove_pre_side *receive, const char *stage);
/* The stages, made when they are first needed; 0 where memory lacks. */
int grove_pre_stages(grove_pre_pattern *p);
void grove_pre_stages_free(grove_pre_pattern *p);

/* Messages between two ranks, for blocks that are not those of the pattern; how many. */
int grove_pre_receive_others(grove_pre_held *h, const grove_pre_pattern *p, const grove_pre_side *s,
                             MPI_Request *requests);
int grove_pre_send_others(grove_pre_held *h, const grove_pre_pattern *p, const grove_pre_side *s,
                          MPI_Request *requests);

/* One call along the pattern. `other` is set if the blocks were not those of the pattern. */
int grove_pre_move(grove_pre_held *h, grove_pre_pattern *p, const grove_pre_side *send,
                   const grove_pre_side *receive, int *other);

/* ---- choice.c ---- */

typedef enum grove_pre_way {
  GO_GROVE,    /* it went, with this result */
  GO_MPI,      /* it is MPI's */
  GO_MPI_TIMED /* it is MPI's, and grove_pre_went must be told how long it took */
} grove_pre_way;

/* Where a call goes; with `request` it is to begin, else to be done. Collective. */
grove_pre_way grove_pre_go(grove_pre_held *h, grove_pre_call call, const grove_pre_side *send,
                           const grove_pre_side *receive, MPI_Request *request, int *result);
/* The same for a call that ends with _init. */
grove_pre_way grove_pre_go_init(grove_pre_held *h, grove_pre_call call, const grove_pre_side *send,
                                const grove_pre_side *receive, MPI_Request *request, int *result);
/* A request of the latter was freed, after so many starts. */
void grove_pre_init_freed(grove_pre_held *h, grove_pre_call call, int64_t starts);
void grove_pre_went(grove_pre_held *h, grove_pre_call call, double seconds);
/* What became of the calls of one kind, and why. */
void grove_pre_choice_tell(const grove_pre_held *h, grove_pre_call call);
void grove_pre_choice_free(struct grove_pre_choice **c);

/* ---- flight.c ---- */

/* Begins a call along the pattern. `other` is as in grove_pre_move. Local, after the first of all
 * ranks. */
int grove_pre_fly(grove_pre_held *h, grove_pre_pattern *p, const grove_pre_side *send,
                  const grove_pre_side *receive, int *other, MPI_Request *request);
/* Makes a request that does this call at every start. It takes over the pattern. Collective. */
int grove_pre_fly_often(grove_pre_held *h, grove_pre_call call, grove_pre_pattern **p,
                        const grove_pre_side *send, const grove_pre_side *receive,
                        MPI_Request *request);

/* ---- probe.c ---- */

/* Whether Grove is faster than MPI along this pattern, and the reason why it is taken, or not.
 * Collective; the same on every rank. */
int grove_pre_probe(grove_pre_held *h, grove_pre_call call, grove_pre_pattern *p, char why[256]);

/* The bcast of a persistent call. Without politeness it is one whose messages are all MPI's, and
 * all under way when its start has returned. Collective. */
grove_status grove_pre_bcast_init(grove_pre_held *h, const grove_pre_pattern *p, const void *roots,
                                  void *leaves, grove_op **op);

/* ---- requests.c ---- */

/* Requests of this communicator, which goes, no longer know it. */
void grove_pre_requests_leave(grove_pre_held *h);
/* What is kept to make further ones, at the end. */
void grove_pre_requests_free(void);

/* grove_bcast along a pattern; meanwhile active requests go on. */
int grove_pre_bcast(grove_pre_held *h, const grove_pre_pattern *p, const void *roots, void *leaves);
/* Maxima of all ranks; meanwhile active requests go on. Other ranks may not have come to the call
 * because they wait for these. What follows finds all ranks in the call. Collective. */
void grove_pre_agree(MPI_Comm comm, void *values, int n, MPI_Datatype type);

#endif
