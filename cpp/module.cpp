// The Python module _core: one file of bindings for each concept. Private; src/treemeans/_core.pyi
// has the types.
#include <omp.h>

#include <cstdlib>  // defines __GLIBC__ where that is the C library

#include "bindings.hpp"
#include "block_size.hpp"

namespace {

// By default glibc hands freed memory back to the system from twice the largest block on that was
// freed before, and a fit of a table of a few megabytes would ask for all its pages again every
// time: a tenth of its time. Freeing one block of 16 MB, whose pages are never touched, makes it
// keep up to 32 MB.
void keep_freed_memory() {
#if defined(__GLIBC__)
  void* volatile block = std::malloc(std::size_t{16} << 20);
  std::free(block);
#endif
}

}  // namespace

NB_MODULE(_core, m) {
  keep_freed_memory();
  m.doc() = "Kernels of treemeans. Private: use the treemeans package.";
  treemeans::bind_points(m);              // tables, columns, trees applied to rows
  treemeans::bind_costs(m);               // bins, distances to centers, fixed point
  treemeans::bind_searches(m);            // Cut, Limits; mistakes, greedy; scores of bins
  treemeans::bind_surrogate(m);           // Algorithm 1: the best cut of a leaf, and the expansion
  treemeans::bind_mutable_tree(m);        // trees that a refinement changes
  treemeans::bind_annealing(m);           // chains of annealing
  treemeans::bind_kauri(m);               // Kauri
  treemeans::bind_shuffle_comparison(m);  // clusters beside those of shuffled columns
  treemeans::bind_grouped_histogram(m);   // partitions: bins of values
  treemeans::bind_code_histogram(m);      // partitions: codes of bins
  treemeans::bind_optimal(m);             // proven trees
  m.def("max_threads", [] { return omp_get_max_threads(); });
  // Values of a table and its costs below which a plain fit takes one thread.
  m.attr("SMALL_TABLE") = treemeans::sized(1 << 20, 0);
}
