// An Import of Tpetra's as a star forest: roots are the entries of a vector on the source map,
// leaves those of a vector on the target map.
//
//     grove_forest_from_import(ctx, *import, &halo);
//     grove_bcast_init(halo, MPI_DOUBLE, x, y, MPI_REPLACE, &update);  // y.doImport(x, import)
//     grove_reduce_init(halo, MPI_DOUBLE, y, x, MPI_SUM, &add);        // x.doExport(y, import, ADD)
//
// x and y are the local values of the vectors: x.getLocalViewHost and its like.
#ifndef GROVE_TPETRA_HPP
#define GROVE_TPETRA_HPP

#include <grove.h>

#include <Tpetra_Import.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_Vector.hpp>

#include <new>
#include <vector>

// What each target entry gets when every source entry holds `value(i)`; -1 where it gets nothing.
template <class LO, class GO, class Node, class Value>
std::vector<LO> grove_imported(const Tpetra::Import<LO, GO, Node> &import, Value value)
{
  Tpetra::Vector<LO, LO, GO, Node> source(import.getSourceMap()), target(import.getTargetMap());
  target.putScalar(-1);
  for (std::size_t i = 0; i < source.getLocalLength(); i++)
    source.replaceLocalValue((LO)i, value((LO)i));
  target.doImport(source, import, Tpetra::REPLACE);
  auto data = target.getData();
  return std::vector<LO>(data.begin(), data.end());
}

// Makes the forest of an Import. It asks the Import itself where each entry comes from. So it finds
// entries that stay, that move within the rank, and that come from others; and where several ranks
// have the same source entry, it takes the one that the Import takes. The communicator of the
// Import must be that of the context, or have the same ranks in the same order. Collective.
template <class LO, class GO, class Node>
grove_status grove_forest_from_import(grove_context *ctx,
                                      const Tpetra::Import<LO, GO, Node> &import,
                                      grove_forest **out)
{
  LO rank = import.getSourceMap()->getComm()->getRank();
  auto ranks = grove_imported(import, [=](LO) { return rank; });
  auto places = grove_imported(import, [](LO i) { return i; });
  std::vector<int64_t> slots;
  std::vector<grove_root> roots;
  for (std::size_t i = 0; i < ranks.size(); i++) {
    if (ranks[i] < 0) continue;
    slots.push_back((int64_t)i);
    roots.push_back(grove_root{(int)ranks[i], (int64_t)places[i]});
  }
  grove_forest *forest = nullptr;
  grove_status status = grove_forest_create(ctx, &forest);
  if (!status)
    status = grove_forest_set_graph(forest, (int64_t)import.getSourceMap()->getNodeNumElements(),
                                    (int64_t)slots.size(), slots.data(), roots.data());
  if (!status) status = grove_forest_set_up(forest);
  if (status) {
    grove_forest_free(&forest);
    return status;
  }
  *out = forest;
  return GROVE_OK;
}

#endif
