// wait.hpp: what the synchronisation objects have in common.
#pragma once

#include <atomic>
#include <ctime>

#include "front/front.hpp"
#include "handle.hpp"
#include "weft/weft.h"

namespace weft::abt {

// In the program's own memory (ABT_mutex_memory and its like), which may begin between two words: T lies at the
// first address that suits it and leaves room for an int in front.
inline constexpr size_t kMemory = 64;
inline constexpr size_t kMemoryLeft = kMemory - 8;
static_assert(sizeof(ABT_mutex_memory) == kMemory && sizeof(ABT_cond_memory) == kMemory &&
              sizeof(ABT_eventual_memory) == kMemory);
template <class T>
T& within(void* memory) noexcept {
  static_assert(sizeof(T) <= kMemoryLeft && alignof(T) == 8);
  return *reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory) + 8) & ~uintptr_t{7});
}

// Whoever is about to wait notes in a spare word of the object how far it lies behind the beginning of its memory: a
// tool is told of the object, and wants the handle. 0: it is in no such memory.
inline uint32_t distance_of(const void* object, const void* memory) noexcept {
  return static_cast<uint32_t>(static_cast<const char*>(object) - static_cast<const char*>(memory));
}
inline void note_place(uint32_t& spare, const void* object, const void* memory) noexcept {
  const uint32_t note = distance_of(object, memory);
  const std::atomic_ref noted(spare);
  if (noted.load(std::memory_order_relaxed) != note) noted.store(note, std::memory_order_relaxed);
}
inline void* memory_at(const void* object, uint32_t distance) noexcept {
  char* const at = const_cast<char*>(static_cast<const char*>(object));
  return distance == 4 || distance == 8 ? at - distance : at;
}
inline void* memory_of(const void* object, const uint32_t& spare) noexcept {
  return memory_at(object, std::atomic_ref(const_cast<uint32_t&>(spare)).load(std::memory_order_relaxed));
}

// While it lives, what the calling unit waits for holds its ES, if it has to; else as before.
class HoldsStream {
 public:
  explicit HoldsStream(bool has_to = true) noexcept : has_to_(has_to), was_(has_to && weft_wait_in_place(true)) {}
  HoldsStream(const HoldsStream&) = delete;
  HoldsStream& operator=(const HoldsStream&) = delete;
  ~HoldsStream() {
    if (has_to_) weft_wait_in_place(was_);
  }

 private:
  const bool has_to_, was_;
};

// wait() again where the caller is a tasklet, which holds its ES as long as it waits.
template <class F>
int wait_anywhere(F&& wait) noexcept {
  const int error = wait();
  if (__builtin_expect(error != WEFT_ERR_CONTEXT, 1)) return error;
  const HoldsStream holds;
  return wait();
}

// One with a stack (is_task()) waits as a ULT does.
inline bool in_tasklet() noexcept {
  weft_unit_t self = front::self();
  return self != nullptr && front::is_tasklet(self);
}

// Whose wait without a deadline ends well. So the call can be the last one, whose answer is the caller's.
inline bool in_ult() noexcept {
  weft_unit_t self = front::self();
  return self != nullptr && !front::is_tasklet(self);
}
static_assert(static_cast<int>(WEFT_OK) == ABT_SUCCESS);

// 1.x refuses tasklets also where they would not have to wait.
inline bool is_refused() noexcept { return !kVersion20 && in_tasklet(); }

// Of a time of CLOCK_REALTIME. A clock that is set meanwhile does not count.
inline uint64_t deadline_of(const timespec& time) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const auto in_ns = [](const timespec& t) { return static_cast<__int128>(t.tv_sec) * 1'000'000'000 + t.tv_nsec; };
  const __int128 left = in_ns(time) - in_ns(now);
  if (left <= 0) return 0;
  return weft_after(left < static_cast<__int128>(WEFT_NEVER) ? static_cast<uint64_t>(left) : WEFT_NEVER);
}

}  // namespace weft::abt
