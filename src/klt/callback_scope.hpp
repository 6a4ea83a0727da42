// callback_scope.hpp: round a call of the user's code from within Weft.
//
// The user's functions may lock, allocate, block and call Weft, and they are called from within Weft, with the
// guard up. No lock of Weft's is held then, but the caller goes on with its worker afterwards. So a callback
// runs as a scheduler's code does, with no current unit: what waits in it blocks the worker and does not
// suspend the unit that happens to be there, and nobody takes the worker meanwhile. The guard is down: a
// callback that waits for something of the program's own must not keep another thread from forking.
#pragma once

#include "klt/guard.hpp"

namespace weft::rt {

class CallbackScope {
 public:
  CallbackScope() noexcept
      : inside_(klt_register_valid() && klt_register_load<kKltGuard, uint32_t>() != 0),
        counted_(!inside_ && gate_entered()),
        unit_(inside_ ? klt_current() : nullptr) {
    if (counted_) gate_leave();
    if (!inside_) return;
    klt_set_current(nullptr);  // before there is a unit to be taken with
    klt_register_store32<kKltGuard>(kGuardDown);
  }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  ~CallbackScope() {
    if (counted_) gate_enter();
    if (!inside_) return;
    klt_register_store32<kKltGuard>(kGuardUp);
    static_cast<void>(guard_worker());  // while somebody forks it is kept back
    klt_set_current(unit_);
  }

 private:
  const bool inside_;   // with the guard up; otherwise the caller is a user's own code
  const bool counted_;  // or a section of a thread that is no KLT
  Unit* const unit_;
};

}  // namespace weft::rt
