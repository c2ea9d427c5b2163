/* A machine, as a model sees it: how long messages, bytes, copies and queue steps take, by where
 * the two ends are and how the message travels.
 *
 * A profile is a table of rows, read from and written to plain text (profile.c). Every row is one
 * number with its source. The numbers that formulas use are kept beside the rows, ready for lookup.
 * What a profile does not say is NaN (a duration), 0 (a count) or an empty list.
 *
 *     grove_machine *m = NULL;
 *     GROVE_TRY(grove_machine_open("lassen", &m));
 *     grove_postal p = grove_machine_postal(m, GROVE_CPU, GROVE_OFF_NODE, 4096);
 *     seconds = p.alpha + p.beta * 4096;
 *     grove_machine_free(&m);
 */
#ifndef GROVE_MODEL_MACHINE_H
#define GROVE_MODEL_MACHINE_H

#include "base/status.h"
#include "model/links.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the data of a message is; gpu-nogdr: with GPUDirect off. */
typedef enum grove_memory_kind {
  GROVE_CPU,
  GROVE_GPU,
  GROVE_GPU_NOGDR,
  GROVE_MEMORIES
} grove_memory_kind;

/* How far apart the ends of a message are. */
typedef enum grove_locality {
  GROVE_ON_SOCKET,
  GROVE_ON_NODE,
  GROVE_OFF_NODE,
  GROVE_LOCALITIES,
  /* For LogGP alone: between nodes, and over libfabric instead of MPI. */
  GROVE_OVER_FABRIC = GROVE_LOCALITIES,
  GROVE_LOGGP_LISTS
} grove_locality;

/* How MPI sends a message, by its size. */
typedef enum grove_protocol {
  GROVE_SHORT,
  GROVE_EAGER,
  GROVE_REND,
  GROVE_PROTOCOLS
} grove_protocol;

typedef enum grove_direction { GROVE_D2H, GROVE_H2D, GROVE_DIRECTIONS } grove_direction;

/* As profiles and commands spell them. */
extern const char *const grove_memory_names[GROVE_MEMORIES];
extern const char *const grove_locality_names[GROVE_LOCALITIES];
extern const char *const grove_protocol_names[GROVE_PROTOCOLS];
extern const char *const grove_direction_names[GROVE_DIRECTIONS];

/* The terms of a price (price.h). */
typedef enum grove_term {
  GROVE_TERM_LATENCY,
  GROVE_TERM_BANDWIDTH,
  GROVE_TERM_INJECTION,
  GROVE_TERM_QUEUE,
  GROVE_TERM_CONTENTION,
  GROVE_TERM_ON_NODE,
  GROVE_TERM_COPY,
  GROVE_TERM_CORES,
  GROVE_TERMS
} grove_term;

/* What a profile may have a factor for: these terms, and the parts of a crowd. */
enum { GROVE_FACTOR_TURN = GROVE_TERMS, GROVE_FACTOR_MESSAGE, GROVE_FACTOR_BYTE, GROVE_FACTORS };

/* "latency", ..., "on_node", "copy", "cores"; then "crowd-turn", ... */
extern const char *const grove_term_names[GROVE_FACTORS];

/* alpha + beta s: seconds, and seconds per byte. */
typedef struct grove_postal {
  double alpha, beta;
} grove_postal;

/* LogGP for messages from `from_bytes` on. Seconds; G in seconds per byte. */
typedef struct grove_loggp {
  int64_t from_bytes;
  double L, o_s, o_r, g, G;
} grove_loggp;

/* Copies between host and device, by number of processes at once. Also copies through shared
 * memory, by number of ranks of a node at once (without alpha). */
typedef struct grove_copy_rate {
  int processes;
  grove_postal cost;
} grove_copy_rate;

/* Packing this many bytes or more: seconds per byte. */
typedef struct grove_pack_rate {
  int64_t from_bytes;
  double beta;
} grove_pack_rate;

