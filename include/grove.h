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
 * (ordered by leaf rank, then by position in that rank's leaf list) and an MPI operation o
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
 * Collective or not. Functions marked Collective are called by every rank of the context's
 * communicator, in the same order, and return the same status on every rank. All others are local:
 * they wait for nobody, except grove_wait, grove_wait_all, grove_wait_any and grove_end, which wait
 * for the data.
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
 * Timeouts. With the option `timeout` a wait that takes longer ends with GROVE_ERR_TIMEOUT and
 * names what is missing; a collective call does so too, but after that no collective call on the
 * context can succeed, since the ranks no longer agree on which is next. A rank that has no memory
 * even for a context waits without a timeout to tell the others.
 *
 * Threads. With MPI_THREAD_MULTIPLE threads may use one context at once: each starts, tests, waits
 * for, begins, ends and frees operations of its own, on forests that they share, and asks for
 * graphs and reports. One operation is used by one thread at a time, and so is a forest until it
 * is set up. Collective calls, the first _begin of a kind among them, may be made at once on
 * different contexts; on one context they are made one after the other, in the same order on every
 * rank: while a thread is in one, a second is GROVE_ERR_STATE on this rank. It may be any thread,
 * and the others go on meanwhile, but while grove_context_set changes an option they must not
 * begin operations. Calls of _begin of one kind are matched in their order, across threads: let
 * each thread use a kind or a forest of its own, or keep the order. What a thread moves may be
 * advanced, and a user's MPI_Op called, by any thread that is in the library. Without
 * MPI_THREAD_MULTIPLE: one thread at a time for all that belongs to one context, and contexts at
 * once only as MPI allows.
 *
 * Lifetimes. An operation holds its forest and a forest its context: free them in any order and in
 * any state. Every *_free(&x) accepts NULL and a pointer to NULL, and sets x to NULL.
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

/* The last call of this thread that failed, as a sentence with the facts (rank, leaf, root, file,
 * line). What a call tries inside and does without, like shared memory, leaves none; an operation
 * that fails while another is waited for leaves the sentence that its own wait returns. Never NULL;
 * "" when nothing failed yet. Valid until this thread's next call of a Grove function. */
GROVE_API const char *grove_last_error(void);

/* GROVE_MUST(call) makes a call of Grove and ends the job if it fails: standard error has the
 * sentence, the rank, and the place of the call. This function does the ending, by MPI_Abort on
 * MPI_COMM_WORLD, or by abort where there is no MPI; it does not return. The option
 * `on_error=abort` makes every call end the job so, without the place.
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

/* The version of the library that the program runs with; GROVE_VERSION_MAJOR and the others are of
 * the header it was compiled with. Any output may be NULL. Local, and needs no MPI. */
GROVE_API grove_status grove_version(int *major, int *minor, int *patch);

/* ---- contexts: what a communicator needs once --------------------------------------------- */

typedef struct grove_context grove_context;

/* Duplicates `comm` (an intracommunicator), finds out which ranks share a node (those of one host),
 * and reads the options from the environment of rank 0 (GROVE_<OPTION>; `grove options` lists
 * them). It does not block inside MPI, and `timeout` holds from the beginning: each rank's own,
 * until rank 0's is known. After a timeout no further collective call, of MPI or of Grove, may be
 * made on comm. MPI must be initialised. Collective over comm. */
GROVE_API grove_status grove_context_create(MPI_Comm comm, grove_context **out);

/* Sets one option, for what is created from now on (`timeout`, `on_error` and `spin`: at once):
 * `key` without the GROVE_ prefix, in any case. Key and value must be the same on every rank. Two
 * options that exclude each other may be set, in any order, but operations are GROVE_ERR_OPTION
 * until one of them is changed: a `route` of 2-step, 3-step or split with a `transport_off_node` of
 * neighbor or rma. Collective. */
GROVE_API grove_status grove_context_set(grove_context *ctx, const char *key, const char *value);

/* The value of an option, as a text that grove_context_set takes: what was set last, here or in the
 * environment, else the default. `key` as there. GROVE_ERR_ARG where `bytes`, which count the
 * closing zero, are too few: nothing is written, and the sentence tells how many it takes.
 * Local. */
GROVE_API grove_status grove_context_get(grove_context *ctx, const char *key, char *value,
                                         size_t bytes);

/* The node that `rank` counts as part of, and the number of nodes: as found, or as the options
 * node_size and node_map say. Either output may be NULL. Local. */
GROVE_API grove_status grove_context_node(grove_context *ctx, int rank, int *node, int *nnodes);

/* Gives the context up. It lives on until the last forest and operation made from it is freed.
 * With `log=summary` the last free prints a table on rank 0. With `trace` it writes a file there.
 * With `transport_off_node=neighbor|rma` it frees what Grove made of MPI. In these cases the last
 * free is Collective, and it returns the error if the file cannot be written, whatever it frees.
 *
 * A context that is still there when the program calls MPI_Finalize has its table and its file
 * written then, and says on standard error what went wrong. Its memory stays, and may still be
 * freed. Nobody waits for a rank that has come to neither within ten seconds: table and file then
 * tell of the others, and say which rank is missing. */
GROVE_API grove_status grove_context_free(grove_context **ctx);

/* ---- memory that the ranks of a node read in place ----------------------------------------- */

/* Memory for arrays, `bytes` of this rank's own choice. Operations recognise it: what they send
 * from it inside a node is not copied into shared memory first, the receivers take it from where it
 * is. That saves a copy of large messages whose slots are consecutive; the sender's grove_wait then
 * returns when they have taken it. It begins on a cache line and holds zeros or anything. Where
 * there is no shared memory, or too little of it, this is ordinary memory; GROVE_ERR_MEMORY on all
 * ranks if one has not even that. Collective. */
GROVE_API grove_status grove_alloc(grove_context *ctx, size_t bytes, void **out);

/* Gives memory of grove_alloc back; NULL is fine. No operation on it may be active on any
 * rank. What is left goes when the context does. Collective: every rank gives back what one
 * call gave it. */
GROVE_API grove_status grove_dealloc(grove_context *ctx, void *memory);

/* ---- forests: what moves ------------------------------------------------------------------- */

typedef struct grove_forest grove_forest;

/* Where a leaf's root is: entry `index` of what `rank` owns. */
typedef struct grove_root {
  int rank;
  int64_t index;
} grove_root;

/* Graphs that need no lists; see grove_forest_set_pattern. */
typedef enum grove_pattern { GROVE_ALLGATHER, GROVE_GATHER, GROVE_ALLTOALL } grove_pattern;

/* A forest without a graph. Local. */
GROVE_API grove_status grove_forest_create(grove_context *ctx, grove_forest **out);
/* Gives the forest up; it lives on until its last operation is freed. Local. */
GROVE_API grove_status grove_forest_free(grove_forest **f);

/* This rank owns `nroots` roots and has `nleaves` leaves; leaf j is slot leaf_index[j] of the leaf
 * array (NULL: slot j; gaps and any order are legal, a slot twice is not) and joined to root[j].
 * The arrays are copied. A bad graph is accepted here and reported by grove_forest_set_up, with
 * the same sentence on every rank. Setting the graph of a forest that was set up is
 * GROVE_ERR_STATE. Local. */
GROVE_API grove_status grove_forest_set_graph(grove_forest *f, int64_t nroots, int64_t nleaves,
                                              const int64_t *leaf_index, const grove_root *root);

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

/* A name for reports and errors; copied. Local. */
GROVE_API grove_status grove_forest_set_name(grove_forest *f, const char *name);

/* Checks the graph and lets every root know its leaves, in time and memory proportional to this
 * rank's edges and neighbours (a GROVE_ALLGATHER has edges to all). A graph that is wrong on one
 * rank is GROVE_ERR_GRAPH on all; the sentence names rank, leaf and root, and a new graph may be
 * set. Collective. */
GROVE_API grove_status grove_forest_set_up(grove_forest *f);

/* ---- queries. Local, of a forest that is set up (else GROVE_ERR_STATE); pointers are valid as
 * long as the forest. Any output may be NULL. ---- */

/* How many roots and leaves this rank has. */
GROVE_API grove_status grove_forest_sizes(grove_forest *f, int64_t *nroots, int64_t *nleaves);

/* The graph as it was set, expanded where it came from global numbers or a pattern. `leaf_index`
 * is NULL where none was given: leaf j is slot j. */
GROVE_API grove_status grove_forest_graph(grove_forest *f, int64_t *nroots, int64_t *nleaves,
                                          const int64_t **leaf_index, const grove_root **root);

/* All leaf slots lie in first <= slot < end; 0, 0 without leaves. A leaf array has `end` units. */
GROVE_API grove_status grove_forest_leaf_range(grove_forest *f, int64_t *first, int64_t *end);

/* The ranks that own a root of one of this rank's leaves, ascending, this rank included. */
GROVE_API grove_status grove_forest_root_ranks(grove_forest *f, int *n, const int **ranks);

/* The ranks that have a leaf on one of this rank's roots, ascending, this rank included. */
GROVE_API grove_status grove_forest_leaf_ranks(grove_forest *f, int *n, const int **ranks);

/* This rank's leaves by the rank of their root, for those with kernels of their own: `n` ranks, as
 * of grove_forest_root_ranks, this rank included. Those of rank ranks[i] are entries offsets[i] ..
 * offsets[i+1]-1 of two lists: leaf_slot, the slot of a leaf in this rank's leaf array, and
 * root_index, the number of its root on that rank. The entries stand in the order of the user's
 * list, which is that of messages; grove_forest_leaf_lists has the same edges there, in the same
 * order. */
GROVE_API grove_status grove_forest_root_lists(grove_forest *f, int *n, const int **ranks,
                                               const int64_t **offsets, const int64_t **leaf_slot,
                                               const int64_t **root_index);

/* This rank's roots by the rank of their leaves, this rank included: entries offsets[i] ..
 * offsets[i+1]-1 of root_index are roots that rank ranks[i] has leaves on, one for each of these
 * leaves, in the order that grove_forest_root_lists has on that rank. */
GROVE_API grove_status grove_forest_leaf_lists(grove_forest *f, int *n, const int **ranks,
                                               const int64_t **offsets, const int64_t **root_index);

/* How many leaves each root has, on all ranks together. */
GROVE_API grove_status grove_forest_degrees(grove_forest *f, int64_t *degree);

/* This rank's part, for people: name, sizes, neighbours, and the edges (the first hundred). */
GROVE_API grove_status grove_forest_print(grove_forest *f, FILE *file);

/* ---- forests from forests. Collective; the result is set up, and the caller frees it. The forests
 * given are of one context, set up, and stay as they are. Each costs what its edges, its neighbours
 * and this rank's roots cost. What cannot be done is refused, with the same status and sentence on
 * every rank.
 *
 * In the drawings every rank's roots are letters, and every leaf slot shows the letter of its root;
 * a dot is a slot that is no leaf. ---- */

/* The forest in which every leaf has a root of its own: those of root 0 of `f` first, in the order
 * of its leaves (see grove_gather_init), then those of root 1, ...; the leaves are the same. A
 * gather on `f` is a reduce on this forest, a scatter a bcast.
 *
 *              rank 0   rank 1   rank 2              rank 0   rank 1   rank 2
 *     roots    a b      c        -          roots    p q r    s        -
 *     leaves   c a      a        b          leaves   s p      q        r
 */
GROVE_API grove_status grove_forest_multi(grove_forest *f, grove_forest **out);

/* Roots and leaves change places: bcast on the result is what reduce with MPI_REPLACE is on `f`.
 * Its roots are the leaf slots of `f`, 0 up to the end of grove_forest_leaf_range; its leaves are
 * the roots of `f` that have a leaf, ascending. A root with two leaves is GROVE_ERR_GRAPH: see
 * grove_forest_multi. The inverse of the inverse has the edges of `f`.
 *
 *              rank 0   rank 1   rank 2              rank 0   rank 1   rank 2
 *     roots    a b      c        d          roots    p        q r      s
 *     leaves   c        . a      b          leaves   r s      p        .
 */
GROVE_API grove_status grove_forest_inverse(grove_forest *f, grove_forest **out);

/* `a`, then `b`: the leaf slots of `a` are the roots of `b`, slot i being root i. The result has
 * the roots of `a` and those leaves of `b` whose root is a leaf of `a`; they keep their slots.
 * Bcast on it is bcast on `a`, then on `b`. Slots of `a` that `b` has no root for, and roots of `b`
 * that are no leaf of `a`, lead nowhere.
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

/* `a`, then `b` backwards: both have the same leaf slots. The result has the roots of `a`, and for
 * leaves those roots of `b` whose leaf is a leaf of `a` too, root i being slot i. What `a` brings
 * to a leaf, `b` takes to its root: bcast on it is bcast on `a`, then reduce with MPI_REPLACE on
 * `b`. A root of `b` with two leaves is GROVE_ERR_GRAPH.
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

/* The edges of the roots (leaf slots) that are named, in any order and as often as one likes;
 * nothing is renumbered, so the arrays of `f` still fit, and what was left out is not touched. A
 * root that this rank does not have, or a slot that is no leaf, is GROVE_ERR_ARG. Each rank names
 * its own; NULL is fine for none.
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
  GROVE_ROOTS_GLOBAL  /* all roots of the first forest in rank order, then all of the second, ...,
                       * dealt out anew: each rank gets as many as it has in all of them together */
} grove_roots;

