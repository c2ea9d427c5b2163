/* Box: the halo of a structured grid. Where every cell lies follows from the arguments, which are
 * the same on every rank, so nothing is asked: each rank walks through its frame, in the order of
 * its array, and works out the owner of each cell. Along one dimension block c of p has the cells
 * from c * size / p up to (c + 1) * size / p.
 */
#include "algebra/algebra.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIMS = 8 };

/* The arguments, with what was NULL filled in: plain data, to be compared with rank 0's. */
typedef struct request {
  int64_t dims, corners;
  int64_t size[MOST_DIMS], procs[MOST_DIMS], periodic[MOST_DIMS], width[MOST_DIMS];
} request;

/* One dimension, from this rank. */
typedef struct axis {
  int64_t size, procs, width;
  int periodic;
  int64_t at;           /* the block of this rank */
  int64_t first, count; /* its cells */
  int framed;           /* this dimension, or a later one, has a frame */
} axis;

typedef struct box {
  int dims, corners;
  axis axis[MOST_DIMS + 1];
  int64_t cells;  /* of the array with its frame */
  int64_t leaves; /* cells of the frame that lie in the box */
} box;

/* ---- the arguments ---- */

static grove_status check_shape(const grove_making *m, int dims, const int64_t *size)
{
  GROVE_PASS_CHECK(dims >= 1 && dims <= MOST_DIMS, GROVE_ERR_ARG,
                   "rank %d: %s: dims is %d; it must be 1 to %d", m->ctx->rank, m->call, dims,
                   MOST_DIMS);
  GROVE_PASS_CHECK(size, GROVE_ERR_ARG, "rank %d: %s: the list of %d sizes is NULL", m->ctx->rank,
                   m->call, dims);
  return GROVE_OK;
}

static grove_status check_not_negative(const grove_making *m, const char *what, int dims,
                                       const int64_t *list)
{
  for (int d = 0; d < dims; d++)
    GROVE_PASS_CHECK(list[d] >= 0, GROVE_ERR_ARG,
                     "rank %d: %s: %s[%d] is %lld; it must not be negative", m->ctx->rank, m->call,
                     what, d, (long long)list[d]);
  return GROVE_OK;
}

/* "2 x 0 x 3" */
static void print_procs(const request *r, char *out, size_t room)
{
  size_t used = 0;
  for (int d = 0; d < r->dims && used < room; d++)
    used += (size_t)snprintf(out + used, room - used, "%s%lld", d > 0 ? " x " : "",
                             (long long)r->procs[d]);
}

/* Chooses the entries of the process grid that are 0. MPI_Dims_create does not return errors, it
 * ends the job: what it would refuse is refused here. */
static grove_status choose_procs(const grove_making *m, request *r)
{
  int64_t product = 1, ranks = m->ctx->size;
  int procs[MOST_DIMS], open = 0;
  char text[16 * MOST_DIMS];
  print_procs(r, text, sizeof text);
  for (int d = 0; d < r->dims; d++) {
    procs[d] = (int)r->procs[d];
    if (procs[d] == 0) open = 1;
    if (procs[d] > 0 && product <= ranks) product *= procs[d];
  }
  GROVE_PASS_CHECK(open || product == ranks, GROVE_ERR_ARG,
                   "rank %d: %s: procs is %s; its product must be the number of ranks, %lld",
                   m->ctx->rank, m->call, text, (long long)ranks);
  GROVE_PASS_CHECK(ranks % product == 0, GROVE_ERR_ARG,
                   "rank %d: %s: procs is %s; what is not 0 must divide the number of ranks, %lld",
                   m->ctx->rank, m->call, text, (long long)ranks);
  if (open) GROVE_PASS_MPI(MPI_Dims_create((int)ranks, (int)r->dims, procs));
  for (int d = 0; d < r->dims; d++) r->procs[d] = procs[d];
  return GROVE_OK;
}

