// migrate.cpp: ABT_thread_migrate*. A request; the core carries it out when the unit is picked next, or yields: see
// unit.cpp, move().
#include "pool.hpp"
#include "runtime.hpp"
#include "self.hpp"
#include "thread.hpp"
#include "unit.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

using namespace front;

int check_movable(ABT_thread thread) noexcept {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  ABT_bool movable = ABT_FALSE;
  static_cast<void>(ABT_thread_is_migratable(thread, &movable));
  if (movable == ABT_FALSE) return ABT_ERR_INV_THREAD;
  return weft_unit_state(core(thread)) == WEFT_UNIT_TERMINATED ? ABT_ERR_INV_THREAD : ABT_SUCCESS;
}

// Of several requests the latest counts.
int migrate(ABT_thread thread, ABT_pool pool) noexcept {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  if (weft_unit_pool(core(thread)) == core(pool)) return ABT_ERR_MIGRATION_TARGET;
  Extra* extra = extra_of(thread);
  if (extra == nullptr) return ABT_ERR_MEM;
  extra->lock.lock();
  extra->move_to = pool;
  extra->lock.unlock();
  request_move(core(thread));
  return ABT_SUCCESS;
}

int migrate_to_sched(ABT_thread thread, Sched* sched) noexcept {
  const ABT_pool pool = migration_pool(sched);
  return is_null(pool) ? ABT_ERR_INV_SCHED : migrate(thread, pool);
}

struct Choice {
  ABT_pool from;
  ABT_pool to;
};

// An ES that runs, and does not have the unit's pool.
void choose(Xstream* xstream, void* arg) noexcept {
  auto* choice = static_cast<Choice*>(arg);
  if (!is_null(choice->to) || worker_stopped(xstream->worker) || has_pool(xstream->main(), choice->from)) return;
  choice->to = migration_pool(xstream->main());
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_thread_migrate_to_pool(ABT_thread thread, ABT_pool pool) {
  if (const int error = check_movable(thread); error != ABT_SUCCESS) return error;
  return migrate(thread, pool);
}

int ABT_thread_migrate_to_sched(ABT_thread thread, ABT_sched sched) {
  if (const int error = check_movable(thread); error != ABT_SUCCESS) return error;
  return is_null(sched) ? ABT_ERR_INV_SCHED : migrate_to_sched(thread, record(sched));
}

int ABT_thread_migrate_to_xstream(ABT_thread thread, ABT_xstream xstream) {
  if (const int error = check_movable(thread); error != ABT_SUCCESS) return error;
  if (is_null(xstream) || weft::front::worker_stopped(record(xstream)->worker)) return ABT_ERR_INV_XSTREAM;
  return migrate_to_sched(thread, record(xstream)->main());
}

int ABT_thread_migrate(ABT_thread thread) {
  if (const int error = check_movable(thread); error != ABT_SUCCESS) return error;
  Choice choice{to_abt(weft_unit_pool(core(thread))), ABT_POOL_NULL};
  for_each_xstream(choose, &choice);
  return is_null(choice.to) ? ABT_ERR_MIGRATION_NA : migrate(thread, choice.to);
}

}  // extern "C"