/* Several forests side by side. On every rank the leaf array of the first comes first, up to the
 * end of its grove_forest_leaf_range, then that of the second, ...; what the roots are says `mode`.
 * With GROVE_ROOTS_SHARED a rank with different numbers of roots is GROVE_ERR_ARG. Every rank
 * passes the same forests in the same order, at least one.
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

/* The edges of both; a slot that is a leaf of both is joined to the root that it has in `b`. The
 * leaves come by ascending slot. Both have the same number of roots on every rank, else
 * GROVE_ERR_ARG.
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

/* Every root and every leaf becomes `n` of them: several values a point, several right-hand sides.
 * Value k of root i is root i + k * root_stride, that of leaf slot j is slot j + k * leaf_stride;
 * with a stride of 0 it is root i * n + k, slot j * n + k: the values of a point side by side. A
 * stride may differ from rank to rank, `n` may not. One at which two leaves fall on one slot is
 * GROVE_ERR_GRAPH.
 *
 *     f        rank 0   rank 1   rank 2     n = 2    rank 0   rank 1   rank 2
 *     roots    a b      c        -          roots    a A b B  c C      -
 *     leaves   c        a        b          leaves   c C      a A      b B
 */
GROVE_API grove_status grove_forest_strided(grove_forest *f, int64_t n, int64_t root_stride,
                                            int64_t leaf_stride, grove_forest **out);

