#include "icv.hpp"

namespace weft::omp {

Icvs icvs_inside(const Icvs& outer, int level) {
  Icvs icvs = outer;
  const Device& said = device();
  const auto at = static_cast<size_t>(level);
  // The first of a list is the initial tasks' already, and behind its end the last one is inherited: so what the program sets
  // is inherited too, as far as the list says nothing.
  if (at < said.nthreads_list.size()) icvs.nthreads = said.nthreads_list[at];
  if (at < said.bind_list.size()) icvs.bind = said.bind_list[at];
  if (said.bind_unset_after && at >= said.bind_list.size()) icvs.bind = Bind::kFalse;
  return icvs;
}

bool list_says_bind(int level) {
  const Device& said = device();
  return said.bind_unset_after || static_cast<size_t>(level) < said.bind_list.size();
}

}  // namespace weft::omp