/* An exchange between ranks that outnumber the cores, all at once: seconds until every rank has had
 * its turn, then per message of a rank and per byte. NaN: not told. */
typedef struct grove_crowd {
  double turn, message, byte;
} grove_crowd;

/* One line of a profile. A row that no formula knows is kept, with `known` 0. */
typedef struct grove_row {
  char *term, *memory, *locality, *range; /* "-" where a term has none */
  double value;                           /* as written, in `unit` */
  char *unit;
  char *source; /* "measured 2026-11-15 ...", a citation, or "assumed: ..." */
  int line;     /* in the file it came from; 0: none */
  int known;
} grove_row;

typedef enum grove_standing {
  GROVE_COMPLETE,   /* every number has a source */
  GROVE_ASSUMED,    /* numbers of no particular machine */
  GROVE_INCOMPLETE, /* numbers that formulas need are missing */
} grove_standing;

enum { GROVE_LISTED = 16 }; /* entries a list may have */

/* Limits of a word (term, memory, ...) and of a text (source, name, about), so that every row can
 * be written as a line that can be read back. */
enum { GROVE_WORD_BYTES = 100, GROVE_TEXT_BYTES = 3000 };

struct grove_machine {
  int holders; /* besides the first: atomic */
  char *name, *about;
  grove_standing standing;
  int nrows;
  grove_row *rows;

  /* Everything from here on is derived from the rows, by grove_machine_digest. */
  int sockets, ranks, gpus; /* of a node; ranks: what a full node runs; 0: not told */
  double cores;             /* that the ranks of a node really have; may be fractional */
  int64_t from[GROVE_MEMORIES][GROVE_LOCALITIES][GROVE_PROTOCOLS]; /* first size of the protocol;
                                                                    * INT64_MAX: never used */
  grove_postal postal[GROVE_MEMORIES][GROVE_LOCALITIES][GROVE_PROTOCOLS];
  double injection[GROVE_MEMORIES][GROVE_PROTOCOLS]; /* 1 / R_N; 0: no limit */
  double gamma;                                      /* seconds per step along a queue */
  double delta;                                      /* seconds per byte of a contended link */
  int ncopies[GROVE_DIRECTIONS];                     /* by ascending processes */
  grove_copy_rate copies[GROVE_DIRECTIONS][GROVE_LISTED];
  int nlaunches; /* what a kernel adds to a copy, by ascending processes; without beta */
  grove_copy_rate launches[GROVE_LISTED];
  int ndevice_pack; /* packing by a kernel, by ascending size */
  grove_pack_rate device_pack[GROVE_LISTED];
  grove_crowd crowd[2]; /* on node and off */
  int npack;            /* packing values of 8 bytes, by ascending size */
  grove_pack_rate pack[GROVE_LISTED];
  double flag_seconds[2]; /* a small message through shared memory: on-socket, on-node */
  int nshared;            /* bytes through shared memory, by number of active ranks */
  grove_copy_rate shared[GROVE_LISTED];
  double factor[GROVE_FACTORS];  /* 1 unless a row says otherwise */
  int nloggp[GROVE_LOGGP_LISTS]; /* by ascending size */
  grove_loggp loggp[GROVE_LOGGP_LISTS][GROVE_LISTED];
  grove_links links; /* between the GPUs of a node and its host */
};

/* An empty machine: everything unknown. */
grove_status grove_machine_create(const char *name, grove_machine **out);

/* A machine that nobody changes any more may be shared: the last free frees it. */
grove_machine *grove_machine_hold(grove_machine *m);

/* Adds a row; texts are copied. For whoever makes a profile; digest afterwards. */
grove_status grove_machine_add(grove_machine *m, const char *term, const char *memory,
                               const char *locality, const char *range, double value,
                               const char *unit, const char *source);

/* Takes rows away again, all but the first `n`; digest afterwards. */
void grove_machine_cut(grove_machine *m, int n);

