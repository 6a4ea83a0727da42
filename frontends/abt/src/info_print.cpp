// info_print.cpp: objects as text, for people: ABT_info_print_*(). Stacks: as a dump of Weft's has them.
#include <cinttypes>
#include <cstdio>
#include <new>
#include <vector>

#include "pool.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "sched.hpp"
#include "thread_attr.hpp"
#include "unit.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

const char* name_of(ABT_sched_predef kind) noexcept {
  switch (kind) {
    case ABT_SCHED_DEFAULT: return "default";
    case ABT_SCHED_BASIC: return "basic";
    case ABT_SCHED_PRIO: return "priority";
    case ABT_SCHED_RANDWS: return "random work stealing";
    case ABT_SCHED_BASIC_WAIT: return "basic, waiting";
  }
  return "unknown";
}

const char* name_of(ABT_pool_access access) noexcept {
  switch (access) {
    case ABT_POOL_ACCESS_PRIV: return "private";
    case ABT_POOL_ACCESS_SPSC: return "SPSC";
    case ABT_POOL_ACCESS_MPSC: return "MPSC";
    case ABT_POOL_ACCESS_SPMC: return "SPMC";
    case ABT_POOL_ACCESS_MPMC: return "MPMC";
  }
  return "unknown";
}

const char* name_of(weft_unit_state_t state) noexcept {
  switch (state) {
    case WEFT_UNIT_FRESH: return "ready, not started";
    case WEFT_UNIT_READY: return "ready";
    case WEFT_UNIT_RUNNING: return "running";
    case WEFT_UNIT_BLOCKED: return "blocked";
    case WEFT_UNIT_TERMINATED: return "terminated";
  }
  return "unknown";
}

const char* kind_of(const Pool& pool) noexcept {
  if (pool.user) return "user-defined";
  switch (pool.kind) {
    case ABT_POOL_FIFO: return "FIFO";
    case ABT_POOL_FIFO_WAIT: return "FIFO, waiting";
    case ABT_POOL_RANDWS: return "work stealing";
  }
  return "unknown";
}

void print_xstream(std::FILE* to, Xstream* xstream) noexcept {
  std::fprintf(to, "ES %p: rank %d%s, %s, worker %u, ", static_cast<void*>(xstream),
               xstream->rank.load(std::memory_order_relaxed), xstream->primary ? " (primary)" : "",
               front::worker_stopped(xstream->worker) ? "terminated" : "running",
               weft_worker_index(xstream->worker));
  const int cpu = weft_worker_cpu(xstream->worker);
  if (cpu >= 0) {
    std::fprintf(to, "CPU %d, ", cpu);
  } else {
    std::fputs("any CPU, ", to);
  }
  std::fprintf(to, "main scheduler %p\n", static_cast<void*>(xstream->main()));
}

void print_pool(std::FILE* to, ABT_pool handle) noexcept {
  const Pool* pool = record(handle);
  std::fprintf(to, "pool %p", static_cast<void*>(handle));
  if (pool != nullptr) {
    std::fprintf(to, ": id %d, %s, %s, %s", pool->id, kind_of(*pool), name_of(pool->access),
                 pool->automatic.load(std::memory_order_relaxed) ? "automatic" : "not automatic");
  }
  size_t size = 0;
  if (ABT_pool_get_size(handle, &size) == ABT_SUCCESS) std::fprintf(to, ", %zu units", size);
  if (ABT_pool_get_total_size(handle, &size) == ABT_SUCCESS) std::fprintf(to, ", %zu with those that wait", size);
  std::fprintf(to, ", %u schedulers\n", front::pool_schedulers(core(handle)));
}

void print_sched(std::FILE* to, const Sched* sched) noexcept {
  const SchedUse use = sched->use.load(std::memory_order_relaxed);
  std::fprintf(to, "scheduler %p: %s, %s, %s, %zu pools\n", static_cast<const void*>(sched),
               sched->user ? "user-defined" : name_of(sched->kind),
               use == SchedUse::kMain      ? "main"
               : use == SchedUse::kStacked ? "stacked"
                                           : "not used",
               sched->automatic ? "automatic" : "not automatic", sched->pools.size());
  for (const ABT_pool pool : sched->pools) {
    std::fputs("  ", to);
    print_pool(to, pool);
  }
}

