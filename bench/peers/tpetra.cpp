// Tpetra's halo exchange: an Import between the map of a rank's own entries and the map of its
// ghosts, on vectors that are views of the case's arrays. A reduction is the same Import backwards.
#include "methods/method.h"
#include "peers/ghosts.h"

#include <Tpetra_Import.hpp>
#include <tpetra_memory.hpp>

namespace {

using Map = Tpetra::Map<>;
using Import = Tpetra::Import<>;
using Vector = Tpetra::Vector<double>;

struct State {
  bench_case *c;
  const bench_ghosts *ghosts;
  Teuchos::RCP<const Map> owned, needed;
  Teuchos::RCP<const Import> import;
  Teuchos::RCP<Vector> roots, leaves;
};

void *set_up(bench_case *c)
{
  tpetra_begin(c->comm);
  State *s = new State;
  s->c = c;
  s->ghosts = bench_ghosts_of(c);
  auto comm = Tpetra::getDefaultComm();
  size_t own = (size_t)c->graph[0].nroots, n = (size_t)s->ghosts->nghosts;
  auto unknown = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
  auto global = reinterpret_cast<const Map::global_ordinal_type *>(s->ghosts->global);
  Teuchos::ArrayView<const Map::global_ordinal_type> numbers(global, n);
  s->owned = Teuchos::rcp(new Map((Tpetra::global_size_t)s->ghosts->total, own, 0, comm));
  s->needed = Teuchos::rcp(new Map(unknown, numbers, 0, comm));
  s->import = Teuchos::rcp(new Import(s->owned, s->needed));
  return s;
}

void init(void *state)
{
  State *s = static_cast<State *>(state);
  double *leaf = reinterpret_cast<double *>(s->c->leaf);
  s->roots = tpetra_wrap(s->owned, reinterpret_cast<double *>(s->c->root));
  s->leaves = tpetra_wrap(s->needed, bench_ghost_values(s->ghosts, leaf));
}

void run(void *state, int begin, int end)
{
  State *s = static_cast<State *>(state);
  double *root = reinterpret_cast<double *>(s->c->root);
  double *leaf = reinterpret_cast<double *>(s->c->leaf);
  for (int i = begin; i < end; i++) {
    if (s->c->spec->kind == BENCH_REDUCE) {
      bench_leaves_to_ghosts(s->ghosts, leaf, root);
      s->roots->doExport(*s->leaves, *s->import, Tpetra::ADD);
    } else {
      s->leaves->doImport(*s->roots, *s->import, Tpetra::REPLACE);
      bench_ghosts_to_leaves(s->ghosts, root, leaf);
    }
  }
}

void fini(void *state)
{
  State *s = static_cast<State *>(state);
  s->roots = Teuchos::null;
  s->leaves = Teuchos::null;
}

void tear_down(void *state)
{
  delete static_cast<State *>(state);
}

} // namespace

extern "C" {
extern const bench_method bench_tpetra;
const bench_method bench_tpetra = {
  "tpetra", "Tpetra's Import, doubles", bench_ghosts_support, set_up, init, run, fini, tear_down,
};
}
