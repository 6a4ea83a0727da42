// timer_memory.cpp: the memory of a heap of deadlines.
//
//   | unused | entry 0 | entries 1 to 4 | entries 5 to 8 | ...      the children of one entry: a cache line
#include <sys/mman.h>

#include <algorithm>

#include "base/check.hpp"
#include "time/timer_heap.hpp"

namespace weft::rt {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kLine = 64;
// Address space at first, of which what is used is touched. At the kernel's limit on mappings not even a mapping that
// there is can be moved to where it has room: by then a program has some 30 000 stacks, and their deadlines fit.
constexpr size_t kFirstBytes = size_t{1} << 20;

}  // namespace

size_t TimerHeap::bytes_of(size_t entries) noexcept { return kLine - sizeof(Entry) + entries * sizeof(Entry); }

char* TimerHeap::memory() const noexcept { return reinterpret_cast<char*>(entries_) - bytes_of(0); }

// True: there is room for one more.
bool TimerHeap::grow() noexcept {
  const size_t old = entries_ != nullptr ? bytes_of(room_) : 0;
  const size_t bytes = old != 0 ? 2 * old : kFirstBytes;
  const size_t room = (bytes - bytes_of(0)) / sizeof(Entry);
  if (room >= Timer::kInList) return false;
  void* memory = old != 0
                     ? mremap(this->memory(), old, bytes, MREMAP_MAYMOVE)
                     : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  entries_ = reinterpret_cast<Entry*>(static_cast<char*>(memory) + bytes_of(0));
  room_ = room;
  return true;
}

// Keeps what is in use twice over: until as many have come and gone again, nothing is given back again.
void TimerHeap::give_back() noexcept {
  const size_t keep = std::max(kKeptEntries, 2 * count_);
  if (touched_ <= keep) return;
  const size_t from = (bytes_of(keep) + kPage - 1) & ~(kPage - 1);
  const size_t to = (bytes_of(touched_) + kPage - 1) & ~(kPage - 1);
  // It fails where the program has locked its memory: then it stays.
  if (from < to) static_cast<void>(madvise(memory() + from, to - from, MADV_DONTNEED));
  touched_ = keep;
}

void TimerHeap::release() noexcept {
  WEFT_CHECK(count_ == 0 && list_ == nullptr);
  if (entries_ == nullptr) return;
  WEFT_CHECK(munmap(memory(), bytes_of(room_)) == 0);
  entries_ = nullptr;
  room_ = 0;
  touched_ = 0;
}

}  // namespace weft::rt
