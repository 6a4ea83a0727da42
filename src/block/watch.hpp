// watch.hpp: whether the thread of a KLT sleeps in the kernel, and since when: the rungs.
#pragma once

#include <cstdint>

#include "config/options.hpp"
#include "klt/klt.hpp"

namespace weft::rt {

struct Sight {
  bool asleep = false;    // it waits for something; not: it waits for a core
  uint64_t since = 0;     // ns of CLOCK_MONOTONIC; 0: not known
  uint64_t stamp = 0;     // another one each time that it has run; 0: not known
};

// For our files in the kernel's table of them, which is made larger for their numbers: see block_prepare(). Else whoever opens the first one waits.
void watch_make_room() noexcept;

// The rung that this process is granted: `wish`, or else the next one below it; Auto: Proc, or Perf where /proc cannot be read. None: nor
// is that granted.
BlockRung watch_find_rung(BlockRung wish) noexcept;

// The first event of perf's in the whole system that is a thread's takes the kernel long: it waits until every core has left what
// it was doing (13 ms where they idle). While this lives, or another one, no event is the first: for who is to hold no lock for
// so long.
class WatchBegins {
 public:
  explicit WatchBegins(bool wanted) noexcept;
  ~WatchBegins();
  WatchBegins(const WatchBegins&) = delete;
  WatchBegins& operator=(const WatchBegins&) = delete;

 private:
  KeptFile event_;
};

// Under the list's lock, or by the KLT itself. False: the kernel refused; the KLT is looked at by way of /proc, or is not
// seen to sleep at all.
bool watch_open(Klt* klt, BlockRung rung) noexcept;
// The KLT itself, under the list's lock: its thread's number is another thread's soon. What it was seen to do stays.
void watch_thread_ends(Klt* klt) noexcept;
// The record is to be another thread's, which opens it anew. What is there stays until then: somebody may be looking.
void watch_reopen(Klt* klt) noexcept;
// Nobody looks any more. `mapped`: false in a forked child, which does not have the memory.
void watch_close(Klt* klt, bool mapped) noexcept;

Sight watch_look(const Klt* klt) noexcept;

}  // namespace weft::rt
