// patience.hpp: whether who waits had better look on than sleep.
//
// Who has slept for some milliseconds only has slept in vain: the next time it looks on for so long, offering the CPU to whoever else
// wants it, until it has looked in vain. Not where others compute on that CPU: to the kernel an offer is time used up, and who is
// ready again waits until they have used theirs, while who was asleep goes first. So it sleeps at once there, for a while.
#pragma once

#include "os/cpu_yield.hpp"

namespace weft::rt {

class Patience {
 public:
  // False: looking on is not worth it.
  bool any() const noexcept { return any_; }

  // Now and then while it looks. `since`: 0 when a wait begins. False: it is to sleep.
  bool look_on(uint64_t* since, uint64_t most_ns) noexcept {
    const uint64_t now = now_ns();
    if (looks(since, most_ns, now)) offered(cpu_yield(), now);
    return any_;
  }

  // Its parts: whether it may look at all, and for how long others have had the CPU then.
  bool looks(uint64_t* since, uint64_t most_ns, uint64_t now) noexcept {
    if (*since == 0) *since = now;
    any_ = now - *since <= most_ns;
    return any_;
  }
  void offered(uint64_t ns, uint64_t now) noexcept {
    any_ = ns < kWantedNs;
    if (ns >= kSharedNs) shared_until_ = now + kSharedForNs;
  }

  void slept(uint64_t ns, uint64_t most_ns, uint64_t now) noexcept { any_ = ns < most_ns && now >= shared_until_; }

  static constexpr uint64_t kWantedNs = 50'000;
  static constexpr uint64_t kSharedNs = 500'000;  // a good part of what the kernel gives to one who computes
  static constexpr uint64_t kSharedForNs = 100'000'000;

 private:
  bool any_ = false;
  uint64_t shared_until_ = 0;
};

}  // namespace weft::rt
