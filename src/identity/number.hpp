// number.hpp: which identity a kernel's number of a thread is.
#pragma once

#include "identity/identity.hpp"
#include "os/signal_mask.hpp"

namespace weft::rt {

// That of which this is the lender's number; it does not end meanwhile. All signals are blocked, for that
// may have to be waited for. Async-signal-safe.
class NumberOwner {
 public:
  explicit NumberOwner(int number) noexcept;
  NumberOwner(const NumberOwner&) = delete;
  NumberOwner& operator=(const NumberOwner&) = delete;
  ~NumberOwner();
  // Null: nobody's.
  Identity* get() const noexcept { return identity_; }

 private:
  const SignalsBlocked alone_;
  Identity* identity_;
};

// Without a look at signals: false where there is certainly none. `process`: the caller's. A child of vfork(), or one that the program has made by
// clone(), has these in its memory, and none of their threads.
bool number_may_be_owned(int number, long process) noexcept;

// ---- the pool's, under its lock

void number_add(Identity* identity) noexcept;  // also one of a thread that has become a ULT
void number_remove(Identity* identity) noexcept;
// Not under the lock: until nobody looks at one that has been removed.
void number_settle() noexcept;
// At the end, and in a forked child, where no lender is.
void numbers_forget() noexcept;
// In a forked child, where nobody else looks.
void numbers_become_child() noexcept;

}  // namespace weft::rt
