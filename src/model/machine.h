/* A machine, as a model sees it: how long messages, bytes, copies and queue steps take, by where
 * the two ends are and how the message travels.
 *
 * A profile is a table of rows, read from and written to plain text (profile.c). Every row is one
 * number with its source; the numbers that formulas use are kept beside them, ready to be looked
 * up. What a profile does not say is NaN (a duration), 0 (a number of things) or an empty list.
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

/* Where the data of a message is; gpu-nogdr: GPUDirect is off. */
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
  GROVE_LOCALITIES
} grove_locality;

/* How MPI sends it, by its size. */
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

/* alpha + beta s: seconds, and seconds per byte. */
typedef struct grove_postal {
  double alpha, beta;
} grove_postal;

/* LogGP for messages from `from_bytes` on. Seconds; G in seconds per byte. */
typedef struct grove_loggp {
  int64_t from_bytes;
  double L, o_s, o_r, g, G;
} grove_loggp;

/* Copies between host and device, by as many processes at once; a copy through shared memory, by as
 * many ranks of a node at once (alpha is not used there). */
typedef struct grove_copy_rate {
  int processes;
  grove_postal cost;
} grove_copy_rate;

/* Packing, for so many bytes and more: seconds per byte. */
typedef struct grove_pack_rate {
  int64_t from_bytes;
  double beta;
} grove_pack_rate;

/* An exchange between ranks that outnumber the cores, all at once: seconds until every rank has had
 * its turn, then for each message of a rank and for each of its bytes. NaN: not told. */
typedef struct grove_crowd {
  double turn, message, byte;
} grove_crowd;

/* One line of a profile. A row that no formula knows is kept, and `known` is 0. */
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
  GROVE_INCOMPLETE, /* what formulas need is missing */
} grove_standing;

enum { GROVE_LISTED = 16 }; /* entries a list may have */

/* Bytes of a word (term, memory, ...) and of a text (source, name, about): so that every row can be
 * written as a line that the reader takes. */
enum { GROVE_WORD_BYTES = 100, GROVE_TEXT_BYTES = 3000 };

struct grove_machine {
  int holders; /* beside the first: atomic */
  char *name, *about;
  grove_standing standing;
  int nrows;
  grove_row *rows;

  /* From here on all is derived from the rows, by grove_machine_digest. */
  int sockets, ranks, gpus; /* of a node; ranks: what a full node runs; 0: not told */
  double cores;             /* that the ranks of a node really have; perhaps not a whole number */
  int64_t from[GROVE_MEMORIES][GROVE_LOCALITIES][GROVE_PROTOCOLS]; /* first size of the protocol;
                                                                    * INT64_MAX: never used */
  grove_postal postal[GROVE_MEMORIES][GROVE_LOCALITIES][GROVE_PROTOCOLS];
  double injection[GROVE_MEMORIES][GROVE_PROTOCOLS]; /* 1 / R_N; 0: no limit */
  double gamma;                                      /* seconds per step along a queue */
  double delta;                                      /* seconds per byte of a contended link */
  int ncopies[GROVE_DIRECTIONS];                     /* by ascending processes */
  grove_copy_rate copies[GROVE_DIRECTIONS][GROVE_LISTED];
  grove_crowd crowd[2]; /* on node and off */
  int npack;            /* packing values of 8 bytes, by ascending size */
  grove_pack_rate pack[GROVE_LISTED];
  double flag_seconds[2]; /* a small message through shared memory: on-socket, on-node */
  int nshared;            /* bytes through shared memory, by number of active ranks */
  grove_copy_rate shared[GROVE_LISTED];
  int nloggp[GROVE_LOCALITIES]; /* by ascending size */
  grove_loggp loggp[GROVE_LOCALITIES][GROVE_LISTED];
  grove_links links; /* between the GPUs of a node and its host */
};

/* An empty machine: everything unknown. */
grove_status grove_machine_create(const char *name, grove_machine **out);

/* A machine that nobody changes any more may be shared: it goes when all have freed it. */
grove_machine *grove_machine_hold(grove_machine *m);

/* One more row; texts are copied. Used by whoever makes a profile; then digest. */
grove_status grove_machine_add(grove_machine *m, const char *term, const char *memory,
                               const char *locality, const char *range, double value,
                               const char *unit, const char *source);

/* Whether a text can be a source, a name or an about: one line, no blanks around it. */
int grove_text_fits(const char *text);

/* Works out from the rows everything that formulas use; a row of a known term that makes no sense
 * (a negative time, a foreign unit) is GROVE_ERR_ARG with its line and what is wrong with it. */
grove_status grove_machine_digest(grove_machine *m);

grove_status grove_machine_copy(const grove_machine *m, grove_machine **out);

/* The protocol of a message, and what it costs. */
grove_protocol grove_machine_protocol(const grove_machine *m, grove_memory_kind memory,
                                      grove_locality where, int64_t bytes);
grove_postal grove_machine_postal(const grove_machine *m, grove_memory_kind memory,
                                  grove_locality where, int64_t bytes);

/* LogGP for a size; NULL where the profile has none for this locality. */
const grove_loggp *grove_machine_loggp(const grove_machine *m, grove_locality where, int64_t bytes);

/* A copy between host and device by `processes` at once: the row of the most processes that are not
 * more (the first row, if there is none). NaN where the profile has none. */
grove_postal grove_machine_copying(const grove_machine *m, grove_direction way, int processes);

/* Seconds a byte through shared memory while `ranks` ranks of the node do so; interpolated between
 * two rows. NaN where the profile has none. */
double grove_machine_shared(const grove_machine *m, int ranks);

/* Does it say what flags and copies through shared memory take? */
int grove_machine_has_shared(const grove_machine *m);

/* Seconds a byte to pack so many; 0 where the profile does not tell. */
double grove_machine_packing(const grove_machine *m, int64_t bytes);

/* Where a row comes from, by its source. */
typedef enum grove_origin {
  GROVE_ORIGIN_MEASURED, /* "measured ..." */
  GROVE_ORIGIN_CITED,
  GROVE_ORIGIN_ASSUMED, /* "assumed: ..." */
  GROVE_ORIGINS
} grove_origin;
grove_origin grove_row_origin(const grove_row *row);

/* Was this profile made by measuring, as far as messages between nodes go? */
int grove_machine_is_measured(const grove_machine *m);

/* What of the model's needs is missing, as one sentence ("" if nothing) in `out`. */
void grove_machine_missing(const grove_machine *m, char *out, size_t room);

/* ---- text (profile.c) ---- */

/* The text of a profile, which the caller frees: of a machine that the library knows by name, or of
 * a file. */
grove_status grove_machine_text(const char *name_or_path, char **text, size_t *length);

/* Reads a profile from memory; `file` is for errors, which name file, line and column. Rows that no
 * formula knows are kept; the caller may warn of them (rows with known == 0). */
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
