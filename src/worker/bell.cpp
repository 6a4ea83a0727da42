#include "worker/bell.hpp"

#include <sched.h>

#include "klt/callback_scope.hpp"
#include "klt/time_slice.hpp"

namespace weft::rt {

constinit Bell bell;

void bell_answer(Worker* worker) noexcept {
  // Acquire, pairs with the release of whoever rings: what the function is to look at.
  worker->bell_answered = bell.rung.load(std::memory_order_acquire);
  for (const auto* which : {&bell.lasting, &bell.function}) {
    const BellFunction function = which->load(std::memory_order_acquire);
    if (function == nullptr) continue;
    const CallbackScope scope;
    function();
  }
}

void bell_ring() noexcept {
  // Sequentially consistent, pairs with bell_stop(): it waits for us, or we see that the runtime ends.
  bell.ringers.fetch_add(1, std::memory_order_seq_cst);
  if (runtime.running.load(std::memory_order_seq_cst)) {
    bell.rung.fetch_add(1, std::memory_order_seq_cst);
    const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
    for (unsigned i = 0; i < slots; ++i) {
      Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
      if (worker == nullptr) continue;
      wake_worker(worker);
      // Sequentially consistent, pairs with preempt_rest(): either it sees that it was rung, or we see that its ticks rest.
      if ((worker->lane.tells.load(std::memory_order_seq_cst) & tell_to::kPreempt) != 0) preempt_unit_waits(worker);
    }
  }
  bell.ringers.fetch_sub(1, std::memory_order_release);
}

void bell_stop() noexcept {
  while (bell.ringers.load(std::memory_order_seq_cst) != 0) sched_yield();
}

void bell_forget() noexcept { bell.ringers.store(0, std::memory_order_relaxed); }

}  // namespace weft::rt
