// loop.cpp: entering and leaving loops.
#include "llvm/loop.hpp"

#include "llvm/doacross.hpp"

namespace weft::omp::llvm {

void enter_loop(Member& member, LoopSpec spec) {
  leave_loop(member);
  if (Doacross* nest = doacross_of(member); nest != nullptr && !nest->entered) {
    nest->entered = true;
    spec.dims = nest->dims;
    spec.counts = nest->counts;
  }
  loop_begin(member, spec);
  member.loop_open = true;
}

void leave_loop(Member& member) {
  if (!member.loop_open) return;
  member.loop_open = false;
  loop_end(member);
}

}  // namespace weft::omp::llvm
