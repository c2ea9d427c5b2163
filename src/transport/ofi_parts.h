/* What the files of a fabric share.
 *
 *     ofi_choose.c   which provider, and what it can do
 *     ofi.c          opening, endpoints, addresses
 *     ofi_region.c   registered memory
 *     ofi_listen.c   numbers, and who hears of them
 *     ofi_move.c     writes, notes, completions
 *     ofi_desk.c     the fabrics of a context (ofi_desk.h)
 *     ofi_tagged.c   messages with tags
 */
#ifndef GROVE_TRANSPORT_OFI_PARTS_H
#define GROVE_TRANSPORT_OFI_PARTS_H

#include "transport/ofi.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_fabric_end grove_fabric_end;

typedef enum grove_fabric_errand {
  GROVE_ERRAND_NONE,
  GROVE_ERRAND_WRITE,         /* of which no more is to be told from here */
  GROVE_ERRAND_WRITE_TO_TELL, /* when it has been delivered, its note leaves */
  GROVE_ERRAND_NOTE,
  GROVE_ERRAND_RECEIVE,
  GROVE_ERRAND_TAGGED /* ofi_tagged.h; no endpoint owns it */
} grove_fabric_errand;

/* Something that libfabric was given, and gives back. */
typedef struct grove_fabric_op {
  struct fi_context2 room; /* first: libfabric's */
  struct grove_fabric_op *next;
  grove_fabric_end *end;
  grove_fabric_errand errand;
  fi_addr_t to;
  int64_t bytes; /* of the user's */
  void (*done)(void *self, grove_status status, int64_t bytes);
  void *self;
  char *buffer; /* a note, and data behind it */
  size_t filled;
} grove_fabric_op;

static inline void grove_fabric_push(grove_fabric_op **list, grove_fabric_op *op)
{
  op->next = *list;
  *list = op;
}

enum { GROVE_FABRIC_NOTES = 16, GROVE_FABRIC_RECEIVES = 64 };

/* An endpoint. */
struct grove_fabric_end {
  grove_fabric *fabric;
  struct fid_ep *ep;
  struct fid_cq *cq;
  int nops, busy; /* of those that go out */
  int64_t writes_begun;
  grove_fabric_op *ops;
  grove_fabric_op *writes, *notes; /* free ones, those of a kind */
  grove_fabric_op *later;          /* notes of writes that were delivered; the queue was full */
  grove_fabric_op *unposted;       /* receives, likewise */
  char *buffers;
  size_t buffer_bytes;
  struct fid_mr *mr; /* of the buffers, if the provider must know them */
  void *describes;
};

/* A note that could not leave yet. */
typedef struct grove_fabric_kept {
  struct grove_fabric_kept *next;
  const grove_fabric_peer *peer;
  int64_t endpoint;
  grove_fabric_note note;
} grove_fabric_kept;

struct grove_fabric_peer {
  grove_fabric_peer *next;
  grove_fabric_address address;
  int n;
  fi_addr_t to[GROVE_FABRIC_MOST_ENDPOINTS];
};

struct grove_fabric_region {
  grove_fabric_region *next, *previous;
  uint64_t base;
  int n;
  struct fid_mr *mr[GROVE_FABRIC_MOST_ENDPOINTS];
};

struct grove_fabric {
  struct fi_info *info;
  struct fid_fabric *fabric;
  struct fid_domain *domain;
  struct fid_av *av;
  grove_fabric_about about;
  int n;
  grove_fabric_end *ends;
  grove_fabric_address address;
  grove_fabric_peer *peers;
  grove_fabric_region regions; /* head of a ring */
  uint64_t next_key;
  grove_fabric_kept *kept; /* the oldest first */
  int nlisteners;
  grove_fabric_listener **listeners; /* by base */
  int64_t next_number;
  uint64_t last_tag;
  unsigned turn;      /* counts polls in turn */
  int64_t unanswered; /* last notes */
  int hurry;          /* who waits for a first word */
};

/* libfabric's words. */
#define GROVE_FABRIC_PASS(f, call)                                                                 \
  do {                                                                                             \
    long long ofi_code_ = (long long)(call);                                                       \
    if (ofi_code_ < 0)                                                                             \
      return grove_fabric_error((f)->about.provider, ofi_code_, #call, __FILE__, __LINE__);        \
  } while (0)

grove_status grove_fabric_error(const char *provider, long long code, const char *call,
                                const char *file, int line);

/* The best that fits, for fi_fabric; the caller frees it. */
grove_status grove_fabric_choose(const grove_fabric_wish *wish, struct fi_info **out,
                                 grove_fabric_about *about);

/* Registers with one endpoint, or, if `end` is NULL, with the domain. */
grove_status grove_fabric_register_at(grove_fabric *f, grove_fabric_end *end, void *memory,
                                      size_t bytes, uint64_t access, struct fid_mr **out);
/* NULL is none. */
void grove_fabric_unregister_at(struct fid_mr **mr);

/* Posts all receives of a new endpoint. */
grove_status grove_fabric_post_receives(grove_fabric_end *end);

/* Ends a message with a tag. */
void grove_fabric_tagged_ended(grove_fabric_op *op, int error, size_t bytes);

/* Tells whom it concerns. */
void grove_fabric_came(grove_fabric *f, uint32_t number);
void grove_fabric_heard(grove_fabric *f, const grove_fabric_note *note, const char *data);

#ifdef __cplusplus
}
#endif

#endif