static grove_status read_request(const grove_making *m, int dims, const int64_t *size,
                                 const int *procs, const int *periodic, const int *width,
                                 int corners, request *r)
{
  GROVE_PASS(check_shape(m, dims, size));
  r->dims = dims;
  r->corners = corners != 0;
  for (int d = 0; d < dims; d++) {
    r->size[d] = size[d];
    r->procs[d] = procs ? procs[d] : 0;
    r->periodic[d] = periodic && periodic[d];
    r->width[d] = width ? width[d] : 1;
  }
  GROVE_PASS(check_not_negative(m, "size", dims, r->size));
  GROVE_PASS(check_not_negative(m, "procs", dims, r->procs));
  GROVE_PASS(check_not_negative(m, "width", dims, r->width));
  return choose_procs(m, r);
}

/* Rank 0's arguments must be this rank's too: the first that is not is named. */
static grove_status compare_lists(const grove_making *m, const char *what, int64_t dims,
                                  const int64_t *mine, const int64_t *first)
{
  for (int d = 0; d < dims; d++)
    GROVE_PASS_CHECK(mine[d] == first[d], GROVE_ERR_ARG,
                     "rank %d: %s: %s[%d] is %lld, but on rank 0 it is %lld", m->ctx->rank, m->call,
                     what, d, (long long)mine[d], (long long)first[d]);
  return GROVE_OK;
}

static grove_status compare_requests(const grove_making *m, const request *mine,
                                     const request *first)
{
  GROVE_PASS_CHECK(mine->dims == first->dims, GROVE_ERR_ARG,
                   "rank %d: %s: dims is %lld, but on rank 0 it is %lld", m->ctx->rank, m->call,
                   (long long)mine->dims, (long long)first->dims);
  GROVE_PASS_CHECK(mine->corners == first->corners, GROVE_ERR_ARG,
                   "rank %d: %s: corners is %lld, but on rank 0 it is %lld", m->ctx->rank, m->call,
                   (long long)mine->corners, (long long)first->corners);
  GROVE_PASS(compare_lists(m, "size", mine->dims, mine->size, first->size));
  GROVE_PASS(compare_lists(m, "procs", mine->dims, mine->procs, first->procs));
  GROVE_PASS(compare_lists(m, "periodic", mine->dims, mine->periodic, first->periodic));
  return compare_lists(m, "width", mine->dims, mine->width, first->width);
}

/* ---- blocks ---- */

static int64_t block_first(const axis *a, int64_t c)
{
  return c * a->size / a->procs;
}

static int64_t block_extent(const axis *a, int64_t c)
{
  return block_first(a, c + 1) - block_first(a, c) + 2 * a->width;
}

/* The block of a cell: the last that begins at it or before. */
static int64_t block_having(const axis *a, int64_t cell)
{
  return ((cell + 1) * a->procs - 1) / a->size;
}

/* So many cells of the frame, on both sides of the block, lie in the box. */
static int64_t count_outside(const axis *a)
{
  int64_t before = a->first, behind = a->size - a->first - a->count;
  if (a->periodic) return 2 * a->width;
  return (before < a->width ? before : a->width) + (behind < a->width ? behind : a->width);
}

/* A product that stays below 2^bits, or -1. */
static int64_t multiply_below(int64_t a, int64_t b, int bits)
{
  int64_t most = INT64_MAX >> (63 - bits);
  if (a < 0 || b > most) return -1;
  return b == 0 || a <= most / b ? a * b : -1;
}

/* The largest array of any rank, so that all ranks refuse alike. */
static int64_t most_cells(const request *r, int bits)
{
  int64_t cells = 1;
  for (int d = 0; d < r->dims; d++) {
    if (multiply_below(r->size[d], r->procs[d], 62) < 0) return -1;
    cells = multiply_below(cells, r->size[d] / r->procs[d] + 1 + 2 * r->width[d], bits);
  }
  return cells;
}

static void count_cells(box *b)
{
  int64_t inside = 1, all = 1, sides = 0;
  b->cells = 1;
  for (int d = 0; d < b->dims; d++) {
    int64_t outside = count_outside(&b->axis[d]), count = b->axis[d].count;
    sides = sides * count + inside * outside;
    inside *= count;
    all *= count + outside;
    b->cells *= count + 2 * b->axis[d].width;
  }
  b->leaves = inside == 0 ? 0 : b->corners ? all - inside : sides;
}