/* From points to the values that they carry. Point r of this rank's roots has root_size[r] values,
 * from root_offset[r] on; the copies of a leaf's go to leaf_offset[slot] and after. The arrays are
 * as long as those of a bcast on `f`: the sizes of the leaves come from their roots. NULL for
 * offsets: side by side, by ascending root or slot. Values of different leaves that fall on one
 * slot are GROVE_ERR_GRAPH, a negative size or offset GROVE_ERR_ARG.
 *
 *     f        rank 0   rank 1   rank 2     sizes 1, 2 of rank 0; 3 of rank 1
 *     roots    a b      c        -          roots    a b b    c c c    -
 *     leaves   c        a        b          leaves   c c c    a        b b
 */
GROVE_API grove_status grove_forest_expand(grove_forest *f, const int64_t *root_size,
                                           const int64_t *root_offset, const int64_t *leaf_offset,
                                           grove_forest **out);

/* The forest that joins equal numbers. Root i of this rank is called root_global[i], leaf slot j
 * looks for leaf_global[j]; the names are any numbers, in any order, of any rank. A name that two
 * roots have is GROVE_ERR_GRAPH; a slot whose name no root has is no leaf. What a rank does for
 * others is in proportion to the names of all ranks together over the number of ranks.
 *
 *              rank 0   rank 1   rank 2              rank 0   rank 1   rank 2
 *     names    70 12    33       -          roots    a b      c        -
 *     sought   33 5     70       12         leaves   c .      a        b
 */
