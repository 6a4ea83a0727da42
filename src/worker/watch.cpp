#include "worker/watch.hpp"

#include "klt/callback_scope.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constinit std::atomic<UnitWatcher> current_watcher{nullptr};

Unit* doer(const Worker* worker, const Unit* unit) noexcept {
  if (worker == nullptr) return nullptr;
  if (Unit* running = klt_current()) return running;
  return worker->named.unit == unit ? worker->named.by : worker->scheduling;
}

}  // namespace

void set_unit_watcher(UnitWatcher watcher) noexcept { current_watcher.store(watcher, std::memory_order_release); }

void tell_watcher(Worker* worker, Unit* unit, UnitEvent event) noexcept {
  const UnitWatcher watcher = current_watcher.load(std::memory_order_acquire);
  Unit* const by = doer(worker, unit);
  if (event == UnitEvent::kRun) worker->named = {};
  if (watcher == nullptr) return;
  CallbackScope scope;
  watcher(reinterpret_cast<weft_unit_t>(unit), event, reinterpret_cast<weft_unit_t>(by), reinterpret_cast<weft_worker_t>(worker));
}

}  // namespace weft::rt
