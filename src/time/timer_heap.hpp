// timer_heap.hpp: the deadlines that ULTs of one worker wait for.
//
// A heap in an array, four children to an entry, so that the children of one entry are one cache line. A Timer
// lies in its waiter's frame and knows its place in the array, which is what removing it takes. The keys lie side by
// side: to arm, disarm and find what is due looks at no other waiter's frame, and writes to a few.
//
// The last entries, up to kTail, are not in order yet: most of those that wait with a deadline are woken soon, and were
// they sifted to the top and back, each would cost as many steps as the heap has levels.
//
// The array is mapped memory, because it grows with the guard up, where malloc() may not be called. It grows by
// mremap(), which moves no contents, and is given back when most of it is unused. Where the kernel gives no more of
// it, those that find no room are kept in a list through the Timers themselves: a deadline is never refused or
// forgotten, only found more slowly.
//
// Rejected:
//   a timer wheel     its tick is either late or wakes an idle machine
//   a pairing heap    lies in the waiters' frames, a cold page each: the first removal of 100 000 took 40 ms, each
//                     later one 3 to 50 us
//   places in an array of their own, by the number of a slot    no frame but the timer's own is written; not faster
//                     at 1000 deadlines a second, where the frame of the one that is due costs most, and more memory
//   address space for all there may ever be    strict overcommit and limits on address space refuse it
//   an error for whoever finds no room    every timed wait would have one more, which nobody would ever see in a test
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/spin_lock.hpp"
#include "os/clock.hpp"

namespace weft::rt {

struct Waiter;
class TimerHeap;

struct Timer {
  static constexpr uint32_t kNowhere = UINT32_MAX;      // not armed
  static constexpr uint32_t kInList = UINT32_MAX - 1;  // the array had no room

  // constant once armed
  uint64_t deadline = kNever;
  Waiter* waiter = nullptr;
  TimerHeap* heap = nullptr;  // null: never armed
  // under the heap's lock
  uint32_t place = kNowhere;  // in the array
  Timer* next = nullptr;      // in the list
  Timer* prev = nullptr;
};

class TimerHeap {
 public:
  // True: it is the earliest now.
  bool insert(Timer* timer) noexcept;
  // False: it has been popped.
  bool remove(Timer* timer) noexcept;
  // Calls fire(timer), under the lock, for those that are due, at most `most`. The timer may be gone
  // afterwards.
  template <class F>
  void pop_due(uint64_t now, unsigned most, F&& fire) noexcept {
    lock_.lock();
    while (most > 0) {
      Timer* timer = take_due(now);
      if (timer == nullptr) break;
      fire(timer);
      --most;
    }
    publish_earliest();
    lock_.unlock();
  }

  // In a forked child: those who waited stayed behind in the parent.
  void forget_all() noexcept;
  // Gives the memory back. Precondition: it is empty, and nobody uses it.
  void release() noexcept;

  // kNever: it is empty. Sequentially consistent: who arms a timer and then asks who sleeps, and who says that it
  // sleeps and then asks for the earliest, do not miss each other. What is in the list may make it too early, until
  // that time has come and pop_due() has looked.
  uint64_t earliest() const noexcept { return earliest_.load(std::memory_order_seq_cst); }
  // The one after that; kNever: there is none.
  uint64_t second() noexcept;

 private:
  struct Entry {
    uint64_t deadline;
    Timer* timer;
  };

  static constexpr size_t kTail = 16;  // four cache lines to look through

  void put(size_t place, Entry entry) noexcept;
  void sift_up(size_t place, Entry entry) noexcept;
  void sift_down(size_t place, Entry entry) noexcept;
  size_t least_child(size_t place) const noexcept;
  void append(Timer* timer) noexcept;
  void take_out(size_t place) noexcept;
  void take_out_of_heap(size_t place) noexcept;
  void take_out_of_tail(size_t place) noexcept;
  size_t least_of_tail() const noexcept;
  Timer* take_due(uint64_t now) noexcept;
  void publish_earliest() noexcept;

  // timer_memory.cpp
  static constexpr size_t kKeptEntries = 4096;  // less is not worth giving back
  static size_t bytes_of(size_t entries) noexcept;
  char* memory() const noexcept;
  bool grow() noexcept;
  void give_back() noexcept;

  void list_add(Timer* timer) noexcept;
  void list_remove(Timer* timer) noexcept;
  Timer* list_take_due(uint64_t now) noexcept;

  // any worker
  SpinLock lock_;
  std::atomic<uint64_t> earliest_{kNever};
  // under lock_
  Entry* entries_ = nullptr;
  size_t heap_ = 0;      // so many entries are in order
  size_t count_ = 0;     // and so many there are
  uint64_t tail_earliest_ = kNever;  // of the others
  size_t room_ = 0;      // entries that fit into the mapping
  size_t touched_ = 0;   // entries that may have memory
  Timer* list_ = nullptr;             // empty unless the array is full
  uint64_t list_earliest_ = kNever;   // of the list, or earlier
};

}  // namespace weft::rt