void print_unit(std::FILE* to, ABT_thread thread) noexcept {
  const front::UnitView view = front::view(core(thread));
  ABT_unit_id id = 0;
  static_cast<void>(ABT_thread_get_id(thread, &id));
  std::fprintf(to, "%s %p: id %" PRIu64 "%s%s, %s", is_task(thread) ? "tasklet" : "ULT", static_cast<void*>(thread), id,
               view.primary ? " (primary)" : "", view.detached ? ", unnamed" : "", name_of(view.state));
  ABT_xstream last = ABT_XSTREAM_NULL;
  if (ABT_thread_get_last_xstream(thread, &last) == ABT_SUCCESS && !is_null(last)) {
    std::fprintf(to, ", last on ES %d", record(last)->rank.load(std::memory_order_relaxed));
  }
  ABT_pool pool = ABT_POOL_NULL;
  if (ABT_thread_get_last_pool(thread, &pool) == ABT_SUCCESS && !is_null(pool)) {
    std::fprintf(to, ", pool %p", static_cast<void*>(pool));
  }
  size_t size = 0;
  if (!is_task(thread) && ABT_thread_get_stacksize(thread, &size) == ABT_SUCCESS) {
    std::fprintf(to, ", stack of %zu bytes", size);
  }
  std::fputc('\n', to);
}

int print_stack(std::FILE* to, ABT_thread thread) noexcept {
  return copy_report(
      to, [](int fd, void* unit) { return weft_dump_unit(fd, static_cast<weft_unit_t>(unit)); },
      core(thread));
}

// f(object), and what it has written is written.
template <class F>
int printed(std::FILE* to, F&& print) noexcept {
  print();
  std::fflush(to);
  return ABT_SUCCESS;
}

// 2.0 prints that there is none.
template <class F>
int print_null_or(std::FILE* to, bool null, const char* what, int error, F&& print) noexcept {
  if (null && !kVersion20) return error;
  return printed(to, [&] {
    if (null) {
      std::fprintf(to, "no %s\n", what);
    } else {
      print();
    }
  });
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

int ABT_info_print_all_xstreams(FILE* fp) {
  if (!running()) return kVersion20 ? ABT_SUCCESS : ABT_ERR_UNINITIALIZED;
  return printed(fp, [&] {
    for_each_xstream([](Xstream* xstream, void* to) { print_xstream(static_cast<std::FILE*>(to), xstream); }, fp);
  });
}

int ABT_info_print_xstream(FILE* fp, ABT_xstream xstream) {
  return print_null_or(fp, is_null(xstream), "ES", ABT_ERR_INV_XSTREAM, [&] { print_xstream(fp, record(xstream)); });
}

int ABT_info_print_sched(FILE* fp, ABT_sched sched) {
  return print_null_or(fp, is_null(sched), "scheduler", ABT_ERR_INV_SCHED, [&] { print_sched(fp, record(sched)); });
}

int ABT_info_print_pool(FILE* fp, ABT_pool pool) {
  return print_null_or(fp, is_null(pool), "pool", ABT_ERR_INV_POOL, [&] { print_pool(fp, pool); });
}

int ABT_info_print_thread(FILE* fp, ABT_thread thread) {
  return print_null_or(fp, is_null(thread), "ULT", ABT_ERR_INV_THREAD, [&] { print_unit(fp, thread); });
}

int ABT_info_print_task(FILE* fp, ABT_task task) {
  return print_null_or(fp, is_null(task), "tasklet", ABT_ERR_INV_TASK, [&] { print_unit(fp, task); });
}

int ABT_info_print_thread_attr(FILE* fp, ABT_thread_attr attr) {
  return print_null_or(fp, is_null(attr), "attributes", ABT_ERR_INV_THREAD_ATTR, [&] {
    size_t size = 0;
    static_cast<void>(ABT_thread_attr_get_stacksize(attr, &size));
    std::fprintf(fp, "attributes %p: stack %p of %zu bytes, %s%s\n", static_cast<void*>(attr), attr->stack, size,
                 attr->migratable ? "migratable" : "not migratable",
                 attr->moved != nullptr ? ", with a callback" : "");
  });
}

int ABT_info_print_thread_stack(FILE* fp, ABT_thread thread) {
  if (is_null(thread)) return print_null_or(fp, true, "ULT", ABT_ERR_INV_THREAD, [] {});
  return print_stack(fp, thread);
}

// Which units there are is written down first: the pool may be locked while it is asked.
int ABT_info_print_thread_stacks_in_pool(FILE* fp, ABT_pool pool) {
  if (is_null(pool)) return print_null_or(fp, true, "pool", ABT_ERR_INV_POOL, [] {});
  std::vector<ABT_thread> threads;
  const auto note = [](void* arg, ABT_thread thread) { static_cast<std::vector<ABT_thread>*>(arg)->push_back(thread); };
  if (const int error = ABT_pool_print_all_threads(pool, &threads, note); error != ABT_SUCCESS) return error;
  print_pool(fp, pool);
  for (const ABT_thread thread : threads) {
    if (const int error = print_stack(fp, thread); error != ABT_SUCCESS) return error;
  }
  std::fflush(fp);
  return ABT_SUCCESS;
}