/* Can this text be a source, a name or an about? It must be one line, without blanks around it. */
int grove_text_fits(const char *text);

/* Derives from the rows everything that formulas use. A row of a known term that makes no sense (a
 * negative time, a foreign unit) is GROVE_ERR_ARG, with its line and what is wrong. */
grove_status grove_machine_digest(grove_machine *m);

grove_status grove_machine_copy(const grove_machine *m, grove_machine **out);

/* The protocol of a message, and its cost. */
grove_protocol grove_machine_protocol(const grove_machine *m, grove_memory_kind memory,
                                      grove_locality where, int64_t bytes);
grove_postal grove_machine_postal(const grove_machine *m, grove_memory_kind memory,
                                  grove_locality where, int64_t bytes);

/* LogGP for a size; NULL if the profile has none for this locality. */
const grove_loggp *grove_machine_loggp(const grove_machine *m, grove_locality where, int64_t bytes);

/* Does it tell the cost of messages over libfabric? */
int grove_machine_has_fabric(const grove_machine *m);

/* A copy between host and device by `processes` at once: the row with the most processes that does
 * not exceed this (the first row if there is none). NaN if the profile has none. */
grove_postal grove_machine_copying(const grove_machine *m, grove_direction way, int processes);

/* Does it tell the cost of copies, both ways? */
int grove_machine_has_copies(const grove_machine *m);

/* What a kernel adds to a copy by `processes` at once, chosen in the same way; 0 if the profile
 * does not tell. */
double grove_machine_launching(const grove_machine *m, int processes);

/* Seconds per byte through shared memory while `ranks` ranks of the node use it; interpolated
 * between two rows. NaN if the profile has none. */
double grove_machine_shared(const grove_machine *m, int ranks);

/* Does it tell the cost of flags and copies through shared memory? */
int grove_machine_has_shared(const grove_machine *m);

/* Seconds per byte to pack this many; 0 if the profile does not tell. */
double grove_machine_packing(const grove_machine *m, int64_t bytes);
/* The same, by a kernel. */
double grove_machine_device_packing(const grove_machine *m, int64_t bytes);

/* Where a row comes from, by its source. */
typedef enum grove_origin {
  GROVE_ORIGIN_MEASURED, /* "measured ..." */
  GROVE_ORIGIN_CITED,
  GROVE_ORIGIN_ASSUMED, /* "assumed: ..." */
  GROVE_ORIGINS
} grove_origin;
grove_origin grove_row_origin(const grove_row *row);

/* Was this profile measured, as far as messages between nodes go? */
int grove_machine_is_measured(const grove_machine *m);

/* Writes to `out`, as one sentence, what the model lacks ("" if nothing). */
void grove_machine_missing(const grove_machine *m, char *out, size_t room);

/* What a profile says behind what it is about if it is not to be trusted: "... ; doubtful: why". */
#define GROVE_DOUBTFUL "; doubtful: "

/* Why it is not to be trusted; NULL: it is. */
const char *grove_machine_doubt(const grove_machine *m);

/* ---- text (profile.c) ---- */

/* The text of a profile, which the caller frees: a machine that the library knows by name, or a
 * file. */
grove_status grove_machine_text(const char *name_or_path, char **text, size_t *length);

/* Reads a profile from memory. `file` is for errors, which name file, line and column. Rows that no
 * formula knows are kept; the caller may warn about them (known == 0). */
grove_status grove_profile_read(const char *text, size_t length, const char *file,
                                grove_machine **out);

/* Writes it so that reading it back gives the same rows. */
grove_status grove_profile_print(const grove_machine *m, FILE *file);

/* ---- the profiles that come with the library (generated from machines/) ---- */

typedef struct grove_builtin {
  const char *name; /* the file's, without .machine */
  const char *text;
} grove_builtin;
extern const grove_builtin grove_builtins[]; /* ends with a NULL name */

#ifdef __cplusplus
}
#endif

#endif
