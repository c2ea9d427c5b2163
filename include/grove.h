/* Grove: irregular communication on parallel machines.
 *
 * The problem. A mesh, a sparse matrix or a graph is cut into pieces, one per rank. Some entries
 * that a rank needs are owned by others. Again and again the owners' values must reach those who
 * need them (a halo exchange), and contributions made elsewhere must get back to the owners
 * (assembly).
 *
 * The model. Every rank has `nroots` roots, numbered 0 .. nroots-1: what it owns. Every rank has
 * leaves: what it needs. A leaf is joined to exactly one root, here or on another rank; a root may
 * have any number of leaves, or none. This is a star forest. For a root r with leaves l1, l2, ...
 * (ordered by leaf rank, then by position in that rank's leaf list; the option `order` may put
 * those of r's own rank first) and an MPI operation o
 *
 *     bcast     leaf = leaf o root                  for every leaf     (MPI_REPLACE: leaf = root)
 *     reduce    root = ((root o l1) o l2) o ...     for every root     (MPI_REPLACE: the last wins)
 *     fetch     the same, and every leaf gets the value that its root had just before it
 *     gather    the leaves of a root side by side at the root, in that order
 *     scatter   from there back to the leaves
 *
 * Root i lives at address root + i * extent(unit), leaf j at leaf + leaf_index[j] * extent(unit).
 * What is not named by the graph is never touched.
 *
 * A use: a vector of 100 own entries with 20 ghosts at its end, updated in place.
 *
 *     grove_context *ctx;  grove_forest *halo;  grove_op *update;
 *     grove_context_create(MPI_COMM_WORLD, &ctx);
 *     grove_forest_create(ctx, &halo);
 *     grove_forest_set_graph(halo, 100, 20, ghost_index, ghost_owner);   // ghost_index: 100 .. 119
 *     grove_forest_set_up(halo);
 *     grove_bcast_init(halo, MPI_DOUBLE, x, x, MPI_REPLACE, &update);
 *     for (...) {
 *       grove_start(update);
 *       ...                                       // work on what needs no ghosts
 *       grove_wait(update);
 *     }
 *     grove_op_free(&update);  grove_forest_free(&halo);  grove_context_free(&ctx);
 *
 * Collective or not. Functions marked Collective must be called by every rank of the context's
 * communicator, in the same order, and return the same status on every rank. All others are local.
 * Local functions do not wait for other ranks, except grove_wait, grove_wait_all, grove_wait_any
 * and grove_end, which wait for the data.
 *
 * Errors. Every function but grove_status_name, grove_last_error and grove_must_end returns a
 * grove_status; outputs come last and are set only on success. grove_last_error() tells what was
 * wrong, in a sentence. The library prints nothing and never aborts, except where it is asked to:
 * by GROVE_MUST, or by the options `on_error`, `log` and `trace`. After MPI_Finalize everything may
 * be freed; a call that needs MPI is GROVE_ERR_STATE.
 *
 * With the option `on_error=abort` a call that would return an error prints its sentence on
 * standard error and ends the job, as GROVE_MUST does. So a program that ignores statuses does not
 * go on with wrong data. The option counts for calls on its context. Calls without one go by
 * GROVE_ON_ERROR in this rank's environment: grove_context_create, grove_machine_open,
 * grove_machine_write, and calls that are given NULL for their context, forest or operation.
 *
 * Timeouts. With the option `timeout` a wait that takes longer returns GROVE_ERR_TIMEOUT and names
 * what is missing. A collective call does so too. After that no collective call on the context can
 * succeed, because the ranks no longer agree on which one is next. A rank that has no memory even
 * for a context waits without a timeout to tell the others.
 *
 * Threads. With MPI_THREAD_MULTIPLE several threads may use one context at once. Each may start,
 * test, wait for, begin, end and free its own operations, on forests that they share, and ask for
 * graphs and reports. An operation is used by one thread at a time, and so is a forest until it is
 * set up.
 *
 * Collective calls, including the first _begin of a kind, may be made at once on different
 * contexts. On one context they are made one after the other, in the same order on every rank.
 * While a thread is in one of them, a second one returns GROVE_ERR_STATE on this rank. Any thread
 * may make the call. The others go on meanwhile, but they must not begin operations while
 * grove_context_set changes an option. Calls of _begin of one kind are matched in the order in
 * which they are made, across threads. So let each thread use its own kind or its own forest, or
 * keep the order.
 *
 * Any thread that is in the library may advance the operations of other threads, and may call a
 * user's MPI_Op for them. Without MPI_THREAD_MULTIPLE only one thread at a time may use a context
 * and what belongs to it. Different contexts may then be used at once only as far as MPI allows.
 *
 * Lifetimes. An operation keeps its forest alive, and a forest its context. So free them in any
 * order and in any state. Every *_free(&x) accepts NULL and a pointer to NULL, and sets x to NULL.
 */
#ifndef GROVE_H
#define GROVE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GROVE_VERSION_MAJOR 0
#define GROVE_VERSION_MINOR 1
#define GROVE_VERSION_PATCH 0

#if defined(__GNUC__)
#define GROVE_API __attribute__((visibility("default")))
#else
#define GROVE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and errors ------------------------------------------------------------------- */

typedef enum grove_status {
  GROVE_OK = 0,
  GROVE_ERR_ARG,         /* an argument no call accepts: NULL, MPI_DATATYPE_NULL, ... */
  GROVE_ERR_GRAPH,       /* the graph is not a star forest; found by grove_forest_set_up */
  GROVE_ERR_STATE,       /* a call at the wrong time: start twice, wait before start, ... */
  GROVE_ERR_OPTION,      /* an unknown option, a value it does not take, or two that do not fit */
  GROVE_ERR_UNSUPPORTED, /* legal, but not possible with this type, operation or size */
  GROVE_ERR_MEMORY,      /* no memory left */
  GROVE_ERR_SYSTEM,      /* the operating system refused something */
  GROVE_ERR_MPI,         /* an MPI call failed */
  GROVE_ERR_TIMEOUT,     /* the option `timeout` ran out; see grove_wait */
  GROVE_ERR_CORRUPT,     /* with the option `check`: a message is not what was sent, or what an
                          * operation reads was changed before its wait */
  GROVE_ERR_DEVICE       /* a GPU, or its driver, refused something */
} grove_status;

/* The name of a status, "GROVE_ERR_GRAPH" for instance. Never NULL. */
GROVE_API const char *grove_status_name(grove_status status);

/* A sentence about the last call of this thread that failed, with the facts (rank, leaf, root,
 * file, line). A call may try something that it can do without, such as shared memory; a failure of
 * that leaves no sentence. If an operation fails while the thread waits for another one, its
 * sentence is there when its own wait returns. Never NULL; "" if nothing has failed yet. Valid
 * until this thread's next call of a Grove function. */
