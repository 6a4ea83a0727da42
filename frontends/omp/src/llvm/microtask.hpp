// microtask.hpp: calling an outlined region, whose number of arguments is known at run time only.
#pragma once

#include "llvm/ident.hpp"
#include "team.hpp"

// fn(&gtid, &number, argv[0], …, argv[argc - 1]). In assembly, per instruction set. *frame: its own frame, while fn runs; null: nobody
// wants to know.
extern "C" __attribute__((visibility("hidden"))) void weft_omp_microtask(weft::omp::llvm::Microtask fn, int32_t* gtid,
                                                                          int32_t* number, int argc, void** argv, void** frame);

namespace weft::omp::llvm {

// The call of a region's code in a member, or in an initial thread of a league.
struct Call {
  Microtask fn;
  int argc;
  void** argv;
};
void run_in(Member& member, const Call& call);

}  // namespace weft::omp::llvm
