// An Import of Tpetra's, its exchange and Grove's: equal values, and times in turn. The target map
// is what the rows of a matrix need: own entries first, then those of other ranks.
//
//     mpirun -n 4 grove_interop_tpetra [--check] [MATRIX.mtx...]
//
// Without a matrix it is a grid of 300 x 300 points.
#include "grove_tpetra.hpp"
#include "times.h"
#include "tpetra_memory.hpp"

#include <cstdio>
#include <cstring>
#include <set>

namespace {

using Map = Tpetra::Map<>;
using Import = Tpetra::Import<>;
using Vector = Tpetra::Vector<double>;
using Numbers = std::vector<double>;

struct Halo {
  Teuchos::RCP<const Import> import;
  Numbers x, theirs, ours, their_sum, our_sum;
  Teuchos::RCP<Vector> source, target, sum;
  grove_op *update, *add;
};

Teuchos::RCP<const Import> make_import(const places &p)
{
  using GO = Map::global_ordinal_type;
  auto comm = Tpetra::getDefaultComm();
  std::set<GO> foreign;
  for (int64_t k = 0; k < p.count; k++)
    if (p.col[k] < p.first || p.col[k] >= p.first + p.nrows) foreign.insert((GO)p.col[k]);
  std::vector<GO> needed;
  for (int64_t i = 0; i < p.nrows; i++) needed.push_back((GO)(p.first + i));
  needed.insert(needed.end(), foreign.begin(), foreign.end());
  auto unknown = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
  auto source = Teuchos::rcp(new Map((Tpetra::global_size_t)p.rows, (std::size_t)p.nrows, 0, comm));
  Teuchos::ArrayView<const GO> view(needed.data(), (Teuchos::Ordinal)needed.size());
  auto target = Teuchos::rcp(new Map(unknown, view, 0, comm));
  return Teuchos::rcp(new Import(source, target));
}

void by_tpetra(void *user)
{
  Halo *h = static_cast<Halo *>(user);
  h->target->doImport(*h->source, *h->import, Tpetra::REPLACE);
}

void back_by_tpetra(void *user)
{
  Halo *h = static_cast<Halo *>(user);
  h->sum->doExport(*h->target, *h->import, Tpetra::ADD);
}

void by_grove(void *user)
{
  Halo *h = static_cast<Halo *>(user);
  GROVE_MUST(grove_start(h->update));
  GROVE_MUST(grove_wait(h->update));
}

void back_by_grove(void *user)
{
  Halo *h = static_cast<Halo *>(user);
  GROVE_MUST(grove_start(h->add));
  GROVE_MUST(grove_wait(h->add));
}

void fill(Halo &h, const places &p)
{
  std::size_t own = h.import->getSourceMap()->getNodeNumElements();
  std::size_t needed = h.import->getTargetMap()->getNodeNumElements();
  for (std::size_t i = 0; i < own; i++) h.x.push_back(1 + 0.25 * (double)(p.first + (int64_t)i));
  h.theirs.resize(needed);
  h.ours.resize(needed);
  h.their_sum.resize(own);
  h.our_sum.resize(own);
  h.source = tpetra_wrap(h.import->getSourceMap(), h.x.data());
  h.target = tpetra_wrap(h.import->getTargetMap(), h.theirs.data());
  h.sum = tpetra_wrap(h.import->getSourceMap(), h.their_sum.data());
}

void compare(const char *name, Halo &h)
{
  by_tpetra(&h);
  by_grove(&h);
  times_agree(name, h.theirs.data(), h.ours.data(), (int64_t)h.ours.size());
  times_compare(name, "Tpetra", by_tpetra, by_grove, &h);
  back_by_tpetra(&h);
  back_by_grove(&h);
  times_agree(name, h.their_sum.data(), h.our_sum.data(), (int64_t)h.our_sum.size());
  times_compare("  backwards", "Tpetra", back_by_tpetra, back_by_grove, &h);
}

void measure(grove_context *ctx, const char *path)
{
  Halo h;
  grove_forest *forest;
  places p = places_read(path, 300);
  h.import = make_import(p);
  fill(h, p);
  GROVE_MUST(grove_forest_from_import(ctx, *h.import, &forest));
  GROVE_MUST(
    grove_bcast_init(forest, MPI_DOUBLE, h.x.data(), h.ours.data(), MPI_REPLACE, &h.update));
  GROVE_MUST(
    grove_reduce_init(forest, MPI_DOUBLE, h.ours.data(), h.our_sum.data(), MPI_SUM, &h.add));
  const char *slash = path ? std::strrchr(path, '/') : nullptr;
  compare(!path ? "a grid" : slash ? slash + 1 : path, h);
  GROVE_MUST(grove_op_free(&h.update));
  GROVE_MUST(grove_op_free(&h.add));
  GROVE_MUST(grove_forest_free(&forest));
  places_free(&p);
}

} // namespace

int main(int argc, char **argv)
{
  int first = times_begin(argc, argv);
  grove_context *ctx;
  MPI_Init(&argc, &argv);
  tpetra_begin(MPI_COMM_WORLD);
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  if (argc == first) measure(ctx, nullptr);
  for (int i = first; i < argc; i++) measure(ctx, argv[i]);
  GROVE_MUST(grove_context_free(&ctx));
  if (Tpetra::getDefaultComm()->getRank() == 0) std::printf("all values are Tpetra's\n");
  return MPI_Finalize();
}
