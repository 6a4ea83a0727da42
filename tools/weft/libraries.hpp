// libraries.hpp: where the libraries are that take the place of other runtimes.
#pragma once

#include <string>

namespace weft::command {

// The directory with libgomp.so.1, libomp.so.5, libiomp5.so and libabt.so.1: absolute. Empty: it is not there.
std::string library_directory();

}  // namespace weft::command