GROVE_API grove_status grove_forest_match(grove_context *ctx, int64_t nroots,
                                          const int64_t *root_global, int64_t nleaves,
                                          const int64_t *leaf_global, grove_forest **out);

/* From the global numbers that a rank uses to local ones, and to the forest of those that it does
 * not own. Each rank owns the next `nowned` global numbers, in rank order. The list `global` has
 * those that this rank uses, in any order, with repeats: the columns of its rows of a matrix, say.
 * Its ghosts are those that others own, each once: they go to `ghost`, ascending, their number to
 * `nghosts`. An array for them all has nowned + nghosts units, its own ones first, then the ghosts;
 * local[i] is the place of global[i] there. The forest updates that array in place: roots are its
 * own units, leaves the ghosts, at slots nowned and after.
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
 * is procs[0] x procs[1] x ...; entries of 0, or all of them where it is NULL, are chosen by
 * MPI_Dims_create. Ranks and arrays are row-major: the last dimension changes fastest (the ranks of
 * MPI_Cart_create are in this order too). In dimension d the c-th of procs[d] blocks has the cells
 *
 *     c * size[d] / procs[d]  up to, but not including,  (c + 1) * size[d] / procs[d]
 *
 * and its array has width[d] more cells on each side (NULL: 1 everywhere). All cells of the array
 * are roots. The leaves are the cells of its frame that lie in the box; each is joined to the same
 * cell in the block that has it. So a bcast from an array to itself fills its frame. In a periodic
 * dimension (NULL: none is) the box goes on at its other end, which may be on the same rank. Beyond
 * the ends of other dimensions nothing is touched. With `corners` 0 only cells that are outside the
 * block in one dimension are leaves: those that a star of neighbours reads. With 1 all cells are.
 *
 *     int64_t size[2] = {rows, columns};
 *     int procs[2] = {0, 0};
 *     MPI_Dims_create(ranks, 2, procs);    // this rank is at rank / procs[1], rank % procs[1]
 *     grove_forest_box(ctx, 2, size, procs, NULL, NULL, 0, &halo);
 *     grove_bcast_init(halo, MPI_DOUBLE, x, x, MPI_REPLACE, &update);
 *
 * Where blocks are smaller than the frame, it reaches further ranks. A block without cells has no
 * leaves. Leaves come by ascending slot. Arguments that differ between ranks are GROVE_ERR_ARG.
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

/* The profile of that name that comes with Grove ("lassen", "tcp-10g"; `grove machine list`), or,
 * if there is none or the text has a slash in it, the file of that name. An error names file, line
 * and column. Local. */
