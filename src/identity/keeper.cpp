#include "identity/keeper.hpp"

#include <pthread.h>

#include "identity/identity.hpp"
#include "identity/set_id.hpp"
#include "klt/process_gate.hpp"
#include "os/service_thread.hpp"

namespace weft::rt {
namespace {

constexpr uint64_t kKeepNs = 1'000'000'000;

enum Wish : uint32_t { kNothing, kLook, kEnd };
enum State : uint32_t { kNone, kStarting, kRuns };

constinit FutexWord wish{kNothing};
constinit std::atomic<uint32_t> state{kNone};
constinit std::atomic<void (*)()> asked{nullptr};
pthread_t keeper;  // written by whoever starts it, read by whoever stops it

void* keeper_main(void*) noexcept {
  set_id_take();
  state.store(kRuns, std::memory_order_release);
  outside_of_forks(identity_learn);
  for (;;) {
    // Sequentially consistent, pairs with whoever wishes: he sees that there is no wish any more, or we see what he has asked for.
    if (wish.exchange(kNothing, std::memory_order_seq_cst) == kEnd) return nullptr;
    if (void (*what)() = asked.exchange(nullptr, std::memory_order_seq_cst)) what();
    outside_of_forks(identity_make);
    if (!identity_surplus()) {
      futex_wait(wish, kNothing);
    } else if (!futex_wait_for(wish, kNothing, kKeepNs)) {
      outside_of_forks(identity_shrink);
    }
  }
}

}  // namespace

bool keeper_start() noexcept {
  uint32_t none = kNone;
  if (!state.compare_exchange_strong(none, kStarting, std::memory_order_acq_rel)) return true;
  wish.store(kLook, std::memory_order_relaxed);
  const bool started = service_thread_start(keeper, keeper_main, nullptr) == 0;
  if (!started) state.store(kNone, std::memory_order_release);
  return started;
}

bool keeper_is_starting() noexcept { return state.load(std::memory_order_acquire) == kStarting; }

bool keeper_runs() noexcept { return state.load(std::memory_order_acquire) == kRuns; }

void keeper_call() noexcept {
  uint32_t nothing = kNothing;
  // It has to end, or has something to do already: let it.
  if (wish.compare_exchange_strong(nothing, kLook, std::memory_order_seq_cst)) futex_wake(wish, 1);
}

bool keeper_ask(void (*what)()) noexcept {
  if (state.load(std::memory_order_acquire) == kNone) return false;
  asked.store(what, std::memory_order_seq_cst);
  keeper_call();
  return true;
}

void keeper_stop() noexcept {
  if (state.load(std::memory_order_acquire) == kNone) return;
  wish.store(kEnd, std::memory_order_release);
  futex_wake(wish, 1);
  pthread_join(keeper, nullptr);
  keeper_forget();
}

void keeper_forget() noexcept { state.store(kNone, std::memory_order_relaxed); }

}  // namespace weft::rt
