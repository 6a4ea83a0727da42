// pace.cpp: timers that do nothing, so that the hardware's is set once for each tick instead of twice.
//
// When a tick fires, the kernel sets the hardware to the next thing that it knows of: its own tick, milliseconds away.
// Only then do we say when ours comes next, and it sets the hardware again: a quarter of what a tick costs on a virtual
// machine, where each time is an exit. If something else is due at that time already, both settings are spared. So
// at each tick a worker has one of its two pacers expire together with the tick after the next. Which KLT
// will carry the worker then need not be known: a pacer's signal goes to the maker's thread, which blocks all.
#include "os/kernel_timer.hpp"
#include "preempt/preempt.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr int kRefused = -2;  // by the kernel: not asked again

struct Pacers {
  int timers[2] = {kNoTimer, kNoTimer};  // the worker's carrier
  unsigned next = 0;
};
constinit Pacers all[kMaxWorkers];

}  // namespace

void preempt_pace(const Worker* worker, uint64_t due) noexcept {
  Pacers& pacers = all[worker->index];
  int& timer = pacers.timers[pacers.next ^= 1];
  if (timer == kNoTimer) {
    const int maker = spare_maker_tid();
    if (maker == 0) return;  // it is only starting
    timer = kernel_timer_create(maker, preempt_settings.signal.load(std::memory_order_relaxed));
    if (timer == kNoTimer) timer = kRefused;
  }
  if (timer != kRefused) kernel_timer_set(timer, due);
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
  for (Pacers& pacers : all) pacers = {};
}

}  // namespace weft::rt
