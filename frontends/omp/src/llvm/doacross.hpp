// doacross.hpp: a member's doacross nest.
#pragma once

#include <cstdint>

#include "llvm/ident.hpp"
#include "team.hpp"

namespace weft::omp::llvm {

// Iterations are given in the program's numbers; the construct counts from 0.
struct Doacross {
  unsigned dims = 0;
  bool entered = false;  // the construct that the loop is has it
  KmpDim* bounds = nullptr;
  uint64_t* counts = nullptr;
  int64_t* point = nullptr;  // where an iteration is written down
};
inline Doacross* doacross_of(const Member& member) { return static_cast<Doacross*>(member.doacross); }

}  // namespace weft::omp::llvm
