// tool.cpp: ABT_tool_*. What the core does with units comes through its watcher; the rest from thread.cpp.
#include "tool.hpp"

#include <mutex>
#include <optional>

#include "lock.hpp"
#include "pool.hpp"
#include "runtime.hpp"
#include "self.hpp"
#include "unit.hpp"
#include "unit/wait_kind.hpp"
#include "wait.hpp"
#include "xstream.hpp"

struct ABT_tool_context_opaque {
  uint64_t event;
  ABT_pool pool;
  int depth;
  ABT_exec_entity_type caller_type;
  void* caller;
  ABT_sync_event_type sync_type;
  void* sync_object;
};

namespace weft::abt {

constinit std::atomic<bool> tool_attached{false};

namespace {

using namespace front;

struct Tool {
  ABT_tool_thread_callback_fn function = nullptr;
  uint64_t mask = 0;
  void* arg = nullptr;
};
constinit Lock tool_lock;
constinit Tool the_tool;
// A copy for those who only look whether an event is wanted.
constinit std::atomic<uint64_t> wanted{0};

void call_tool(ABT_thread unit, ABT_xstream xstream, ABT_tool_context_opaque& context) noexcept {
  tool_lock.lock();
  const Tool tool = the_tool;
  tool_lock.unlock();
  if (tool.function != nullptr && (tool.mask & context.event) != 0) {
    tool.function(unit, xstream, context.event, &context, tool.arg);
  }
}

void set_caller(ABT_tool_context_opaque& context, ABT_thread caller) noexcept {
  context.caller_type = is_null(caller) ? ABT_EXEC_ENTITY_TYPE_EXT : ABT_EXEC_ENTITY_TYPE_THREAD;
  context.caller = is_null(caller) ? nullptr : caller;
}

ABT_sync_event_type sync_type_of(rt::WaitKind kind) noexcept {
  switch (kind) {
    case rt::WaitKind::kSuspend: return ABT_SYNC_EVENT_TYPE_USER;
    case rt::WaitKind::kJoin: return ABT_SYNC_EVENT_TYPE_THREAD_JOIN;
    case rt::WaitKind::kWorker: return ABT_SYNC_EVENT_TYPE_XSTREAM_JOIN;
    case rt::WaitKind::kMutex: return ABT_SYNC_EVENT_TYPE_MUTEX;
    case rt::WaitKind::kCond: return ABT_SYNC_EVENT_TYPE_COND;
    case rt::WaitKind::kReadLock:
    case rt::WaitKind::kWriteLock: return ABT_SYNC_EVENT_TYPE_RWLOCK;
    case rt::WaitKind::kEvent: return ABT_SYNC_EVENT_TYPE_EVENTUAL;
    case rt::WaitKind::kFuture: return ABT_SYNC_EVENT_TYPE_FUTURE;
    case rt::WaitKind::kBarrier: return ABT_SYNC_EVENT_TYPE_BARRIER;
    default: return ABT_SYNC_EVENT_TYPE_OTHER;
  }
}

// The handle of what is waited for.
void* sync_handle_of(rt::WaitKind kind, const void* object) noexcept {
  switch (kind) {
    case rt::WaitKind::kMutex:
      return memory_at(object, front::mutex_mark(static_cast<const weft_mutex_t*>(object)) * sizeof(int));
    case rt::WaitKind::kCond:
      return memory_at(object, front::cond_mark(static_cast<const weft_cond_t*>(object)) * sizeof(int));
    case rt::WaitKind::kWorker:
      return to_abt(static_cast<Xstream*>(worker_front(static_cast<weft_worker_t>(const_cast<void*>(object)))));
    case rt::WaitKind::kEvent: return memory_of(object, static_cast<const weft_event_t*>(object)->pad);
    default: return const_cast<void*>(object);
  }
}

uint64_t abt_event(UnitEvent event) noexcept {
  switch (event) {
    case UnitEvent::kRun: return ABT_TOOL_EVENT_THREAD_RUN;
    case UnitEvent::kYield: return ABT_TOOL_EVENT_THREAD_YIELD;
    case UnitEvent::kSuspend: return ABT_TOOL_EVENT_THREAD_SUSPEND;
    case UnitEvent::kResume: return ABT_TOOL_EVENT_THREAD_RESUME;
    case UnitEvent::kFinish: return ABT_TOOL_EVENT_THREAD_FINISH;
    case UnitEvent::kCancel: return ABT_TOOL_EVENT_THREAD_CANCEL;
  }
  return ABT_TOOL_EVENT_THREAD_NONE;
}

ABT_tool_context_opaque empty_context(uint64_t event) noexcept {
  return {event, ABT_POOL_NULL, 0, ABT_EXEC_ENTITY_TYPE_EXT, nullptr, ABT_SYNC_EVENT_TYPE_UNKNOWN, nullptr};
}

void add_wait(ABT_tool_context_opaque& context, UnitEvent event, weft_unit_t unit) noexcept {
  context.sync_type = ABT_SYNC_EVENT_TYPE_USER;
  if (event == UnitEvent::kYield) return;
  const WaitView wait = wait_of(unit);
  const auto kind = static_cast<rt::WaitKind>(wait.number);
  context.sync_type = sync_type_of(kind);
  context.sync_object = sync_handle_of(kind, wait.object);
}

// The core's watcher.
void watcher(weft_unit_t unit, UnitEvent event, weft_unit_t by, weft_worker_t worker) {
  const uint64_t bit = abt_event(event);
  if ((wanted.load(std::memory_order_relaxed) & bit) == 0) return;
  ABT_tool_context_opaque context = empty_context(bit);
  auto* xstream = worker != nullptr ? static_cast<Xstream*>(worker_front(worker)) : nullptr;
  ABT_thread caller = to_abt(unit);
  if (worker == nullptr) {
    caller = ABT_THREAD_NULL;
  } else if (event == UnitEvent::kRun || event == UnitEvent::kResume) {
    if (by == nullptr && xstream != nullptr) by = stand_in_of(xstream);
    caller = or_null(by);
  }
  const unsigned depth = worker != nullptr ? scheduling_depth(worker) : 0;
  set_caller(context, caller);
  context.depth = static_cast<int>(depth) + 1;
  if (event == UnitEvent::kYield || event == UnitEvent::kResume) context.pool = to_abt(weft_unit_pool(unit));
  if (event == UnitEvent::kYield || event == UnitEvent::kSuspend) add_wait(context, event, unit);
  call_tool(to_abt(unit), xstream != nullptr ? to_abt(xstream) : ABT_XSTREAM_NULL, context);
}

bool asks(uint64_t event, uint64_t events) noexcept { return (event & events) != 0; }

}  // namespace

void tell_tool(ABT_thread unit, uint64_t event) noexcept {
  if ((wanted.load(std::memory_order_relaxed) & event) == 0) return;
  ABT_tool_context_opaque context = empty_context(event);
  ABT_thread self = ABT_THREAD_NULL;
  if (self_unit(&self) != ABT_SUCCESS) self = ABT_THREAD_NULL;
  set_caller(context, self);
  context.pool = to_abt(weft_unit_pool(core(unit)));
  Xstream* mine = my_xstream();
  // As in a function of a pool: what it locks the watcher may want, which runs where nothing is preempted.
  std::optional<InPool> inside;
  if (!front::interrupts_section()) inside.emplace();
  call_tool(unit, mine != nullptr ? to_abt(mine) : ABT_XSTREAM_NULL, context);
}

void detach_tool() noexcept {
  std::lock_guard hold(tool_lock);
  the_tool = {};
  wanted.store(0, std::memory_order_relaxed);
  set_watcher(nullptr);
  tool_attached.store(false, std::memory_order_relaxed);
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

// Units that are there already are not watched; the caller is from now on.
int ABT_tool_register_thread_callback(ABT_tool_thread_callback_fn cb_func, uint64_t event_mask, void* user_arg) {
  if (!running()) return ABT_ERR_UNINITIALIZED;
  if (!state.environment.has_tools) return ABT_ERR_FEATURE_NA;
  if (cb_func == nullptr) {
    detach_tool();
    return ABT_SUCCESS;
  }
  {
    std::lock_guard hold(tool_lock);
    the_tool = {cb_func, event_mask & ABT_TOOL_EVENT_THREAD_ALL, user_arg};
    wanted.store(the_tool.mask, std::memory_order_relaxed);
    weft::front::set_watcher(watcher);
    tool_attached.store(true, std::memory_order_relaxed);
  }
  weft::front::watch_self();
  return ABT_SUCCESS;
}

int ABT_tool_query_thread(ABT_tool_context context, uint64_t event, ABT_tool_query_kind query_kind, void* val) {
  if (is_null(context)) return ABT_ERR_INV_TOOL_CONTEXT;
  constexpr uint64_t kPool = ABT_TOOL_EVENT_THREAD_CREATE | ABT_TOOL_EVENT_THREAD_REVIVE |
                             ABT_TOOL_EVENT_THREAD_YIELD | ABT_TOOL_EVENT_THREAD_RESUME;
  constexpr uint64_t kDepth = ABT_TOOL_EVENT_THREAD_RUN | ABT_TOOL_EVENT_THREAD_FINISH |
                              ABT_TOOL_EVENT_THREAD_YIELD | ABT_TOOL_EVENT_THREAD_SUSPEND;
  constexpr uint64_t kSync = ABT_TOOL_EVENT_THREAD_YIELD | ABT_TOOL_EVENT_THREAD_SUSPEND;
  switch (query_kind) {
    case ABT_TOOL_QUERY_KIND_POOL:
      if (!asks(event, kPool)) return ABT_ERR_INV_ARG;
      *static_cast<ABT_pool*>(val) = context->pool;
      return ABT_SUCCESS;
    case ABT_TOOL_QUERY_KIND_STACK_DEPTH:
      if (!asks(event, kDepth)) return ABT_ERR_INV_ARG;
      *static_cast<int*>(val) = context->depth;
      return ABT_SUCCESS;
    case ABT_TOOL_QUERY_KIND_CALLER_TYPE:
      *static_cast<ABT_exec_entity_type*>(val) = context->caller_type;
      return ABT_SUCCESS;
    case ABT_TOOL_QUERY_KIND_CALLER_HANDLE:
      if (asks(event, ABT_TOOL_EVENT_THREAD_CANCEL)) return ABT_ERR_INV_ARG;
      *static_cast<void**>(val) = context->caller;
      return ABT_SUCCESS;
    case ABT_TOOL_QUERY_KIND_SYNC_OBJECT_TYPE:
      if (!asks(event, kSync)) return ABT_ERR_INV_ARG;
      *static_cast<ABT_sync_event_type*>(val) = context->sync_type;
      return ABT_SUCCESS;
    case ABT_TOOL_QUERY_KIND_SYNC_OBJECT_HANDLE:
      if (!asks(event, kSync)) return ABT_ERR_INV_ARG;
      *static_cast<void**>(val) = context->sync_object;
      return ABT_SUCCESS;
  }
  return ABT_ERR_OTHER;
}

}  // extern "C"
