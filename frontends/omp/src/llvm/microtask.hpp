// microtask.hpp: calling an outlined region, whose number of arguments is known at run time only.
#pragma once

#include "llvm/ident.hpp"

// fn(&gtid, &number, argv[0], …, argv[argc - 1]). In assembly, per instruction set.
extern "C" __attribute__((visibility("hidden"))) void weft_omp_microtask(weft::omp::llvm::Microtask fn, int32_t* gtid,
                                                                          int32_t* number, int argc, void** argv);
