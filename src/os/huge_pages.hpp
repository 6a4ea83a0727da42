// huge_pages.hpp: memory in pages of 2 MiB.
//
// Transparent ones are ordinary memory that the kernel may map with huge pages, where an aligned piece of
// 2 MiB has one use and nothing in it is protected, guarded or given back by itself: each of these splits
// the page for good. Explicit ones come from a pool that the administrator reserves; they can be protected
// and given back by the whole page only, and the kernel refuses guards in them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::rt {

enum class PageKind : uint8_t { kOrdinary, kTransparent, kExplicit };

inline constexpr size_t kHugePage = size_t{2} << 20;

inline constexpr size_t round_to_huge_page(size_t bytes) noexcept {
  return (bytes + kHugePage - 1) & ~(kHugePage - 1);
}

// What of the wish this machine can do; where that is less, says so on standard error. Once per initialise,
// before the first huge_pages_map().
PageKind huge_pages_setup(PageKind wish) noexcept;

// Memory that starts at a multiple of kHugePage. Where the pool is used up it is of the next lesser kind, which is
// told once. protection: mmap()'s. Null: out of memory. Preconditions: kind is not kOrdinary; bytes is a multiple of kHugePage.
char* huge_pages_map(size_t bytes, PageKind kind, int protection) noexcept;

}  // namespace weft::rt