static grove_status lay_out_box(const grove_making *m, const request *r, box *b)
{
  int bits = 63 - m->bits;
  int64_t rank = m->ctx->rank;
  GROVE_PASS_CHECK(most_cells(r, bits) >= 0, GROVE_ERR_UNSUPPORTED,
                   "%s: an array with its frame has more than 2^%d cells", m->call, bits);
  b->dims = (int)r->dims;
  b->corners = (int)r->corners;
  for (int d = b->dims - 1; d >= 0; d--) {
    axis *a = &b->axis[d];
    *a = (axis){.size = r->size[d], .procs = r->procs[d], .width = r->width[d]};
    a->periodic = (int)r->periodic[d];
    a->at = rank % a->procs;
    a->first = block_first(a, a->at);
    a->count = block_first(a, a->at + 1) - a->first;
    a->framed = a->width > 0 || a[1].framed;
    rank /= a->procs;
  }
  count_cells(b);
  return GROVE_OK;
}

/* ---- the frame ---- */

/* Where the walk is, as far as the dimensions before some one say: a place in this rank's array,
 * the rank that owns the cell, and its place there. */
typedef struct cursor {
  int64_t slot, rank, index;
  int outside; /* of the block, in so many dimensions */
} cursor;

/* One dimension further: to place k of this rank's array. False: it leads to no leaf. */
static int step_to(const box *b, int d, int64_t k, const cursor *from, cursor *to)
{
  const axis *a = &b->axis[d];
  int64_t cell = a->first + k - a->width, c = a->at, place = k;
  int is_outside = k < a->width || k >= a->width + a->count;
  if (is_outside) {
    if (from->outside && !b->corners) return 0;
    if (a->periodic) cell = (cell % a->size + a->size) % a->size;
    if (cell < 0 || cell >= a->size) return 0;
    c = block_having(a, cell);
    place = cell - block_first(a, c) + a->width;
  }
  *to = (cursor){from->slot * (a->count + 2 * a->width) + k, from->rank * a->procs + c,
                 from->index * block_extent(a, c) + place, from->outside + is_outside};
  return 1;
}

/* Adds the leaves that are to be reached from here, by ascending slot. */
static void walk_frame(const box *b, int d, const cursor *here, grove_edges *edges)
{
  if (d == b->dims) {
    grove_edges_add(edges, here->slot, (grove_root){(int)here->rank, here->index});
    return;
  }
  const axis *a = &b->axis[d];
  for (int64_t k = 0; k < a->count + 2 * a->width; k++) {
    cursor next;
    if (k == a->width && !here->outside && !a[1].framed) k += a->count; /* no frame in there */
    if (k < a->count + 2 * a->width && step_to(b, d, k, here, &next))
      walk_frame(b, d + 1, &next, edges);
  }
}

static grove_status collect_frame(const box *b, grove_edges *edges)
{
  const cursor start = {0};
  GROVE_PASS(grove_edges_reserve(edges, b->leaves));
  edges->nroots = b->cells;
  if (b->leaves > 0) walk_frame(b, 0, &start, edges);
  return GROVE_OK;
}

/* ---- together ---- */

/* Agreed by all. */
static grove_status hear_first(grove_making *m, request *first)
{
  GROVE_PASS(grove_context_enter_call(m->ctx, m->call));
  grove_status status = grove_context_tell(m->ctx, first, (int)sizeof *first, 0);
  grove_context_leave_call(m->ctx);
  return status;
}

grove_status grove_forest_box(grove_context *ctx, int dims, const int64_t *size, const int *procs,
                              const int *periodic, const int *width, int corners,
                              grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  grove_edges edges = {0};
  request r = {0};
  box b = {0};
  grove_status mine = grove_making_open_on(&m, "grove_forest_box", ctx, out);
  if (mine == GROVE_OK) mine = read_request(&m, dims, size, procs, periodic, width, corners, &r);
  if (mine == GROVE_OK) mine = lay_out_box(&m, &r, &b);
  if (mine == GROVE_OK) mine = grove_forest_set_name(m.forest, "box");
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  request first = r;
  GROVE_TRY(hear_first(&m, &first));
  mine = compare_requests(&m, &r, &first);
  if (mine == GROVE_OK) mine = collect_frame(&b, &edges);
  GROVE_TRY(grove_making_close(&m, mine, &edges, out));
fail:
  grove_making_drop(&m);
  grove_edges_free(&edges);
  return grove_verdict(m.ctx, status);
}
