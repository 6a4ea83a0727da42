// affinity.hpp: what OMP_DISPLAY_AFFINITY and omp_display_affinity() tell of a thread.
#pragma once

#include <string>
#include <string_view>

#include "team.hpp"

namespace weft::omp {

// affinity-format-var.
std::string affinity_format();
void set_affinity_format(std::string_view format);

// What the format says about a thread: %[[[0].]width]t, with t a letter or a name in braces. Null: a thread that we do not know.
std::string affinity_text(std::string_view format, const Member* member);

// Writes the line of the calling thread. For OMP_DISPLAY_AFFINITY, by threads that begin a region.
void display_affinity(const Member* member);

// Writes a line to stdout, in order with the program's own.
void show_affinity(std::string line);

// "0-3,6"
std::string text_of_cpus(const std::vector<int>& cpus);

}  // namespace weft::omp
