#include "identity/set_id.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "arch/klt_register.hpp"
#include "arch/system_call.hpp"
#include "identity/identity.hpp"
#include "klt/klt.hpp"
#include "os/kernel_tid.hpp"

namespace weft::rt {
namespace {

using Handler = void (*)(int, siginfo_t*, void*);

// As the kernel has it: the C library's sigaction() leaves this signal alone.
struct Action {
  Handler handler;
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

constinit std::atomic<Handler> next{nullptr};
constinit uint64_t next_mask = 0;  // whoever takes it, and gives it back

long action(const Action* wanted, Action* was) noexcept {
  return system_call(SYS_rt_sigaction, kSetIdSignal, reinterpret_cast<long>(wanted), reinterpret_cast<long>(was), sizeof was->mask);
}

// Not instrumented: with either thread pointer.
__attribute__((no_sanitize("address", "thread", "undefined"))) void on_set_id(int signal, siginfo_t* info, void* context) noexcept {
  const Handler c_librarys = next.load(std::memory_order_acquire);  // pairs with the release in set_id_take()
  const uintptr_t other = set_id_other_pointer();
  if (other == 0) return c_librarys(signal, info, context);
  const uintptr_t own = thread_pointer();
  thread_pointer_set(other);
  c_librarys(signal, info, context);
  thread_pointer_set(own);
}

}  // namespace

void set_id_take() noexcept {
  Action now{};
  if (action(nullptr, &now) != 0 || now.handler == on_set_id) return;
  if (now.handler == nullptr) return;  // SIG_DFL: there has been one thread only
  next.store(now.handler, std::memory_order_release);
  next_mask = now.mask;
  now.handler = on_set_id;
  now.mask = ~uint64_t{0};  // no other handler meanwhile: it would have the wrong thread-local variables
  action(&now, nullptr);
}

void set_id_give_back() noexcept {
  Action now{};
  if (action(nullptr, &now) != 0 || now.handler != on_set_id) return;
  now.handler = next.load(std::memory_order_relaxed);
  now.mask = next_mask;
  action(&now, nullptr);
}

// A lender's thread pointer is an identity's too, and is right there.
uintptr_t set_id_other_pointer() noexcept {
  if (!klt_register_valid()) return 0;
  const Identity* identity = identity_of(pthread_self());
  if (identity == nullptr || identity->tid == kernel_tid()) return 0;
  const uintptr_t klts = klt_thread_pointer();
  return klts != thread_pointer() ? klts : 0;
}

}  // namespace weft::rt
