/* Every stage of an operation has a tag of its own, and so have its answers; MPI has all of them,
 * and none is that of the votes. Plans of all lengths: a fetch through hubs has six stages. */
#include "calls.h"
#include "check.h"
#include "errand.h"
#include "exec/wiring.h"
#include "places.h"

#include <string.h>

/* ---- the tags that are asked for ---- */

enum { MOST_TAGS = 64 };

static struct {
  int n, tags[MOST_TAGS]; /* of the operation being made */
  int most_stages;
} seen;

static int largest_tag(void)
{
  int *limit = NULL, found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &found);
  CHECK(found, "MPI does not say how many tags it has");
  return *limit;
}

static void take(const grove_context *ctx, int tag)
{
  CHECK(tag > 0 && tag <= largest_tag(), "tag %d, and MPI has those up to %d", tag, largest_tag());
  CHECK(tag / ctx->tag_limit < GROVE_STAGE_VOTE, "tag %d is one of the votes", tag);
  for (int i = 0; i < seen.n; i++) CHECK(tag != seen.tags[i], "two stages have tag %d", tag);
  CHECK(seen.n < MOST_TAGS, "more tags than the test has room for");
  seen.tags[seen.n++] = tag;
}

grove_status __real_grove_carriage_create(grove_context *ctx, const grove_carriage_request *about,
                                          grove_carriage **out);
grove_status __wrap_grove_carriage_create(grove_context *ctx, const grove_carriage_request *about,
                                          grove_carriage **out);
grove_status __wrap_grove_carriage_create(grove_context *ctx, const grove_carriage_request *about,
                                          grove_carriage **out)
{
  int stage = about->tag / ctx->tag_limit;
  if (stage + 1 > seen.most_stages) seen.most_stages = stage + 1;
  take(ctx, about->tag);
  if (about->answer_tag != GROVE_TAG_NOBODY) take(ctx, about->answer_tag);
  CHECK(about->answer_tag != GROVE_TAG_NOBODY || strcmp(about->kind->name, "rma") != 0,
        "answers without a tag");
  return __real_grove_carriage_create(ctx, about, out);
}

/* ---- operations on every route ---- */

enum { ENTRIES = 7 };

static void make_each(const place *p, grove_forest *f)
{
  int64_t root[ENTRIES] = {0}, leaf[ENTRIES] = {0}, update[ENTRIES];
  for (op_kind k = 0; k < OP_KINDS; k++) {
    op_call c = {k, f, MPI_INT64_T, MPI_SUM, root, leaf, update};
    grove_op *op = NULL;
    seen.n = 0;
    CHECK_OK(call_init(&c, &op));
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    CHECK_OK(grove_op_free(&op));
    polite_barrier(p->comm);
  }
}

static int stages_on(const place *p, const char *route, const char *off_node)
{
  place_set(p, "route", route);
  place_set(p, "transport_off_node", off_node);
  grove_forest *f = errand_forest(p->ctx, ENTRIES, 3);
  seen.most_stages = 0;
  make_each(p, f);
  CHECK_OK(grove_forest_free(&f));
  return seen.most_stages;
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/tags_of_stages");
  place p = place_create(split(0));
  place_set(&p, "node_size", "2");
  place_set(&p, "transport_on_node", "mpi"); /* every stage has messages */
  CHECK(p.ctx->tag_limit == largest_tag() / GROVE_STAGE_TAGS, "%d tags of %d", p.ctx->tag_limit,
        largest_tag());
  CHECK(stages_on(&p, "standard", "p2p") == 2, "%d stages", seen.most_stages);
  CHECK(stages_on(&p, "standard", "neighbor") == 2, "%d stages", seen.most_stages);
  CHECK(stages_on(&p, "standard", "rma") == 2, "%d stages", seen.most_stages);
  CHECK(stages_on(&p, "2-step", "p2p") == 4, "%d stages", seen.most_stages);
  CHECK(stages_on(&p, "3-step", "p2p") == 6, "%d stages", seen.most_stages);
  place_free(&p);
  return test_end();
}
