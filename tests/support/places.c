#include "places.h"

#include "check.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

place place_create(MPI_Comm comm)
{
  place p = {.comm = comm};
  MPI_Comm_rank(comm, &p.rank);
  MPI_Comm_size(comm, &p.size);
  CHECK_OK(grove_context_create(comm, &p.ctx));
  return p;
}

void place_free(place *p)
{
  CHECK_OK(grove_context_free(&p->ctx));
  CHECK(p->ctx == NULL, "a freed context is not NULL");
  MPI_Comm_free(&p->comm);
}

/* A split at k makes parts of k and of n - k: half of the splits are enough. */
places places_create(void)
{
  places all = {.n = 1 + world_size() / 2};
  all.place = need((size_t)all.n * sizeof *all.place);
  for (int k = 0; k < all.n; k++) {
    int side = world_rank() < k;
    all.place[k] = place_create(split(side));
    all.place[k].side = side;
  }
  return all;
}

void places_free(places *p)
{
  for (int k = 0; k < p->n; k++) place_free(&p->place[k]);
  free(p->place);
  *p = (places){0};
}

void place_set(const place *p, const char *option, const char *value)
{
  CHECK_OK(grove_context_set(p->ctx, option, value));
}

void place_set_route(const place *p, const char *route)
{
  char off_node[16] = "";
  CHECK_OK(grove_context_get(p->ctx, "transport_off_node", off_node, sizeof off_node));
  int alone = strcmp(off_node, "neighbor") == 0 || strcmp(off_node, "rma") == 0;
  place_set(p, "route", alone ? "standard" : route);
}

void place_set_nodes(const place *p, const int *node)
{
  char text[256] = "";
  for (int i = 0; i < p->size; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i > 0 ? "," : "", node[i]);
  place_set(p, "node_map", text);
}

void place_draw_nodes(const place *p, rng *r)
{
  int *node = need((size_t)p->size * sizeof *node);
  int64_t labels = rng_between(r, 1, p->size);
  for (int i = 0; i < p->size; i++) node[i] = (int)rng_below(r, labels);
  if (rng_one_in(r, 8))
    place_set(p, "node_map", "");
  else
    place_set_nodes(p, node);
  free(node);
}

grove_op *place_idle(const place *p)
{
  grove_forest *f = NULL;
  grove_op *op = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast_init(f, MPI_INT, NULL, NULL, MPI_REPLACE, &op));
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_forest_free(&f));
  return op;
}

void place_meet(const place *p, grove_op *idle)
{
  MPI_Request request;
  MPI_Ibarrier(p->comm, &request);
  for (int met = 0, ignored; !met;) {
    MPI_Test(&request, &met, MPI_STATUS_IGNORE);
    CHECK_OK(grove_test(idle, &ignored));
    sched_yield();
  }
}