GROVE_API grove_status grove_machine_open(const char *name_or_path, grove_machine **out);

/* Measures the machine that the ranks of the context run on, in about half a minute; the same
 * profile on every rank. Localities that no two ranks have (other nodes, if there is one) are left
 * out. Nothing else should be running, and no operation be active. Collective. */
GROVE_API grove_status grove_machine_measure(grove_context *ctx, grove_machine **out);

/* Writes the profile as text, so that opening the file gives it back. A file that was there is
 * replaced only once the new one is whole. Local: one rank of a job does it. */
GROVE_API grove_status grove_machine_write(const grove_machine *m, const char *path);

/* Gives the profile up. Local. */
GROVE_API grove_status grove_machine_free(grove_machine **m);

/* From now on the context prices its operations (grove_report.predicted_seconds) on this machine,
 * which is copied; NULL: on what the option `machine` says. All ranks pass the same. Collective. */
GROVE_API grove_status grove_context_use_machine(grove_context *ctx, const grove_machine *m);

/* ---- operations: data that moves ----------------------------------------------------------- */

typedef struct grove_op grove_op;

/* Persistent operations. `unit` is any committed MPI datatype, the same on every rank (one that MPI
 * says was not committed is GROVE_ERR_ARG); `op` any predefined operation, MPI_REPLACE, or a user's
 * own (which must outlive the operation). Predefined arithmetic works on all C, Fortran and
 * fixed-width basic types (on Fortran's REAL(16) where it is C's long double) and, element by
 * element, on derived types made of one of them. Root and leaf may be one array if no slot that is
 * read is also written. A rank without roots (leaves) may pass NULL for them. With the option
 * `effort=measure` the first 20 starts try two routes by turns, and from start 85 on all ranks take
 * the faster one; the 84th is complete when every rank has completed the 20th, on ranks that
 * exchange nothing too. With the option `wisdom` the outcome is kept in a file, and an operation of
 * which the file knows the faster route takes it at once. Collective. */
GROVE_API grove_status grove_bcast_init(grove_forest *f, MPI_Datatype unit, const void *root,
                                        void *leaf, MPI_Op op, grove_op **out);
GROVE_API grove_status grove_reduce_init(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                         void *root, MPI_Op op, grove_op **out);

/* Fetch and op: every root becomes ((root o l1) o l2) o ..., and leaf_update gets, in the slot of
 * each leaf, what its root was just before that leaf was added. With MPI_SUM, leaves of 1 and roots
 * that hold an offset, each leaf gets a place of its own; with MPI_NO_OP it only reads.
 * `leaf_update` may be `leaf`. Collective. */
GROVE_API grove_status grove_fetch_init(grove_forest *f, MPI_Datatype unit, void *root,
                                        const void *leaf, void *leaf_update, MPI_Op op,
                                        grove_op **out);

/* All leaves of a root, not combined: `multiroot` has as many units as this rank's roots have
 * leaves (grove_forest_degrees), those of root 0 first, then those of root 1, ..., the leaves of a
 * root by leaf rank, then by position in that rank's leaf list. Scatter is the way back.
 * Collective. */
