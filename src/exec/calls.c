/* The public calls that make operations. Each fills in a request; all are served alike. */
#include "device/station.h"
#include "exec/op.h"

#include <stdlib.h>

/* ---- what the calls have in common ---- */

/* Which call it is, and where the operation goes. */
typedef struct caller {
  const char *name;
  int begins; /* ... or makes a persistent operation */
  grove_op **out;
} caller;

static grove_status check_request(const grove_request *r, const caller *who)
{
  const grove_forest *f = r->forest;
  GROVE_PASS_CHECK(f, GROVE_ERR_ARG, "%s: the forest is NULL", who->name);
  if (!f->ready) return grove_forest_not_ready(f, who->name);
  GROVE_PASS_CHECK(who->out, GROVE_ERR_ARG, "rank %d: %s: out is NULL", f->ctx->rank, who->name);
  GROVE_PASS_CHECK(!grove_context_outlives_mpi(f->ctx), GROVE_ERR_STATE,
                   "rank %d: %s: MPI_Finalize was called", f->ctx->rank, who->name);
  return GROVE_OK;
}

static grove_status serve_call(const grove_request *r, caller who)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_request(r, &who));
  grove_context *ctx = r->forest->ctx;
  if (grove_context_uses_devices(ctx))
    GROVE_TRY(grove_station_settle(ctx)); /* what is made may wait for streams */
  grove_context_enter(ctx);
  status = who.begins ? grove_op_begin(r, who.name, who.out)
                      : grove_op_init(ctx, &grove_kind_transfer, who.name, GROVE_OK, 1, r, who.out);
  grove_context_leave(ctx);
fail:
  return GROVE_VERDICT(r->forest, status);
}

/* Begin and end in one call. */
static grove_status serve_and_end(const grove_request *r, const char *name)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  GROVE_TRY(serve_call(r, (caller){name, 1, &op}));
  GROVE_TRY(grove_end(&op));
  return GROVE_OK;
fail:
  grove_op_give_up(&op); /* after a timeout */
  return GROVE_VERDICT(r->forest, status);
}

/* The same request without arrays. */
static grove_status serve_preparation(grove_request r, const char *name)
{
  grove_status status = GROVE_OK;
  grove_op *none = NULL;
  r.unbound = 1;
  GROVE_TRY(check_request(&r, &(caller){name, 1, &none}));
  if (grove_context_uses_devices(r.forest->ctx)) GROVE_TRY(grove_station_settle(r.forest->ctx));
  grove_context_enter(r.forest->ctx);
  status = grove_op_prepare(&r, name);
  grove_context_leave(r.forest->ctx);
fail:
  return GROVE_VERDICT(r.forest, status);
}

/* ---- bcast ---- */

static grove_request ask_bcast(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                               MPI_Op op)
{
  return (grove_request){GROVE_BCAST, f, unit, op, {(void *)root, leaf}, 0};
}

grove_status grove_bcast_init(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                              MPI_Op op, grove_op **out)
{
  grove_request r = ask_bcast(f, unit, root, leaf, op);
  return serve_call(&r, (caller){"grove_bcast_init", 0, out});
}

grove_status grove_bcast_prepare(grove_forest *f, MPI_Datatype unit, MPI_Op op)
{
  return serve_preparation(ask_bcast(f, unit, NULL, NULL, op), "grove_bcast_prepare");
}

grove_status grove_bcast_begin(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                               MPI_Op op, grove_op **out)
{
  grove_request r = ask_bcast(f, unit, root, leaf, op);
  return serve_call(&r, (caller){"grove_bcast_begin", 1, out});
}

grove_status grove_bcast(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                         MPI_Op op)
{
  grove_request r = ask_bcast(f, unit, root, leaf, op);
  return serve_and_end(&r, "grove_bcast");
}

/* ---- reduce ---- */

static grove_request ask_reduce(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                                MPI_Op op)
{
  return (grove_request){GROVE_REDUCE, f, unit, op, {root, (void *)leaf}, 0};
}

grove_status grove_reduce_init(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                               MPI_Op op, grove_op **out)
{
  grove_request r = ask_reduce(f, unit, leaf, root, op);
  return serve_call(&r, (caller){"grove_reduce_init", 0, out});
}

grove_status grove_reduce_prepare(grove_forest *f, MPI_Datatype unit, MPI_Op op)
{
  return serve_preparation(ask_reduce(f, unit, NULL, NULL, op), "grove_reduce_prepare");
}

