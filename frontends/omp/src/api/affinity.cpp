// affinity.cpp: places, and where threads are.
#include "affinity.hpp"

#include <algorithm>
#include <cstring>

#include "api/caller.hpp"
#include "api/fortran.hpp"

using namespace weft::omp;

namespace {

const std::vector<int>* place_at(int place) {
  const auto& places = device().places;
  return place >= 0 && static_cast<size_t>(place) < places.size() ? &places[static_cast<size_t>(place)] : nullptr;
}

template <typename Int>
void copy_cpus(int place, Int* ids) {
  const std::vector<int>* cpus = place_at(place);
  if (cpus != nullptr) std::copy(cpus->begin(), cpus->end(), ids);
}

template <typename Int>
void copy_partition(Int* numbers) {
  const Icvs& icvs = callers_icvs();
  for (int i = 0; i < icvs.place_count; ++i) numbers[i] = icvs.place_first + i;
}

// Into a buffer of C's: cut off, and with a 0 at its end. Returns how much there was.
size_t copy_text(const std::string& text, char* buffer, size_t size) {
  if (size > 0) {
    const size_t length = std::min(text.size(), size - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  return text.size();
}

// Into one of Fortran's: cut off, or with blanks behind.
size_t copy_blanks(const std::string& text, char* buffer, size_t size) {
  const size_t length = std::min(text.size(), size);
  std::memcpy(buffer, text.data(), length);
  std::memset(buffer + length, ' ', size - length);
  return text.size();
}

std::string text_of_caller(std::string_view format) {
  return affinity_text(format.empty() ? affinity_format() : format, caller());
}

void display(std::string_view format) { show_affinity(text_of_caller(format)); }

std::string_view text_or_none(const char* format) { return format != nullptr ? format : ""; }

// Fortran's texts have blanks at their ends.
std::string_view trimmed(const char* text, size_t size) {
  while (size > 0 && text[size - 1] == ' ') --size;
  return {text, size};
}

}  // namespace

WEFT_OMP_API int omp_get_proc_bind() { return static_cast<int>(callers_icvs().bind); }
WEFT_OMP_PLAIN(omp_get_proc_bind, "OMP_4.0")

WEFT_OMP_API int omp_get_num_places() { return static_cast<int>(device().places.size()); }
WEFT_OMP_PLAIN(omp_get_num_places, "OMP_4.5")

// Whoever asks before its first region gets to its place by that.
WEFT_OMP_API int omp_get_place_num() {
  const Member* member = caller();
  if (member == nullptr && device().initial.bind != Bind::kFalse) member = &this_member();
  return member != nullptr ? member->place : -1;
}
WEFT_OMP_PLAIN(omp_get_place_num, "OMP_4.5")

WEFT_OMP_API int omp_get_place_num_procs(int place) {
  const std::vector<int>* cpus = place_at(place);
  return cpus != nullptr ? static_cast<int>(cpus->size()) : 0;
}
WEFT_OMP_NUMBER(omp_get_place_num_procs, "OMP_4.5")

WEFT_OMP_API void omp_get_place_proc_ids(int place, int* ids) { copy_cpus(place, ids); }
WEFT_OMP_GNU(omp_get_place_proc_ids, "OMP_4.5")
WEFT_OMP_API void omp_get_place_proc_ids_(const int32_t* place, int32_t* ids) { copy_cpus(*place, ids); }
WEFT_OMP_GNU(omp_get_place_proc_ids_, "OMP_4.5")
WEFT_OMP_API void omp_get_place_proc_ids_8_(const int64_t* place, int64_t* ids) { copy_cpus(to_int(*place), ids); }
WEFT_OMP_GNU(omp_get_place_proc_ids_8_, "OMP_4.5")

WEFT_OMP_API int omp_get_partition_num_places() { return callers_icvs().place_count; }
WEFT_OMP_PLAIN(omp_get_partition_num_places, "OMP_4.5")

WEFT_OMP_API void omp_get_partition_place_nums(int* numbers) { copy_partition(numbers); }
WEFT_OMP_GNU(omp_get_partition_place_nums, "OMP_4.5")
WEFT_OMP_API void omp_get_partition_place_nums_(int32_t* numbers) { copy_partition(numbers); }
WEFT_OMP_GNU(omp_get_partition_place_nums_, "OMP_4.5")
WEFT_OMP_API void omp_get_partition_place_nums_8_(int64_t* numbers) { copy_partition(numbers); }
WEFT_OMP_GNU(omp_get_partition_place_nums_8_, "OMP_4.5")

// ---- the format. Fortran's functions get the lengths of their texts behind all arguments.

WEFT_OMP_API void omp_set_affinity_format(const char* format) { set_affinity_format(text_or_none(format)); }
WEFT_OMP_GNU(omp_set_affinity_format, "OMP_5.0")
WEFT_OMP_API void omp_set_affinity_format_(const char* format, size_t size) { set_affinity_format(trimmed(format, size)); }
WEFT_OMP_GNU(omp_set_affinity_format_, "OMP_5.0")

WEFT_OMP_API size_t omp_get_affinity_format(char* buffer, size_t size) { return copy_text(affinity_format(), buffer, size); }
WEFT_OMP_GNU(omp_get_affinity_format, "OMP_5.0")
WEFT_OMP_API size_t omp_get_affinity_format_(char* buffer, size_t size) { return copy_blanks(affinity_format(), buffer, size); }
WEFT_OMP_GNU(omp_get_affinity_format_, "OMP_5.0")

WEFT_OMP_API void omp_display_affinity(const char* format) { display(text_or_none(format)); }
WEFT_OMP_GNU(omp_display_affinity, "OMP_5.0")
WEFT_OMP_API void omp_display_affinity_(const char* format, size_t size) { display(trimmed(format, size)); }
WEFT_OMP_GNU(omp_display_affinity_, "OMP_5.0")

WEFT_OMP_API size_t omp_capture_affinity(char* buffer, size_t size, const char* format) {
  return copy_text(text_of_caller(text_or_none(format)), buffer, size);
}
WEFT_OMP_GNU(omp_capture_affinity, "OMP_5.0")
WEFT_OMP_API size_t omp_capture_affinity_(char* buffer, const char* format, size_t size, size_t format_size) {
  return copy_blanks(text_of_caller(trimmed(format, format_size)), buffer, size);
}
WEFT_OMP_GNU(omp_capture_affinity_, "OMP_5.0")

// Of flang's: C's functions under a name of their own.
WEFT_OMP_API void ompc_set_affinity_format(const char* format) { omp_set_affinity_format(format); }
WEFT_OMP_API size_t ompc_get_affinity_format(char* buffer, size_t size) { return omp_get_affinity_format(buffer, size); }
WEFT_OMP_API void ompc_display_affinity(const char* format) { omp_display_affinity(format); }
WEFT_OMP_API size_t ompc_capture_affinity(char* buffer, size_t size, const char* format) {
  return omp_capture_affinity(buffer, size, format);
}
