// exported.hpp: whether anybody exports a function, without the loader's lock.
#pragma once

namespace weft::omp {

// Another one than `ours`, by whatever is loaded, also where nobody would find it. dlsym() has the lock that dlopen() has while it
// calls constructors; this one only keeps modules from coming and going.
bool exported_by_others(const char* name, const void* ours);

}  // namespace weft::omp
