// depend.hpp: depend clauses, as gcc's code gives them.
#pragma once

#include <cstddef>
#include <memory>

#include "task.hpp"

namespace weft::omp::gnu {

// Of the compiler's array, one of two forms:
//   {n, outs, address …}: first those out and inout, then those in;
//   {0, n, outs, mutexinoutsets, ins, address …, pointers to objects {address, kind} …}.
class Depends {
 public:
  // Null: none.
  explicit Depends(void** list);
  size_t count() const { return x_count; }
  const Depend* items() const { return x_items; }

 private:
  static constexpr size_t kFew = 16;
  Depend x_few[kFew];
  std::unique_ptr<Depend[]> x_many;
  Depend* x_items = x_few;
  size_t x_count = 0;
};

}  // namespace weft::omp::gnu
