// export.hpp: what the library exports, and under which versions.
//
// Programs of clang's (and of whoever links with libomp) ask for name@VERSION, those of gcc's for name@GOMP_4.0 and the like.
// So each symbol has the default version VERSION, and what libgomp has as well has libgomp's version besides, hidden. It is
// written so, the second line in the file that defines the function, behind the definition:
//
//   WEFT_OMP_API int omp_get_level() { … }
//   WEFT_OMP_GNU(omp_get_level, "OMP_3.0")
//
// Without the second line a symbol has VERSION only. One with two old versions (locks) has WEFT_OMP_GNU_OLD(name, "OMP_1.0")
// as a third line. Where gcc's code calls it in another way, WEFT_OMP_GNU_OTHER(name, other, "GOMP_5.1.3") has another function of
// ours under gcc's version. Which symbols there must be stands in tests/omp/symbols.txt; omp.map names the versions, and the patterns
// of the names: one that matches none of them is not exported.
//
// It is done with aliases and the assembler's .symver: gcc's attribute is unknown to clang, and a linker's version script
// cannot give a symbol two versions. `@@@` renames the symbol itself, without which the linker takes the hidden version for
// the symbol's only one. What lies below the interfaces, and is in the static library as well, has none of them.
#pragma once

#define WEFT_OMP_API extern "C" __attribute__((visibility("default")))

#define WEFT_OMP_GNU(name, version)      \
  WEFT_OMP_ALIAS(name, weft_gnu_##name, version) \
  __asm__(".symver " #name ", " #name "@@@VERSION");
#define WEFT_OMP_GNU_OLD(name, version) WEFT_OMP_ALIAS(name, weft_old_##name, version)
#define WEFT_OMP_GNU_OTHER(name, other, version) \
  __asm__(".symver " #name ", " #name "@@@VERSION"); \
  __asm__(".symver " #other ", " #name "@" version);
#define WEFT_OMP_ALIAS(name, other, version)                                                \
  extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) other;     \
  __asm__(".symver " #other ", " #name "@" version);
