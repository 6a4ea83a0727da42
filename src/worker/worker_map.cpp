// worker_map.cpp: the memory of a worker.
//
//   | Worker, its page(s) | ring | forks |
//
// Rejected: new and calloc(): what several workers have would share pages, and calloc() clears memory that was
// used before, on the creator's node. A record made by the worker's own KLT: its creator would have to wait.
#include <sys/mman.h>

#include <new>

#include "base/check.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kRecordBytes = (sizeof(Worker) + kPage - 1) & ~(kPage - 1);
constexpr size_t kBytes = kRecordBytes + Lane::kFirstBytes;
static_assert(kBytes % kPage == 0);

}  // namespace

Worker* worker_map() noexcept {
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return ::new (memory) Worker(static_cast<char*>(memory) + kRecordBytes);
}

void worker_unmap(Worker* worker) noexcept {
  worker->~Worker();
  WEFT_CHECK(munmap(worker, kBytes) == 0);
}

}  // namespace weft::rt
