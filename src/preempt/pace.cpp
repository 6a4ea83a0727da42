// pace.cpp: timers that do nothing, so that the hardware's is set once for each tick instead of twice.
//
// When a tick fires, the kernel sets the hardware to the next thing that it knows of: its own tick, milliseconds away.
// Only then do we say when ours comes next, and it sets the hardware again: a quarter of what a tick costs on a virtual
// machine, where each time is an exit. If something else is due at that time already, both settings are spared. So
// at each tick a worker has one of its two pacers expire together with the tick after the next. Which KLT
// will carry the worker then need not be known: a pacer's signal goes to the maker's thread, which blocks all.
#include <atomic>

#include "os/kernel_timer.hpp"
#include "preempt/preempt.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr int kRefused = -2;  // by the kernel: not asked again

// The worker's carrier, or whoever starts its ticks: `busy` is whose it is. Who comes meanwhile does without.
struct Pacers {
  std::atomic<bool> busy{false};
  int timers[2] = {kNoTimer, kNoTimer};
  unsigned next = 0;
};
constinit Pacers all[kMaxWorkers];

void pace(Pacers& pacers, uint64_t due) noexcept {
  int& timer = pacers.timers[pacers.next ^= 1];
  if (timer == kNoTimer) {
    const int maker = spare_maker_tid();
    if (maker == 0) return;  // it is only starting
    timer = kernel_timer_create(maker, preempt_settings.signal.load(std::memory_order_relaxed));
    if (timer == kNoTimer) timer = kRefused;
  }
  if (timer != kRefused) kernel_timer_set(timer, due);
}

}  // namespace

void preempt_pace(const Worker* worker, uint64_t due) noexcept {
  Pacers& pacers = all[worker->index];
  // Acquire and release: what the last one has made is seen.
  if (pacers.busy.exchange(true, std::memory_order_acquire)) return;
  pace(pacers, due);
  pacers.busy.store(false, std::memory_order_release);
}

void preempt_stop_pacers() noexcept {
  for (Pacers& pacers : all) {
    for (const int timer : pacers.timers) {
      if (timer >= 0) kernel_timer_delete(timer);
    }
  }
  preempt_forget_pacers();
}

void preempt_forget_pacers() noexcept {
  for (Pacers& pacers : all) {
    pacers.timers[0] = pacers.timers[1] = kNoTimer;
    pacers.next = 0;
    pacers.busy.store(false, std::memory_order_relaxed);
  }
}

}  // namespace weft::rt