GROVE_API grove_status grove_gather_init(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                         void *multiroot, grove_op **out);
GROVE_API grove_status grove_scatter_init(grove_forest *f, MPI_Datatype unit, const void *multiroot,
                                          void *leaf, grove_op **out);

/* Several operations as one: what they send to the same rank travels in one message. The members
 * are persistent, of one context, and not under way; of any kinds, types, forests and arrays, as
 * long as none writes what another one reads or writes. A member may itself be a bundle: then its
 * members are meant. Every rank passes the same ones in the same order. The bundle is started,
 * waited for and freed like any operation; its members keep nothing of it and may be freed or used
 * by themselves (while it is not under way). A bundle of none is complete as soon as it is started.
 * Collective. */
GROVE_API grove_status grove_op_bundle(int n, grove_op *const *ops, grove_op **out);

/* Starts the operation; returns at once, waiting for nobody. Every rank must start it, as often as
 * the others; several operations may be started and finished in different orders on different
 * ranks. Until the wait, what it reads must not be written and what it writes not be touched; and
 * the rank must not block, outside the library, on something that another one does only after its
 * own wait: data moves while ranks call the library (or with `progress=thread`).
 *
 * With the option `check` both are looked at, on each rank for itself. A start that reads what
 * another operation under way on the context writes, or writes what it reads or writes, is
 * GROVE_ERR_STATE: nothing has started, and after a wait for the other one it may be started. If a
 * slot that is read was changed, the wait or test that tells of the end is GROVE_ERR_CORRUPT. The
 * sentences name the operations and the slot. Of what goes by parts, slots are looked at from their
 * mark on, and only for changes. Not looked at are: changes in memory of devices, and in other
 * arrays of operations that have some; changes of leaves that a fetch replaces by its updates;
 * channels; operations of other contexts. */
GROVE_API grove_status grove_start(grove_op *op);

/* Advances every active operation of the context (of no other context); `done` is 1 once this one
 * is complete. */
GROVE_API grove_status grove_test(grove_op *op, int *done);

/* Returns when this rank's result is there and its duties for others in this operation are done.
 * On a route that passes data through other ranks (the option `route`) it may need any rank to have
 * started the operation, not only those it exchanges data with.
 * With the option `timeout`: after that many seconds GROVE_ERR_TIMEOUT and a sentence that names
 * the missing messages; the operation stays active and may be waited for again. */
GROVE_API grove_status grove_wait(grove_op *op);

/* Waits for every entry, as grove_wait does: operations of any kind and of any contexts, all of
 * which advance meanwhile. Entries that are NULL or not started are passed over. What fails does
 * not keep the others waiting; the failure of the lowest entry is returned, and its sentence names
 * the entry. The timeout of each operation's context counts from the beginning of this call. One
 * that was made by _begin is still to be ended, by grove_end. */
GROVE_API grove_status grove_wait_all(int n, grove_op *const *ops);

/* Waits until one of them is complete, the lowest of those that are, and sees that one through as
 * grove_wait does; `which` tells its place in the list. It is -1, at once, where no entry is
 * active: all are NULL, not started, or known to be complete by a test. One that was made by _begin
 * is found again until grove_end has ended it, so pass &ops[*which] to that. If the one found has
 * failed, its failure is returned, and `which` is set all the same. So it is after
 * GROVE_ERR_TIMEOUT: the shortest timeout of the contexts counts, and `which` is an entry that it
 * has run out for. */
GROVE_API grove_status grove_wait_any(int n, grove_op *const *ops, int *which);

/* Advances the contexts of all entries and tells which are complete, as grove_test does, waiting
 * for nobody: `ndone` of them, by their places in the first entries of `which`, ascending; there
 * must be room for n. Each is told once (one that was made by _begin until grove_end). `ndone` is
 * -1 where no entry is active, as in grove_wait_any. One that has failed is told alone, by its
 * failure, with `ndone` 1; the next call tells of the others. */
GROVE_API grove_status grove_test_some(int n, grove_op *const *ops, int *ndone, int *which);

/* Frees an operation in any state. One that is active is abandoned: what has not come yet will not
 * be written to the user's array; a large message that is just arriving is waited for (with the
 * option `timeout` so long, then GROVE_ERR_TIMEOUT says that the array must stay). Arrays that it
 * was sending from must stay readable until the context is freed. What it had to send goes on to
 * those who want it; inside a node, data that shared memory has no room for yet only while this
 * rank calls the library on the context. So it is with what passes through this rank on its way to
 * others (on any route but `standard`), and with the answers to those who fetch from its roots,
 * which come from a copy of the roots as they were. GROVE_ERR_MEMORY: there is none to keep what
 * others wait for, and they will not get it. */