grove_status grove_reduce_begin(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                                MPI_Op op, grove_op **out)
{
  grove_request r = ask_reduce(f, unit, leaf, root, op);
  return serve_call(&r, (caller){"grove_reduce_begin", 1, out});
}

grove_status grove_reduce(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                          MPI_Op op)
{
  grove_request r = ask_reduce(f, unit, leaf, root, op);
  return serve_and_end(&r, "grove_reduce");
}

/* ---- fetch ---- */

static grove_request ask_fetch(grove_forest *f, MPI_Datatype unit, void *root, const void *leaf,
                               void *leaf_update, MPI_Op op)
{
  return (grove_request){GROVE_FETCH, f, unit, op, {root, (void *)leaf, NULL, leaf_update}, 0};
}

grove_status grove_fetch_init(grove_forest *f, MPI_Datatype unit, void *root, const void *leaf,
                              void *leaf_update, MPI_Op op, grove_op **out)
{
  grove_request r = ask_fetch(f, unit, root, leaf, leaf_update, op);
  return serve_call(&r, (caller){"grove_fetch_init", 0, out});
}

grove_status grove_fetch_prepare(grove_forest *f, MPI_Datatype unit, MPI_Op op)
{
  return serve_preparation(ask_fetch(f, unit, NULL, NULL, NULL, op), "grove_fetch_prepare");
}

grove_status grove_fetch_begin(grove_forest *f, MPI_Datatype unit, void *root, const void *leaf,
                               void *leaf_update, MPI_Op op, grove_op **out)
{
  grove_request r = ask_fetch(f, unit, root, leaf, leaf_update, op);
  return serve_call(&r, (caller){"grove_fetch_begin", 1, out});
}

grove_status grove_fetch(grove_forest *f, MPI_Datatype unit, void *root, const void *leaf,
                         void *leaf_update, MPI_Op op)
{
  grove_request r = ask_fetch(f, unit, root, leaf, leaf_update, op);
  return serve_and_end(&r, "grove_fetch");
}

/* ---- gather ---- */

static grove_request ask_gather(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                void *multiroot)
{
  return (grove_request){GROVE_COLLECT, f, unit, MPI_REPLACE, {multiroot, (void *)leaf}, 0};
}

grove_status grove_gather_init(grove_forest *f, MPI_Datatype unit, const void *leaf,
                               void *multiroot, grove_op **out)
{
  grove_request r = ask_gather(f, unit, leaf, multiroot);
  return serve_call(&r, (caller){"grove_gather_init", 0, out});
}

grove_status grove_gather_prepare(grove_forest *f, MPI_Datatype unit)
{
  return serve_preparation(ask_gather(f, unit, NULL, NULL), "grove_gather_prepare");
}

grove_status grove_gather_begin(grove_forest *f, MPI_Datatype unit, const void *leaf,
                                void *multiroot, grove_op **out)
{
  grove_request r = ask_gather(f, unit, leaf, multiroot);
  return serve_call(&r, (caller){"grove_gather_begin", 1, out});
}

grove_status grove_gather(grove_forest *f, MPI_Datatype unit, const void *leaf, void *multiroot)
{
  grove_request r = ask_gather(f, unit, leaf, multiroot);
  return serve_and_end(&r, "grove_gather");
}

/* ---- scatter ---- */

static grove_request ask_scatter(grove_forest *f, MPI_Datatype unit, const void *multiroot,
                                 void *leaf)
{
  return (grove_request){GROVE_DISTRIBUTE, f, unit, MPI_REPLACE, {(void *)multiroot, leaf}, 0};
}

grove_status grove_scatter_init(grove_forest *f, MPI_Datatype unit, const void *multiroot,
                                void *leaf, grove_op **out)
{
  grove_request r = ask_scatter(f, unit, multiroot, leaf);
  return serve_call(&r, (caller){"grove_scatter_init", 0, out});
}

grove_status grove_scatter_prepare(grove_forest *f, MPI_Datatype unit)
{
  return serve_preparation(ask_scatter(f, unit, NULL, NULL), "grove_scatter_prepare");
}

grove_status grove_scatter_begin(grove_forest *f, MPI_Datatype unit, const void *multiroot,
                                 void *leaf, grove_op **out)
{
  grove_request r = ask_scatter(f, unit, multiroot, leaf);
  return serve_call(&r, (caller){"grove_scatter_begin", 1, out});
}

grove_status grove_scatter(grove_forest *f, MPI_Datatype unit, const void *multiroot, void *leaf)
{
  grove_request r = ask_scatter(f, unit, multiroot, leaf);
  return serve_and_end(&r, "grove_scatter");
}
