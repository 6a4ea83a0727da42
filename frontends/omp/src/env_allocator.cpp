// env_allocator.cpp: OMP_ALLOCATOR.
#include <algorithm>

#include "allocator.hpp"
#include "env.hpp"

namespace weft::omp {
namespace {

constexpr const char* kAllocators[] = {"omp_default_mem_alloc", "omp_large_cap_mem_alloc", "omp_const_mem_alloc",
                                       "omp_high_bw_mem_alloc", "omp_low_lat_mem_alloc",   "omp_cgroup_mem_alloc",
                                       "omp_pteam_mem_alloc",   "omp_thread_mem_alloc"};
constexpr const char* kPinnedName = "ompx_gnu_pinned_mem_alloc";
constexpr const char* kSpaces[] = {"omp_default_mem_space", "omp_large_cap_mem_space", "omp_const_mem_space",
                                   "omp_high_bw_mem_space", "omp_low_lat_mem_space"};

struct Word {
  const char* name;
  uintptr_t value;
};
constexpr Word kTraits[] = {{"sync_hint", 1}, {"alignment", 2}, {"access", 3},  {"pool_size", 4},
                            {"fallback", 5},  {"fb_data", 6},   {"pinned", 7},  {"partition", 8}};
constexpr Word kValues[] = {
    {"false", 0},   {"true", 1},            {"default", kDefaultValue}, {"contended", 3}, {"uncontended", 4}, {"serialized", 5},
    {"private", 6}, {"all", 7},             {"thread", 8},              {"pteam", 9},     {"cgroup", 10},     {"default_mem_fb", 11},
    {"null_fb", 12}, {"abort_fb", 13},      {"allocator_fb", 14},       {"environment", 15}, {"nearest", 16}, {"blocked", 17},
    {"interleaved", 18}};

template <size_t n>
bool find(const Word (&words)[n], const std::string& name, uintptr_t& value) {
  const auto* word = std::find_if(std::begin(words), std::end(words), [&](const Word& w) { return name == w.name; });
  if (word == std::end(words)) return false;
  value = word->value;
  return true;
}

template <size_t n>
int place_of(const char* const (&names)[n], const std::string& name) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  return found != std::end(names) ? static_cast<int>(found - names) : -1;
}

bool read_value(Scan& text, uintptr_t& value) {
  const std::string word = text.word();
  if (const int place = place_of(kAllocators, word); place >= 0) {  // of fb_data
    value = static_cast<uintptr_t>(place) + 1;
    return true;
  }
  if (!word.empty()) return find(kValues, word, value);
  long number = 0;
  if (!text.number(number) || number < 0) return false;
  value = static_cast<uintptr_t>(number);
  return true;
}

// alignment=64,pinned=true
bool read_traits(Scan& text, std::vector<TraitValue>& traits) {
  do {
    uintptr_t key = 0, value = 0;
    if (!find(kTraits, text.word(), key) || !text.take('=') || !read_value(text, value)) return false;
    traits.push_back({static_cast<int>(key), value});
  } while (text.take(','));
  return text.at_end();
}

}  // namespace

bool read_allocator(Scan& text, Reading& reading) {
  const std::string word = text.word();
  if (const int place = place_of(kAllocators, word); place >= 0 && text.at_end()) {
    reading.device.initial.allocator = static_cast<uintptr_t>(place) + 1;
    return true;
  }
  if (word == kPinnedName && text.at_end()) {
    reading.device.initial.allocator = kPinnedOfGcc;
    return true;
  }
  const int space = place_of(kSpaces, word);
  std::vector<TraitValue> traits;
  if (space < 0 || (text.take(':') ? !read_traits(text, traits) : !text.at_end())) return false;
  const AllocatorHandle handle =
      create_allocator(static_cast<uintptr_t>(space), static_cast<int>(traits.size()), traits.data());
  if (handle == kNullAllocator) return false;
  reading.device.initial.allocator = handle;
  return true;
}

}  // namespace weft::omp
