#include "os/huge_pages.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "os/file.hpp"

namespace weft::rt {
namespace {

constexpr int kMapHuge2M = 21 << MAP_HUGE_SHIFT;  // MAP_HUGE_2MB of <linux/mman.h>

constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;

// Whether fallbacks are still to be told: written by huge_pages_setup(), before there are other threads.
std::atomic<bool> told{false};
bool transparent_possible = false;

template <class... Args>
void say(const char* format, Args... args) noexcept {
  char text[400];
  const int n = std::snprintf(text, sizeof text, format, args...);
  // One write, so that the lines of several processes do not mix.
  if (n > 0 && write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

const char* next_best() noexcept {
  return transparent_possible ? "going on with transparent ones" : "going on with ordinary pages";
}

// A file such as "always [madvise] never".
bool chosen(const char* path, const char* word) {
  return read_file(path).value_or("").find(std::string("[") + word + "]") != std::string::npos;
}

// The size's own switch counts (Linux 6.8), unless it says "inherit".
bool kernel_gives_transparent() noexcept try {
  constexpr char kAll[] = "/sys/kernel/mm/transparent_hugepage/enabled";
  constexpr char kThisSize[] = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled";
  if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1) return false;
  if (chosen(kThisSize, "always") || chosen(kThisSize, "madvise")) return true;
  if (chosen(kThisSize, "never")) return false;
  return chosen(kAll, "always") || chosen(kAll, "madvise");
} catch (...) {  // no memory for a file's text: whoever asked finds out at its own next step
  return false;
}

// The kernel promises the pages here, so that touching them cannot fail for want of them.
void* map_explicit(size_t bytes, int protection) noexcept {
  return mmap(nullptr, bytes, protection, kPrivate | MAP_HUGETLB | kMapHuge2M, -1, 0);
}

void tell_pool_is_empty(size_t bytes, int error) noexcept {
  if (told.exchange(true, std::memory_order_relaxed)) return;
  say("weft: WEFT_HUGE_PAGES=explicit: the kernel has no %zu MiB of reserved huge pages for us (%s); %s. "
      "To reserve 512 of them, as root: sysctl vm.nr_hugepages=512\n",
      bytes >> 20, std::strerror(error), next_best());
}

// A larger piece, cut to the aligned part.
char* map_aligned(size_t bytes, int protection) noexcept {
  // NORESERVE: address space for stacks, most of which are never used.
  void* memory =
      mmap(nullptr, bytes + kHugePage, protection, kPrivate | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const low = static_cast<char*>(memory);
  const size_t before = -reinterpret_cast<uintptr_t>(low) & (kHugePage - 1);
  if (before != 0) munmap(low, before);
  munmap(low + before + bytes, kHugePage - before);
  return low + before;
}

}  // namespace

PageKind huge_pages_setup(PageKind wish) noexcept {
  told.store(false, std::memory_order_relaxed);
  if (wish == PageKind::kOrdinary) return wish;
  transparent_possible = kernel_gives_transparent();
  if (wish == PageKind::kExplicit) {
    void* one = map_explicit(kHugePage, PROT_READ | PROT_WRITE);
    if (one != MAP_FAILED) {
      munmap(one, kHugePage);
      return wish;
    }
    tell_pool_is_empty(kHugePage, errno);
    return transparent_possible ? PageKind::kTransparent : PageKind::kOrdinary;
  }
  if (transparent_possible) return wish;
  say("weft: WEFT_HUGE_PAGES=transparent: this machine gives none (see "
      "/sys/kernel/mm/transparent_hugepage/enabled); %s\n",
      next_best());
  return PageKind::kOrdinary;
}

char* huge_pages_map(size_t bytes, PageKind kind, int protection) noexcept {
  if (kind == PageKind::kExplicit) {
    void* memory = map_explicit(bytes, protection);
    if (memory != MAP_FAILED) return static_cast<char*>(memory);
    tell_pool_is_empty(bytes, errno);
  }
  char* memory = map_aligned(bytes, protection);
  if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);  // refused: ordinary pages then
  return memory;
}

}  // namespace weft::rt