GROVE_API grove_status grove_op_free(grove_op **op);

/* One shot: init and start in one call, wait and free in the other. The first call of its kind is
 * Collective; later ones reuse its plan, with any addresses, and wait for nobody: a bad argument is
 * then an error on this rank alone. Of one kind are calls on the same forest of the same operation
 * with the same MPI_Op (all users' operations count as one) and units of the same size and basic
 * type, under the same options but for `timeout`, `on_error`, `log`, `trace`, `spin` and
 * `progress`. They are matched in the order they are made; calls of different kinds may be made in
 * different orders. */
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

/* The two ends of a channel, as in MPI 4: a message that is announced once, filled part by part,
 * and may travel as soon as parts are ready. The sender's buffer has `parts` parts of
 * `count_per_part` units of `type` each, one behind the other, and so has the receiver's; the
 * bytes of both must be equal in sum, the boundaries of their parts need not align. Local: only
 * the two ranks make it. The k-th psend_init to a rank with a tag meets the k-th precv_init
 * there from this rank with that tag, in whatever order those with other tags are made; nothing
 * is sent before the first start.
 *
 *     sender                                        receiver
 *     grove_psend_init(ctx, x, 8, n, ...)           grove_precv_init(ctx, y, 8, n, ...)
 *     grove_start(send)                             grove_start(receive)
 *     (thread t)  ... fill part t ...               while (grove_arrivals(receive, &first, &count),
 *                 grove_ready(send, t, 1)                  count > 0) ... work on these ...
 *     grove_wait(send)                              grove_wait(receive)
 *
 * Tags are 0 or more; peers may be this rank itself. Both ends start every round; a sender that
 * is ahead never writes to a buffer whose receiver has not started that round. If the bytes
 * differ, the wait of both ends is GROVE_ERR_ARG and names both numbers. Which parts travel
 * together the option `aggregator` of the context says, what carries them `transport_parts`. */
GROVE_API grove_status grove_psend_init(grove_context *ctx, const void *buf, int parts,
                                        int64_t count_per_part, MPI_Datatype type, int dest,
                                        int tag, grove_op **out);
GROVE_API grove_status grove_precv_init(grove_context *ctx, void *buf, int parts,
                                        int64_t count_per_part, MPI_Datatype type, int source,
                                        int tag, grove_op **out);

/* ---- by parts: what is final leaves, what has come is told ------------------------------- */

/* Starts an operation on a forest with nothing of this rank's data final: a bcast, scatter, reduce
 * or gather made by _init. grove_ready says what is, and every message leaves when all that it
 * carries is, or, where the option `aggregator` has it so, a first part of it before the rest.
 *
 *     grove_start_parts(halo)
 *     (thread t)  ... compute rows of block t ...
 *                 grove_ready(halo, first[t], first[t + 1] - first[t])
 *     grove_wait(halo)
 *
 * Local, and like grove_start in all else: ranks may mix the two, only when things leave differs.
 * Of a channel it is grove_start. GROVE_ERR_UNSUPPORTED: a fetch, or a bundle. */
GROVE_API grove_status grove_start_parts(grove_op *op);

/* These may be called by any thread, at any time between start and wait, by several threads at
 * once, also where MPI allows only one thread to call it: then the one that started the
 * operation advances it, and the others mark and look. The start must have returned before.
 *
 * What `first` and `count` number:
 *
 *     channel    parts                                  parts
 *     bcast      marks root numbers                     tells leaf slots
 *     scatter    marks places in the multi-root array   tells leaf slots
 *     reduce     marks leaf slots                       tells root numbers
 *     gather     marks leaf slots                       tells root numbers
 *
 * Parts first .. first+count-1 of what this rank sends are final: they may travel. Waits for
 * nobody. A range may have roots that nobody wants, and slots that are no leaf, in it. All that
 * others wait for must be marked some time: a wait does not end before. GROVE_ERR_STATE: one of
 * them was marked in this round already, or the round was not started, or by grove_start.
 * GROVE_ERR_ARG: there are no such parts or roots. */
GROVE_API grove_status grove_ready(grove_op *op, int64_t first, int64_t count);

/* `yes` is 1 once all of these parts of what this rank receives are in its buffer. Leaf slots are
 * when their value has come; roots when all their leaves' values have, and are combined; what
 * nothing comes for is from the start. Also of an operation that was started by grove_start. */
