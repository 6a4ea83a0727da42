// memory_map.hpp: what the kernel says about memory of this process.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace weft_test {

// How many bytes of the mapping that `address` lies in are in huge pages, of either kind.
inline size_t huge_bytes_at(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  bool here = false;
  size_t kib = 0;
  while (std::getline(smaps, line)) {
    unsigned long from = 0;
    unsigned long to = 0;
    unsigned long amount = 0;
    char permissions[8];
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &from, &to, permissions) == 3) {
      const auto at = reinterpret_cast<uintptr_t>(address);
      here = at >= from && at < to;
    } else if (here && (std::sscanf(line.c_str(), "AnonHugePages: %lu", &amount) == 1 ||
                        std::sscanf(line.c_str(), "Private_Hugetlb: %lu", &amount) == 1)) {
      kib += amount;
    }
  }
  return kib << 10;
}

// A line of /proc/meminfo, or of a file of one number under /proc/sys/vm.
inline size_t number_in(const char* path, const std::string& name = "") {
  std::ifstream file(path);
  std::string word;
  size_t number = 0;
  if (name.empty()) return file >> number ? number : 0;
  while (file >> word) {
    if (word == name && file >> number) return number;
  }
  return 0;
}

// Huge pages of the pool that a process could get now, more that the kernel may add included.
inline size_t free_in_pool() {
  const size_t unused = number_in("/proc/meminfo", "HugePages_Free:");
  const size_t promised = number_in("/proc/meminfo", "HugePages_Rsvd:");
  return unused - promised + number_in("/proc/sys/vm/nr_overcommit_hugepages");
}

// Whether anybody has touched the page yet.
inline bool page_present(const void* address) {
  auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{4095});
  unsigned char there = 0;
  return mincore(page, 4096, &there) == 0 && (there & 1) != 0;
}

// The NUMA node of a page that has been touched; negative: the kernel does not say.
inline int node_of_page(void* address) {
  void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{4095});
  int node = -1;
  if (syscall(SYS_move_pages, 0, 1ul, &page, nullptr, &node, 0) != 0) return -1;
  return node;
}

}  // namespace weft_test