GROVE_API const char *grove_last_error(void);

/* GROVE_MUST(call) makes a call of Grove and ends the job if the call fails. It prints the
 * sentence, the rank and the place of the call on standard error. This function ends the job, by
 * MPI_Abort on MPI_COMM_WORLD, or by abort where MPI cannot be called. It does not return. With the
 * option `on_error=abort` every call ends the job like this, without the place.
 *
 *     GROVE_MUST(grove_wait(update));
 */
GROVE_API void grove_must_end(grove_status status, const char *call, const char *file, int line);
#define GROVE_MUST(call)                                                                           \
  do {                                                                                             \
    grove_status grove_must_status_ = (call);                                                      \
    if (grove_must_status_ != GROVE_OK)                                                            \
      grove_must_end(grove_must_status_, #call, __FILE__, __LINE__);                               \
  } while (0)

/* The version of the library that the program runs with. GROVE_VERSION_MAJOR and the others belong
 * to the header that it was compiled with. Any output may be NULL. Local, and needs no MPI. */
GROVE_API grove_status grove_version(int *major, int *minor, int *patch);

/* ---- contexts: what a communicator needs once --------------------------------------------- */

typedef struct grove_context grove_context;

/* Duplicates `comm` (an intracommunicator), finds out which ranks share a node (those of one host),
 * and reads the options from the environment of rank 0 (GROVE_<OPTION>; `grove options` lists
 * them). It does not block inside MPI. The option `timeout` holds from the beginning: each rank
 * uses its own value until it knows that of rank 0. After a timeout no further collective call, of
 * MPI or of Grove, may be made on comm. MPI must be initialised. Collective over comm. */
GROVE_API grove_status grove_context_create(MPI_Comm comm, grove_context **out);

/* Sets one option, for everything that is created from now on; `timeout`, `on_error` and `spin`
 * take effect at once. `key` has no GROVE_ prefix, and may be in upper or lower case. Key and value
 * must be the same on every rank. Two options that exclude each other may be set, in any order. But
 * operations are GROVE_ERR_OPTION until one of them is changed: a `route` of 2-step, 3-step or
 * split with a `transport_off_node` of neighbor or rma. Collective. */
GROVE_API grove_status grove_context_set(grove_context *ctx, const char *key, const char *value);

/* The value of an option, as a text that grove_context_set accepts: the value that was set last,
 * here or in the environment, else the default. `key` is as in grove_context_set. `bytes` is the
 * room in `value`, including the closing zero. If it is too small, the call returns GROVE_ERR_ARG
 * and writes nothing, and the sentence says how much is needed. Local. */
GROVE_API grove_status grove_context_get(grove_context *ctx, const char *key, char *value,
                                         size_t bytes);

/* The node to which `rank` belongs, and the number of nodes: as Grove found them, or as the options
 * node_size and node_map say. Either output may be NULL. Local. */
GROVE_API grove_status grove_context_node(grove_context *ctx, int rank, int *node, int *nnodes);

/* Gives up the context. It lives on until the last forest and operation made from it is freed.
 * With `log=summary` the last free prints a table on rank 0. With `trace` it writes a file there.
 * With `transport_off_node=auto|neighbor|rma|ofi` it frees what Grove made of MPI or libfabric. In
 * these cases the last free is Collective, and it returns the error if the file cannot be written,
 * whatever it frees.
 *
 * A context that is still there when the program calls MPI_Finalize has its table and its file
 * written then, and says on standard error what went wrong. Its memory stays, and may still be
 * freed. Nobody waits for a rank that has come to neither within ten seconds: table and file then
 * tell of the others, and say which rank is missing. */
GROVE_API grove_status grove_context_free(grove_context **ctx);

/* ---- memory that the ranks of a node read in place ----------------------------------------- */

/* Memory for arrays. Each rank chooses its own number of `bytes`. Operations recognise this memory:
 * inside a node they do not copy data from it into shared memory, because the receivers read it
 * where it lies. That saves one copy of large messages whose slots are consecutive. The sender's
 * grove_wait then returns when the receivers have read it. The memory begins on a cache line, and
 * its contents are undefined. Where there is no shared memory, or too little of it, this is
 * ordinary memory. If one rank has not even that, all ranks get GROVE_ERR_MEMORY. Collective. */
GROVE_API grove_status grove_alloc(grove_context *ctx, size_t bytes, void **out);

/* Frees memory of grove_alloc; NULL is fine. No operation on it may be active on any rank. Memory
 * that is not freed goes with the context. Collective: every rank passes what it got from the same
 * call of grove_alloc. */
GROVE_API grove_status grove_dealloc(grove_context *ctx, void *memory);

/* ---- forests: what moves ------------------------------------------------------------------- */

typedef struct grove_forest grove_forest;

/* Where a leaf's root is: entry `index` of what `rank` owns. */
typedef struct grove_root {
  int rank;
  int64_t index;
} grove_root;

/* The same in half the memory; see grove_forest_set_graph32. */
typedef struct grove_root32 {
  int32_t rank, index;
} grove_root32;

/* Graphs that need no lists; see grove_forest_set_pattern. */
typedef enum grove_pattern { GROVE_ALLGATHER, GROVE_GATHER, GROVE_ALLTOALL } grove_pattern;

/* A forest without a graph. Local. */
GROVE_API grove_status grove_forest_create(grove_context *ctx, grove_forest **out);
/* Gives up the forest. It lives on until its last operation is freed. Local. */
GROVE_API grove_status grove_forest_free(grove_forest **f);

/* This rank owns `nroots` roots and has `nleaves` leaves. Leaf j is slot leaf_index[j] of the leaf
 * array, and is joined to root[j]. If leaf_index is NULL, leaf j is slot j. Gaps and any order are
 * allowed, but no slot may occur twice (but see grove_forest_allow_duplicates). The arrays are
 * copied. A bad graph is accepted here and reported by grove_forest_set_up, with the same sentence
 * on every rank. Setting the graph of a forest that has been set up is GROVE_ERR_STATE. Local. */
GROVE_API grove_status grove_forest_set_graph(grove_forest *f, int64_t nroots, int64_t nleaves,
                                              const int64_t *leaf_index, const grove_root *root);

/* The same from lists of 32-bit numbers, as programs have them whose indices are ints. They are
 * read where they lie. Some ranks may call this, and others grove_forest_set_graph. Local. */
GROVE_API grove_status grove_forest_set_graph32(grove_forest *f, int64_t nroots, int64_t nleaves,
                                                const int32_t *leaf_index,
                                                const grove_root32 *root);

/* The same with roots named by global number: rank 0 owns 0 .. nroots0-1, rank 1 the next, ... */
GROVE_API grove_status grove_forest_set_graph_global(grove_forest *f, int64_t nroots,
                                                     int64_t nleaves, const int64_t *leaf_index,
                                                     const int64_t *global_root);

/* A graph from a pattern:
 *   GROVE_ALLGATHER  n roots on this rank (n may differ by rank); every rank has a leaf for every
 *                    root of every rank, in rank order.
 *   GROVE_GATHER     the same roots; rank 0 has all the leaves, the others none.
 *   GROVE_ALLTOALL   n (equal on all ranks) roots and leaves for every rank of the communicator:
 *                    leaf block j of rank i is joined to root block i of rank j.
 * Local. */
GROVE_API grove_status grove_forest_set_pattern(grove_forest *f, grove_pattern pattern, int64_t n);

/* In this forest one slot may be a leaf several times, joined to the same root or to different
 * ones. Each entry of the list is an edge. A slot that is read is read once per edge: a reduce
 * combines its value with the root of each of them. A slot that is written is written in the order
 * of the list. With MPI_REPLACE the last entry wins. With another operation a bcast combines the
 * slot with the roots of all its entries, one after the other. The same holds for scatter, and for
 * the updates of a fetch. On a rank with such slots, values first come into memory of the
 * operation's own, one per leaf. When all are there, they go to the slots. That is one more copy.
 * Of the calls that make forests from forests, only grove_forest_multi, _inverse, _embed_roots and
 * _embed_leaves take such a forest.
 *
 * To be called before the graph is set, on every rank whose list has such slots. Local. */
GROVE_API grove_status grove_forest_allow_duplicates(grove_forest *f);

/* An option for the operations on this forest that are made from now on, whatever the context has:
 *   route, effort, choose_after, deterministic or order
 * with values as for grove_context_set. Other options are the context's, else this is
 * GROVE_ERR_OPTION. Operations that there are stay as they are; of _begin, the next call of each
 * kind is collective again. Forests that are made from this one do not inherit it. A bundle of
 * operations on forests whose options differ is GROVE_ERR_OPTION. Collective. */
GROVE_API grove_status grove_forest_set(grove_forest *f, const char *key, const char *value);

/* A name for reports and errors; copied. Local. */
GROVE_API grove_status grove_forest_set_name(grove_forest *f, const char *name);

/* Checks the graph and tells every root its leaves. Time and memory are proportional to this rank's
 * edges and neighbours (a GROVE_ALLGATHER has edges to all ranks). If the graph is wrong on one
 * rank, all ranks get GROVE_ERR_GRAPH. The sentence names rank, leaf and root, and a new graph may
 * be set. Collective. */
GROVE_API grove_status grove_forest_set_up(grove_forest *f);

/* ---- queries. Local, of a forest that is set up (else GROVE_ERR_STATE); pointers are valid as
 * long as the forest. Any output may be NULL. ---- */

/* How many roots and leaves this rank has. */
GROVE_API grove_status grove_forest_sizes(grove_forest *f, int64_t *nroots, int64_t *nleaves);

/* The graph as it was set. Global numbers and patterns have become lists of roots. `leaf_index` is
 * NULL if none was given: leaf j is then slot j. */
GROVE_API grove_status grove_forest_graph(grove_forest *f, int64_t *nroots, int64_t *nleaves,
                                          const int64_t **leaf_index, const grove_root **root);

/* All leaf slots lie in first <= slot < end. Both are 0 if there are no leaves. A leaf array has
 * `end` units. */
GROVE_API grove_status grove_forest_leaf_range(grove_forest *f, int64_t *first, int64_t *end);

/* The ranks that own a root of one of this rank's leaves, ascending, this rank included. */
GROVE_API grove_status grove_forest_root_ranks(grove_forest *f, int *n, const int **ranks);

/* The ranks that have a leaf on one of this rank's roots, ascending, this rank included. */
GROVE_API grove_status grove_forest_leaf_ranks(grove_forest *f, int *n, const int **ranks);

/* This rank's leaves, grouped by the rank of their root: for programs that pack with kernels of
 * their own. There are `n` ranks, those of grove_forest_root_ranks, this rank included. The leaves
 * with a root on ranks[i] are entries offsets[i] .. offsets[i+1]-1 of two lists: leaf_slot is the
 * slot of a leaf in this rank's leaf array, and root_index is the number of its root on ranks[i].
 * The entries are in the order of the user's list, which is also the order in messages. On the
 * other rank grove_forest_leaf_lists has the same edges in the same order. */
GROVE_API grove_status grove_forest_root_lists(grove_forest *f, int *n, const int **ranks,
                                               const int64_t **offsets, const int64_t **leaf_slot,
                                               const int64_t **root_index);

/* This rank's roots, grouped by the rank of their leaves, this rank included. Entries offsets[i] ..
 * offsets[i+1]-1 of root_index are the roots on which ranks[i] has leaves, one entry per leaf, in
 * the order that grove_forest_root_lists has on that rank. */
GROVE_API grove_status grove_forest_leaf_lists(grove_forest *f, int *n, const int **ranks,
                                               const int64_t **offsets, const int64_t **root_index);

/* How many leaves each root has, on all ranks together. */
GROVE_API grove_status grove_forest_degrees(grove_forest *f, int64_t *degree);

/* Prints this rank's part for people to read: name, sizes, neighbours, and the first hundred edges.
 */
GROVE_API grove_status grove_forest_print(grove_forest *f, FILE *file);

/* ---- forests from forests. Collective; the result is set up, and the caller frees it. The forests
 * given belong to one context, are set up, and stay as they are. The cost of each call is
 * proportional to its edges, its neighbours and this rank's roots. What cannot be done is refused,
 * with the same status and sentence on every rank.
 *
 * In the drawings the roots of each rank are letters, and each leaf slot has the letter of its
 * root. A dot is a slot that is not a leaf, and a dash means that a rank has none. ---- */

/* The forest in which every leaf has a root of its own. On each rank the roots that replace root 0
 * of `f` come first, one per leaf, in the order of its leaves (see grove_gather_init). Then come
 * those that replace root 1, and so on. The leaves are those of `f`. A gather on `f` is a reduce on
 * this forest, and a scatter on `f` is a bcast on it.
 *
 *              rank 0   rank 1   rank 2              rank 0   rank 1   rank 2
 *     roots    a b      c        -          roots    p q r    s        -
 *     leaves   c a      a        b          leaves   s p      q        r
 */
GROVE_API grove_status grove_forest_multi(grove_forest *f, grove_forest **out);

/* Roots and leaves change places. A bcast on the result moves what a reduce with MPI_REPLACE moves
 * on `f`. The roots of the result are the leaf slots of `f`: all from 0 up to the end of
 * grove_forest_leaf_range. Its leaves are those roots of `f` that have a leaf, in ascending order.
 * A root of `f` with two leaves is GROVE_ERR_GRAPH; for such forests see grove_forest_multi. The
 * inverse of the inverse has the edges of `f`.
 *
 *              rank 0   rank 1   rank 2              rank 0   rank 1   rank 2
 *     roots    a b      c        d          roots    p        q r      s
 *     leaves   c        . a      b          leaves   r s      p        .
 */
GROVE_API grove_status grove_forest_inverse(grove_forest *f, grove_forest **out);

/* First `a`, then `b`: a bcast on the result is a bcast on `a` followed by one on `b`. For this,
 * leaf slot i of `a` is the same as root i of `b`. The result has the roots of `a`. Its leaves are
 * the leaves of `b` whose root is a leaf of `a`, and they keep their slots. If a slot of `a` is not
 * a root of `b`, or a root of `b` is not a leaf of `a`, nothing passes through it.
 *
 *     a        rank 0   rank 1   rank 2     b        rank 0   rank 1   rank 2
 *     roots    a b      c        -          roots    p q      r        s t
 *     leaves   c a      b        . a        leaves   r        t s      p
 *
 *              rank 0   rank 1   rank 2
 *     roots    a b      c        -
 *     leaves   b        a .      c
 */
GROVE_API grove_status grove_forest_compose(grove_forest *a, grove_forest *b, grove_forest **out);

/* First `a`, then `b` backwards: a bcast on the result is a bcast on `a` followed by a reduce with
 * MPI_REPLACE on `b`. For this, leaf slot i of `a` is the same as leaf slot i of `b`: what `a`
 * brings to a leaf, `b` takes to its root there. The result has the roots of `a`. Its leaves are
 * the roots of `b` whose leaf is also a leaf of `a`, and root i of `b` is slot i. A root of `b`
 * with two leaves is GROVE_ERR_GRAPH.
 *
 *     a        rank 0   rank 1   rank 2     b        rank 0   rank 1   rank 2
 *     roots    a b      c        -          roots    p        q r      s
 *     leaves   c a      b        .          leaves   q s      p        r
 *
 *              rank 0   rank 1   rank 2
 *     roots    a b      c        -
 *     leaves   b        c .      a
 */
GROVE_API grove_status grove_forest_compose_inverse(grove_forest *a, grove_forest *b,
                                                    grove_forest **out);

/* A part of `f`: only the edges of the given roots (or leaf slots). Each rank lists its own, in any
 * order, perhaps repeated. An empty list may be NULL. Nothing is renumbered, so the arrays of `f`
 * still fit, and what is left out of the forest is never touched. A root that this rank does not
 * have, or a slot that is not a leaf, is GROVE_ERR_ARG.
 *
 *     f        rank 0   rank 1   rank 2     embed_roots of rank 0's root 0
 *     roots    a b      c        -          roots    a b      c        -
 *     leaves   c a      a        b          leaves   . a      a        .
 */
GROVE_API grove_status grove_forest_embed_roots(grove_forest *f, int64_t n,
                                                const int64_t *root_index, grove_forest **out);
GROVE_API grove_status grove_forest_embed_leaves(grove_forest *f, int64_t n,
                                                 const int64_t *leaf_index, grove_forest **out);

/* What the roots of several forests are in grove_forest_concatenate. */
typedef enum grove_roots {
  GROVE_ROOTS_LOCAL,  /* on every rank, those of the first forest, then those of the second, ... */
  GROVE_ROOTS_SHARED, /* the same in all forests */
  GROVE_ROOTS_GLOBAL  /* all roots of the first forest in rank order, then all of the second, ...;
                       * each rank gets the next ones, as many as it has in all forests together */
} grove_roots;

/* Several forests side by side. On every rank the leaf array of the result begins with that of the
 * first forest, up to the end of its grove_forest_leaf_range. Then comes that of the second, and so
 * on. `mode` says what the roots are. With GROVE_ROOTS_SHARED all forests must have the same number
 * of roots on a rank, else GROVE_ERR_ARG. Every rank passes the same forests in the same order, at
 * least one.
 *
 *     first    rank 0   rank 1   rank 2     second   rank 0   rank 1   rank 2
 *     roots    a b      c        -          roots    d        e        f
 *     leaves   c        a        b          leaves   f d      -        e
 *
 *     LOCAL    rank 0   rank 1   rank 2     GLOBAL   rank 0   rank 1   rank 2
 *     roots    a b d    c e      f          roots    a b c    d e      f
 *     leaves   c f d    a        b e        leaves   c f d    a        b e
 */
GROVE_API grove_status grove_forest_concatenate(int n, grove_forest *const *f, grove_roots mode,
                                                grove_forest **out);

/* The edges of both forests. A slot that is a leaf in both is joined to the root that it has in
 * `b`. The leaves are listed by ascending slot. On every rank `a` and `b` must have the same number
 * of roots, else GROVE_ERR_ARG.
 *
 *     a        rank 0   rank 1   rank 2     b        rank 0   rank 1   rank 2
 *     roots    a b      c        -          roots    a b      c        -
 *     leaves   c a      .        b          leaves   . b      a c      .
 *
 *              rank 0   rank 1   rank 2
 *     roots    a b      c        -
 *     leaves   c b      a c      b
 */
GROVE_API grove_status grove_forest_merge(grove_forest *a, grove_forest *b, grove_forest **out);

/* Each root becomes `n` roots and each leaf `n` leaves: for several values per point, or several
 * right-hand sides. Value k of root i is root i + k * root_stride, and value k of leaf slot j is
 * slot j + k * leaf_stride. With a stride of 0 they are root i * n + k and slot j * n + k: the
 * values of a point lie side by side. A stride may differ from rank to rank, `n` may not. A stride
 * at which two leaves fall on one slot is GROVE_ERR_GRAPH.
 *
 *     f        rank 0   rank 1   rank 2     n = 2    rank 0   rank 1   rank 2
 *     roots    a b      c        -          roots    a A b B  c C      -
 *     leaves   c        a        b          leaves   c C      a A      b B
 */
GROVE_API grove_status grove_forest_strided(grove_forest *f, int64_t n, int64_t root_stride,
                                            int64_t leaf_stride, grove_forest **out);

/* From points to the values that they carry. Root r of this rank has root_size[r] values, which
 * begin at root_offset[r]. The values of the leaf at a slot begin at leaf_offset[slot]. The arrays
 * of sizes and offsets have one entry for each root or leaf slot, as the arrays of a bcast on `f`
 * have. A leaf has as many values as its root, so the sizes of leaves are not given. If offsets are
 * NULL, values lie side by side, by ascending root or slot. If values of two leaves fall on one
 * slot, that is GROVE_ERR_GRAPH. A negative size or offset is GROVE_ERR_ARG.
 *
 *     f        rank 0   rank 1   rank 2     sizes 1, 2 of rank 0; 3 of rank 1
 *     roots    a b      c        -          roots    a b b    c c c    -
 *     leaves   c        a        b          leaves   c c c    a        b b
 */
GROVE_API grove_status grove_forest_expand(grove_forest *f, const int64_t *root_size,
                                           const int64_t *root_offset, const int64_t *leaf_offset,
                                           grove_forest **out);

/* The forest that joins equal numbers. Root i of this rank is called root_global[i], and leaf slot
 * j looks for leaf_global[j]. These names may be any numbers, in any order, on any rank. If two
 * roots have the same name, that is GROVE_ERR_GRAPH. A slot is not a leaf if no root has its name.
 * The work that a rank does for others is proportional to the number of names per rank.
 *
 *              rank 0   rank 1   rank 2              rank 0   rank 1   rank 2
 *     names    70 12    33       -          roots    a b      c        -
 *     sought   33 5     70       12         leaves   c .      a        b
 */
GROVE_API grove_status grove_forest_match(grove_context *ctx, int64_t nroots,
                                          const int64_t *root_global, int64_t nleaves,
                                          const int64_t *leaf_global, grove_forest **out);

/* Turns the global numbers that a rank uses into local ones, and makes the forest of those that it
 * does not own. Each rank owns the next `nowned` global numbers, in rank order. The list `global`
 * has the numbers that this rank uses, in any order, perhaps repeated: the columns of its rows of a
 * matrix, say. The ghosts of this rank are those that others own, each once. They go to `ghost`, in
 * ascending order, and their number to `nghosts`. An array for all of them has nowned + nghosts
 * units: first those that the rank owns, then the ghosts. local[i] is the place of global[i] in it.
 * The forest updates this array in place: its roots are the owned units, its leaves the ghosts, at
 * slots nowned and after.
 *
 *     grove_ghosts(ctx, rows, n, column, column, &nghosts, ghost, &halo);
 *     grove_bcast_init(halo, MPI_DOUBLE, x, x, MPI_REPLACE, &update);   // x: rows + nghosts units
 *     ...
 *     y[i] += value[k] * x[column[k]];
 *
 * `local` may be `global` itself. Each of local, nghosts and ghost may be NULL. A number that no
 * rank owns is GROVE_ERR_ARG; the sentence names rank, entry and number.
 *
 *              rank 0   rank 1   rank 2              rank 0   rank 1   rank 2
 *     nowned   2        1        0          roots    a b      c        -
 *     global   2 0 2    0 2 1    1          leaves   . . c    . a b    b
 *     local    2 0 2    1 0 2    0
 *     ghost    2        0 1      1
 */
GROVE_API grove_status grove_ghosts(grove_context *ctx, int64_t nowned, int64_t n,
                                    const int64_t *global, int64_t *local, int64_t *nghosts,
                                    int64_t *ghost /* room for n */, grove_forest **out);

/* The halo of a structured grid: a box of cells, cut into blocks, one per rank, each in an array
 * with a frame. The box has size[0] x size[1] x ... cells, in 1 to 8 dimensions. The process grid
 * is procs[0] x procs[1] x ... . MPI_Dims_create chooses entries that are 0, and all of them if
 * `procs` is NULL. Ranks and arrays are row-major: the last dimension changes fastest. (The ranks
 * of MPI_Cart_create are in this order too.) In dimension d, block c of procs[d] has the cells
 *
 *     c * size[d] / procs[d]  up to, but not including,  (c + 1) * size[d] / procs[d]
 *
 * and its array has width[d] more cells on each side: its frame. If `width` is NULL, it is 1
 * everywhere. All cells of the array are roots. The leaves are the cells of the frame that lie in
 * the box. Each of them is joined to the same cell in the block to which it belongs. So a bcast
 * from the array to itself fills the frame. In a periodic dimension the box continues at its other
 * end, which may be on the same rank. If `periodic` is NULL, no dimension is periodic. Beyond the
 * ends of a dimension that is not periodic nothing is touched. With `corners` 0 a cell of the frame
 * is a leaf only if it is outside the block in just one dimension: these are the cells that a star
 * of neighbours reads. With `corners` 1 all of them are leaves.
 *
 *     int64_t size[2] = {rows, columns};
 *     int procs[2] = {0, 0};
 *     MPI_Dims_create(ranks, 2, procs);    // this rank is at rank / procs[1], rank % procs[1]
 *     grove_forest_box(ctx, 2, size, procs, NULL, NULL, 0, &halo);
 *     grove_bcast_init(halo, MPI_DOUBLE, x, x, MPI_REPLACE, &update);
 *
 * Where blocks are narrower than the frame, the frame reaches beyond the next rank. A block without
 * cells has no leaves. The leaves are listed by ascending slot. Arguments that differ between ranks
 * are GROVE_ERR_ARG.
 *
 *     (size 6, width 1; x: a root without leaves)    corners 0     corners 1
 *              rank 0    rank 1    rank 2            . l l l .     l l l l l
 *     roots    x a b x   x c d x   x e f x           l o o o l     l o o o l
 *     leaves   . . . c   b . . e   d . . .           l o o o l     l o o o l
 *                                                    . l l l .     l l l l l
 */
GROVE_API grove_status grove_forest_box(grove_context *ctx, int dims, const int64_t *size,
                                        const int *procs, const int *periodic, const int *width,
                                        int corners, grove_forest **out);

/* ---- machines: what messages cost ------------------------------------------------------------ */

/* A profile of a machine: latencies, rates and limits, each with its source. The table of every
 * term is in docs/machines.md; `grove machine` lists, shows, measures and compares profiles. */
typedef struct grove_machine grove_machine;

/* Opens the profile of that name that comes with Grove ("lassen", "tcp-10g"; `grove machine list`).
 * If there is none, or if the text contains a slash, it opens the file of that name. An error names
 * file, line and column. Local. */
GROVE_API grove_status grove_machine_open(const char *name_or_path, grove_machine **out);

/* Measures the machine on which the ranks of the context run, in about half a minute. Every rank
 * gets the same profile. What the ranks cannot measure is left out: a job on one node knows nothing
 * of other nodes. No operation may be active, and nothing else should be running. Collective. */
GROVE_API grove_status grove_machine_measure(grove_context *ctx, grove_machine **out);

/* Writes the profile as text. Opening the file gives the same profile. An existing file is replaced
 * only when the new one is complete. Local: one rank of a job does it. */
GROVE_API grove_status grove_machine_write(const grove_machine *m, const char *path);

/* Frees the profile. Local. */
GROVE_API grove_status grove_machine_free(grove_machine **m);

/* From now on the context predicts the times of its operations (grove_report.predicted_seconds) for
 * this machine, which is copied. If it is NULL, the option `machine` counts again. All ranks pass
 * the same machine. Collective. */
GROVE_API grove_status grove_context_use_machine(grove_context *ctx, const grove_machine *m);

/* ---- operations: data that moves ----------------------------------------------------------- */

typedef struct grove_op grove_op;

/* Persistent operations. `unit` is any committed MPI datatype, the same on every rank; one that MPI
 * says was not committed is GROVE_ERR_ARG. `op` is any predefined operation, MPI_REPLACE, or a
 * user's own, which must outlive the operation. Predefined arithmetic works on all C, Fortran and
 * fixed-width basic types (on Fortran's REAL(16) where it is C's long double) and, element by
 * element, on derived types made of one of them. Root and leaf may be one array if no slot that is
 * read is also written. A rank without roots (leaves) may pass NULL for them.
 *
 * With the option `effort=measure` the first 20 starts try two routes in turn, and from start 85 on
 * all ranks take the faster one. Start 84 is complete only when every rank has completed start 20,
 * even on ranks that exchange nothing. With the option `wisdom` the outcome is kept in a file, and
 * an operation whose faster route is known there takes it at once. Collective. */
GROVE_API grove_status grove_bcast_init(grove_forest *f, MPI_Datatype unit, const void *root,
                                        void *leaf, MPI_Op op, grove_op **out);
GROVE_API grove_status grove_reduce_init(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                         void *root, MPI_Op op, grove_op **out);

/* Fetch and op. Every root becomes ((root o l1) o l2) o ... . In the slot of each leaf, leaf_update
 * gets the value that its root had just before that leaf was added. With MPI_SUM, leaves of 1 and
 * roots that hold an offset, each leaf gets a place of its own. With MPI_NO_OP it only reads.
 * `leaf_update` may be `leaf`. Collective. */
GROVE_API grove_status grove_fetch_init(grove_forest *f, MPI_Datatype unit, void *root,
                                        const void *leaf, void *leaf_update, MPI_Op op,
                                        grove_op **out);

/* Gather brings the values of all leaves to their roots without combining them. `multiroot` has
 * one unit for each leaf of this rank's roots (grove_forest_degrees): first those of root 0, then
 * those of root 1, and so on. The leaves of one root are ordered by leaf rank, then by position in
 * that rank's leaf list. Scatter is the way back: each leaf gets its unit. Collective. */
GROVE_API grove_status grove_gather_init(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                         void *multiroot, grove_op **out);
GROVE_API grove_status grove_scatter_init(grove_forest *f, MPI_Datatype unit, const void *multiroot,
                                          void *leaf, grove_op **out);

/* Several operations as one: what they send to the same rank travels in one message. The members
 * are persistent operations of one context, none of them active. Their kinds, types, forests and
 * arrays may differ, as long as none writes what another one reads or writes. A member may itself
 * be a bundle; then its members are taken. Every rank passes the same members in the same order.
 * The bundle is started, waited for and freed like any operation. Its members stay independent:
 * they may be freed, and used by themselves while the bundle is not active. A bundle without
 * members is complete as soon as it is started. Collective. */
GROVE_API grove_status grove_op_bundle(int n, grove_op *const *ops, grove_op **out);

/* Starts the operation and returns at once, without waiting for anybody. Every rank must start it
 * equally often. Different ranks may start and finish several operations in different orders. Until
 * the wait returns, the program must not write what the operation reads, nor touch what it writes.
 * Data moves only while ranks call the library (or with `progress=thread`). So between start and
 * wait a rank must not block outside the library on something that another rank does only after its
 * own wait.
 *
 * With the option `check` each rank looks at its arrays. A start is GROVE_ERR_STATE if it reads
 * what another active operation of this process writes, or writes what that one reads or writes.
 * The other operation may belong to any context that has the option. Nothing has started then, and
 * it may be started after a wait for the other one. If a slot that is read was changed, the wait or
 * test that reports the end is GROVE_ERR_CORRUPT. The sentences name the operations and the slot.
 * In operations that leave by parts, and in channels, what is sent is looked at from its mark on,
 * and only for changes; the sentence names the slot or the part. What is received is not looked at
 * any more once the program has asked which parts have arrived.
 *
 * Some things are not looked at. Leaves that a fetch replaces by its updates may change. If any
 * array of an operation lies in device memory, changes in its arrays are not noticed, because such
 * arrays are final only when their stream has come so far. Channels in device memory are not looked
 * at either. */
GROVE_API grove_status grove_start(grove_op *op);

/* Advances every active operation of the context (of no other context); `done` is 1 once this one
 * is complete. */
GROVE_API grove_status grove_test(grove_op *op, int *done);

/* Returns when this rank's result is there and when it has sent everything that others need from
 * it. On a route that passes data through other ranks (the option `route`) this may require that
 * any rank has started the operation, not only those with which it exchanges data. With the option
 * `timeout` it returns GROVE_ERR_TIMEOUT after that many seconds, and the sentence names the
 * missing messages. The operation stays active and may be waited for again. */
GROVE_API grove_status grove_wait(grove_op *op);

/* Waits for every entry, as grove_wait does. The operations may be of any kind and any contexts,
 * and all of them advance meanwhile. Entries that are NULL or not started are skipped. If an
 * operation fails, the call still waits for the others. It then returns the failure of the lowest
 * entry that failed, and the sentence names that entry. The timeout of each operation's context
 * counts from the beginning of this call. An operation that was made by _begin must still be ended
 * by grove_end. */
GROVE_API grove_status grove_wait_all(int n, grove_op *const *ops);

/* Waits until one of them is complete, takes the lowest entry that is, and finishes it as
 * grove_wait does. `which` is its place in the list. If no entry is active, the call returns at
 * once and `which` is -1: then all entries are NULL, not started, or known to be complete from a
 * test. An operation that was made by _begin is found again until grove_end has ended it, so pass
 * &ops[*which] to grove_end. If the operation has failed, its failure is returned, and `which` is
 * set all the same. After GROVE_ERR_TIMEOUT it is set too: the shortest timeout of the contexts
 * counts, and `which` is an entry whose timeout has run out. */
GROVE_API grove_status grove_wait_any(int n, grove_op *const *ops, int *which);

/* Advances the contexts of all entries and reports which are complete, as grove_test does, without
 * waiting. `ndone` is their number. Their places are in the first entries of `which`, in ascending
 * order; it must have room for n. Each operation is reported once, but one that was made by _begin
 * is reported until grove_end. `ndone` is -1 if no entry is active, as in grove_wait_any. An
 * operation that has failed is reported alone: its failure is returned, and `ndone` is 1. The next
 * call reports the others. */
GROVE_API grove_status grove_test_some(int n, grove_op *const *ops, int *ndone, int *which);

/* Frees an operation in any state. If it is active, it is abandoned: what has not arrived yet is
 * not written to the user's array. A large message that is just arriving is waited for. With the
 * option `timeout` that wait is limited; GROVE_ERR_TIMEOUT then says that the array must stay.
 *
 * Arrays from which the operation was sending must stay readable until the context is freed. What
 * it had to send still goes to those who want it. Inside a node, data for which shared memory has
 * no room yet moves only while this rank calls the library on the context. The same holds for data
 * that passes through this rank on its way to others (on any route but `standard`), and for the
 * answers to those who fetch from its roots. These answers come from a copy of the roots as they
 * were. GROVE_ERR_MEMORY means that there is no memory to keep what others wait for: they will not
 * get it. */
GROVE_API grove_status grove_op_free(grove_op **op);

/* A pointer of the program's own, which Grove keeps with the operation and never uses: NULL until
 * it is set. A one-shot loses it when it ends. Local. */
GROVE_API grove_status grove_op_set_user(grove_op *op, void *user);
GROVE_API grove_status grove_op_get_user(grove_op *op, void **user);

/* One shot: init and start in one call, wait and free in the other. The first call of its kind is
 * Collective. Later ones reuse its plan, with any addresses, and wait for nobody. A bad argument is
 * then an error on this rank alone. Two calls are of one kind if they have the same forest,
 * operation and MPI_Op (all users' operations count as one), units of the same size and basic type,
 * and the same options, apart from `timeout`, `on_error`, `log`, `trace`, `spin` and `progress`.
 * Calls of one kind are matched in the order in which they are made. Calls of different kinds may
 * be made in different orders.
 *
 * With the option choose_after=n the first call of a kind does less: it takes the standard route
 * and asks for no prices (the report has none). The call after the first n is then Collective too,
 * and chooses, if there is a choice. So kinds that are used a few times never pay for one. */
GROVE_API grove_status grove_bcast_begin(grove_forest *f, MPI_Datatype unit, const void *root,
                                         void *leaf, MPI_Op op, grove_op **out);
GROVE_API grove_status grove_reduce_begin(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                          void *root, MPI_Op op, grove_op **out);
GROVE_API grove_status grove_fetch_begin(grove_forest *f, MPI_Datatype unit, void *root,
                                         const void *leaf, void *leaf_update, MPI_Op op,
                                         grove_op **out);
GROVE_API grove_status grove_gather_begin(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                          void *multiroot, grove_op **out);
GROVE_API grove_status grove_scatter_begin(grove_forest *f, MPI_Datatype unit,
                                           const void *multiroot, void *leaf, grove_op **out);
GROVE_API grove_status grove_end(grove_op **op);

/* Makes beforehand what the first one-shot of a kind would make, so that no _begin of this kind is
 * collective any more: for arrays in the host's memory, at any addresses. What is already there is
 * kept. The route is chosen here, whatever choose_after says. A call that every rank makes, with
 * the same kind. Collective. */
GROVE_API grove_status grove_bcast_prepare(grove_forest *f, MPI_Datatype unit, MPI_Op op);
GROVE_API grove_status grove_reduce_prepare(grove_forest *f, MPI_Datatype unit, MPI_Op op);
GROVE_API grove_status grove_fetch_prepare(grove_forest *f, MPI_Datatype unit, MPI_Op op);
GROVE_API grove_status grove_gather_prepare(grove_forest *f, MPI_Datatype unit);
GROVE_API grove_status grove_scatter_prepare(grove_forest *f, MPI_Datatype unit);

/* Begin and end in one call. */
GROVE_API grove_status grove_bcast(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                                   MPI_Op op);
GROVE_API grove_status grove_reduce(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                    void *root, MPI_Op op);
GROVE_API grove_status grove_fetch(grove_forest *f, MPI_Datatype unit, void *root, const void *leaf,
                                   void *leaf_update, MPI_Op op);
GROVE_API grove_status grove_gather(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                    void *multiroot);
GROVE_API grove_status grove_scatter(grove_forest *f, MPI_Datatype unit, const void *multiroot,
                                     void *leaf);

/* ---- channels: one message, filled by many threads ---------------------------------------- */

/* The two ends of a channel, as in MPI 4: a message that is set up once, filled part by part, and
 * may travel as soon as parts are ready. The sender's buffer has `parts` parts of `count_per_part`
 * units of `type` each, one after the other, and so has the receiver's. Both must have the same
 * number of bytes in total, but the boundaries of their parts need not match. Local: only the two
 * ranks create it. The k-th psend_init to a rank with a given tag is matched with the k-th
 * precv_init on that rank for this rank and tag. Channels with other tags do not matter for this.
 * Nothing is sent before the first start.
 *
 *     sender                                        receiver
 *     grove_psend_init(ctx, x, 8, n, ...)           grove_precv_init(ctx, y, 8, n, ...)
 *     grove_start(send)                             grove_start(receive)
 *     (thread t)  ... fill part t ...               while (grove_arrivals(receive, &first, &count),
 *                 grove_ready(send, t, 1)                  count > 0) ... work on these ...
 *     grove_wait(send)                              grove_wait(receive)
 *
 * Tags are 0 or more. The peer may be this rank itself. Both ends start every round. A sender that
 * is ahead never writes to a buffer whose receiver has not started that round. If the numbers of
 * bytes differ, the wait of both ends returns GROVE_ERR_ARG and names both. The option `aggregator`
 * of the context says which parts travel together, and `transport_parts` says what carries them. */
GROVE_API grove_status grove_psend_init(grove_context *ctx, const void *buf, int parts,
                                        int64_t count_per_part, MPI_Datatype type, int dest,
                                        int tag, grove_op **out);
GROVE_API grove_status grove_precv_init(grove_context *ctx, void *buf, int parts,
                                        int64_t count_per_part, MPI_Datatype type, int source,
                                        int tag, grove_op **out);

/* ---- by parts: values leave when they are final, and are used as they arrive -------------- */

/* Starts an operation on a forest before any of this rank's data is final: a bcast, scatter, reduce
 * or gather made by _init. grove_ready says what is final. Every message leaves when all that it
 * carries is final. With some values of the option `aggregator` its first part may leave earlier.
 *
 *     grove_start_parts(halo)
 *     (thread t)  ... compute rows of block t ...
 *                 grove_ready(halo, first[t], first[t + 1] - first[t])
 *     grove_wait(halo)
 *
 * Local, and otherwise like grove_start. Ranks may mix the two; only the times at which messages
 * leave differ. For a channel it is the same as grove_start. For a fetch or a bundle it is
 * GROVE_ERR_UNSUPPORTED. */
GROVE_API grove_status grove_start_parts(grove_op *op);

/* Marks parts first .. first+count-1 of what this rank sends as final, so that they may travel.
 * Waits for nobody. A range may contain roots that nobody wants, and slots that are not leaves.
 * Everything that others wait for must be marked at some time; no wait returns before that.
 * GROVE_ERR_STATE: one of them was already marked in this round, or the round was not started, or
 * it was started by grove_start. GROVE_ERR_ARG: there are no such parts or roots.
 *
 * What `first` and `count` number here, and in grove_arrived and grove_arrivals:
 *
 *     channel    parts                                  parts
 *     bcast      marks root numbers                     tells leaf slots
 *     scatter    marks places in the multi-root array   tells leaf slots
 *     reduce     marks leaf slots                       tells root numbers
 *     gather     marks leaf slots                       tells root numbers
 *
 * Any thread may call these three functions, and several may do so at once, at any time between
 * start and wait. The start must have returned. This holds even where MPI allows only one thread to
 * call it: then the thread that started the operation advances it, and the others mark and look. */
GROVE_API grove_status grove_ready(grove_op *op, int64_t first, int64_t count);

/* `yes` is 1 once all of these parts of what this rank receives have arrived in its buffer. A leaf
 * slot has arrived when its value is there. A root has arrived when the values of all its leaves
 * are there and have been combined. A slot that receives nothing counts as arrived from the start.
 * Works also for an operation that was started by grove_start. */
GROVE_API grove_status grove_arrived(grove_op *op, int64_t first, int64_t count, int *yes);

/* The next parts that have arrived since the last call in this round, in the order of arrival.
 * Every part is reported once, to one of the callers. If there are none, `count` is 0. Parts that
 * receive nothing are not reported. */
GROVE_API grove_status grove_arrivals(grove_op *op, int64_t *first, int64_t *count);

/* The times of one part in one round, in seconds since the start: when it was marked ready, left
 * this rank, or arrived. NaN where that has not happened yet, or happens on the other rank.
 * `message` is the number of the message that carried it in this round, from 0; -1 before that. */
typedef struct grove_part_time {
  double ready, sent, arrived;
  int64_t message;
} grove_part_time;

/* The times of parts first .. first+count-1 in the round under way, or the last. The channel must
 * have been made with the option `profile` on. */
GROVE_API grove_status grove_op_part_times(grove_op *op, int64_t first, int64_t count,
                                           grove_part_time *out);

/* ---- reports ------------------------------------------------------------------------------ */

/* The seconds of a prediction, by what they are spent on. In this order: the latency of messages
 * between nodes; their bytes; waiting because the ranks of a node share its network interface;
 * finding the receive to which a message belongs; waiting for links that others use too; messages
 * inside the node; copies there; and waiting because there are more ranks than cores. */
typedef struct grove_terms {
  double latency, bandwidth, injection, queue, contention, on_node, copy, cores;
} grove_terms;

/* What an operation does on this rank, for one start, and how long it took. */
typedef struct grove_report {
  /* Set by the caller: sizeof(grove_report). */
  size_t struct_size;
  /* The route of the start under way: "standard", "3-step", ... If none is under way, the route of
   * the last start. "channel" for a channel. */
  const char *route;
  /* What carries messages between nodes: "p2p", ... */
  const char *transport;
  /* What carries data inside the node: "shm" for shared memory, or "mpi" if there is too little
   * shared memory, or if the option `transport_on_node` asks for it. */
  const char *transport_on_node;
  /* Messages that this rank sends inside its node in one start, and their bytes. */
  int64_t on_node_messages;
  int64_t on_node_bytes;
  /* Messages that this rank sends to other nodes in one start, and their bytes. */
  int64_t off_node_messages;
  int64_t off_node_bytes;
  /* How many starts are complete. */
  int64_t starts;
  /* Mean time from a start until this rank noticed that it was complete. Only some starts on this
   * route are timed: the first few, then one in 16. 0 if none has been timed yet. */
  double measured_seconds;
  /* The time of one start that the profile of the machine predicts for the slowest node. Grove
   * chooses routes by this number. NaN if the profile lacks what the prediction needs. */
  double predicted_seconds;
  /* The parts of that prediction; the same on every rank. */
  grove_terms predicted;
  /* The name of the profile; valid as long as the operation. */
  const char *machine;
  /* The aggregator, which decides which parts travel together: of a channel, or of an operation
   * that was started by parts and whose messages can be divided. Else "none". */
  const char *aggregator;
  /* Channel: the number of parts at this end. Else 0. */
  int64_t parts;
  /* Channel: how many messages one round takes; if rounds differ, the last one. Operation that was
   * started by parts: how many messages this rank's own data is divided into. Else 0. */
  int64_t messages;
  /* Channel: how long ready parts wait for other parts of their group, in seconds. 0: until the
   * whole group is ready. */
  double delta_seconds;
  /* Where this rank's arrays lie: "host", "cuda device 0", or in several memories: "host, cuda
   * device 0". Valid as long as the operation. */
  const char *memory;
  /* How values travel to and from a device: "staged" means through host memory. "host" if no array
   * of this rank lies on a device. */
  const char *path;
  /* Why the host does some of a kernel's work: "a user's operation", "long double", "a type that
   * only MPI can walk", "slots that overlap", or several of these, separated by commas. "" if
   * kernels do all of it. */
  const char *by_host;
  /* 1 if all host memory that is copied to or from a device is pinned. 0 if some is not (copies are
   * then slower), or if there is none. */
  int64_t pinned;
  /* Device memory that the operation uses, besides the arrays. */
  int64_t device_bytes;
  /* A sentence that says what the prediction leaves out. "" if it leaves out nothing. */
  const char *price_note;
  /* Messages that this rank receives in one start from its node and from other nodes, and their
   * bytes. Channel: 0. */
  int64_t on_node_messages_received;
  int64_t on_node_bytes_received;
  int64_t off_node_messages_received;
  int64_t off_node_bytes_received;
} grove_report;

/* Fills the first struct_size bytes of the report. Local. */
GROVE_API grove_status grove_op_report(grove_op *op, grove_report *report);

/* Prints, on rank 0, what a bcast of units of this size along the forest would cost by every route
 * on the context's machine: seconds by term, and messages and bytes of all ranks, inside nodes and
 * between them. Then it says which route Grove takes and why, which one is next and by how much,
 * and which numbers of the machine were measured. Only the `file` of rank 0 is used. Collective. */
GROVE_API grove_status grove_forest_explain(grove_forest *f, size_t unit_bytes, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