GROVE_API grove_status grove_arrived(grove_op *op, int64_t first, int64_t count, int *yes);

/* The next parts that have come since this was last asked in this round, in the order in which they
 * came; every part is told once, to one of those who ask. `count` 0: none. What nothing comes for
 * is not told. */
GROVE_API grove_status grove_arrivals(grove_op *op, int64_t *first, int64_t *count);

/* Of one part in one round, in seconds since its start: when it was marked ready, left this
 * rank, or arrived; NaN where that has not happened, or happens elsewhere. And the message of
 * the round that it went or came with, from 0; -1 before. */
typedef struct grove_part_time {
  double ready, sent, arrived;
  int64_t message;
} grove_part_time;

/* The times of parts first .. first+count-1 in the round under way, or the last. The channel must
 * have been made with the option `profile` on. */
GROVE_API grove_status grove_op_part_times(grove_op *op, int64_t first, int64_t count,
                                           grove_part_time *out);

/* ---- reports ------------------------------------------------------------------------------ */

/* Seconds of a prediction by what they are spent on: a message off node and its bytes; what bytes
 * wait for because a node's ranks share its network interface; finding the receive that a message
 * belongs to; links that others use too; messages inside the node; copies there; and what ranks
 * wait for because they outnumber the cores. */
typedef struct grove_terms {
  double latency, bandwidth, injection, queue, contention, on_node, copy, cores;
} grove_terms;

/* What an operation does on this rank, for one start, and how long it took. */
typedef struct grove_report {
  size_t struct_size;            /* set by the caller: sizeof(grove_report) */
  const char *route;             /* how the forest was compiled, for the start under way or last:
                                  * "standard" */
  const char *transport;         /* what carries messages off node: "p2p" */
  const char *transport_on_node; /* what carries them on node: "shm", or "mpi" where memory lacks */
  int64_t on_node_messages;      /* sent by this rank, to ranks of its own node */
  int64_t on_node_bytes;
  int64_t off_node_messages; /* sent by this rank, to other nodes */
  int64_t off_node_bytes;
  int64_t starts;           /* completed so far */
  double measured_seconds;  /* mean time from start until completion was seen, of those starts
                             * on this route that were timed: the first few, then one in 16; 0
                             * before */
  double predicted_seconds; /* by the context's machine: the price of the dearest node, by which the
                             * route was chosen or would have been; NaN where the profile lacks what
                             * it takes */
  grove_terms predicted;    /* what that is made of; the same on every rank */
  const char *machine;      /* the name of that machine's profile; valid as long as the operation */
  const char *aggregator;   /* what decides which parts travel together: of a channel, or of an
                           * operation started by parts that has messages to cut; else "none" */
  int64_t parts;            /* of a channel: this end's; else 0 */
  int64_t messages;         /* of a channel: that one round takes; of the last if they differ. Of an
                           * operation started by parts: that a start by parts takes of this rank's
                           * own data; else 0 */
  double delta_seconds;     /* of a channel: how long ready parts wait for others; 0: until all of
                             * their group are ready */
  const char *memory;  /* where this rank's arrays lie: "host", "cuda device 0", or several: "host,
                       * cuda device 0"; valid as long as the operation */
  const char *path;    /* how values travel from and to a device: "staged", through host memory;
                       * "host" where no array of this rank lies on one */
  const char *by_host; /* what kernels cannot do, so that the host does it: "a user's operation",
                        * "long double", "a type that only MPI can walk", "slots that overlap";
                        * several with commas; "" for none */
  int64_t pinned;      /* 1: all host memory that is copied to or from a device is pinned; 0: copies
                        * are slower, or there are none */
  int64_t device_bytes;   /* memory of devices that the operation takes, besides arrays */
  const char *price_note; /* what the price leaves out, as a sentence; "" for nothing */
} grove_report;

/* Fills the first struct_size bytes of the report. Local. */
GROVE_API grove_status grove_op_report(grove_op *op, grove_report *report);

/* Prints, on rank 0, what a bcast of units of this size along the forest would cost by every route
 * on the context's machine: seconds by term, and messages and bytes of all ranks, inside nodes and
 * between them. Then which route Grove takes and why, which is the next best and by how much, and
 * which numbers of the machine were measured and which were not. `file` counts on rank 0 alone.
 * Collective. */
GROVE_API grove_status grove_forest_explain(grove_forest *f, size_t unit_bytes, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
