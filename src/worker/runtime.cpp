// runtime.cpp: initialise, finalise, workers.
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"

#include <mutex>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <type_traits>

#include "arch/thread_pointer.hpp"
#include "base/check.hpp"
#include "identity/identity.hpp"
#include "inspect/dump.hpp"
#include "klt/hand_over.hpp"
#include "klt/kernel_sleep.hpp"
#include "os/cpu_set.hpp"
#include "os/huge_pages.hpp"
#include "os/membarrier.hpp"
#include "os/numa.hpp"
#include "klt/no_preemption.hpp"
#include "klt/own_signal.hpp"
#include "klt/process_gate.hpp"
#include "os/overflow.hpp"
#include "os/local_ranks.hpp"
#include "os/quota.hpp"
#include "os/topology.hpp"
#include "unit/local.hpp"
#include "worker/bell.hpp"
#include "worker/process_fork.hpp"
#include "worker/pool_sleep.hpp"
#include "worker/timers.hpp"

namespace weft::rt {

constinit Runtime runtime;
constinit Stack primary_stack;
constinit WorkerMarks worker_marks[kMaxWorkers];
constinit std::atomic<unsigned> worker_marks_used{0};

void SetupMutex::lock() noexcept {
  if (mutex_.try_lock()) return;
  // A handler that has interrupted Weft forks: see process_fork.cpp.
  const bool inside = klt_register_valid() && klt_is_inside_here();
  if (!inside && guard_enter() != nullptr) block_about_to_wait();
  mutex_.lock();
}

// Static objects of the program may be made before ours, and be destroyed after: ours need neither.
static_assert(std::is_trivially_destructible_v<Runtime> && std::is_trivially_destructible_v<Stack>);

// The thread's own stack, as far as it may grow. Not pthread_getattr_np(): for the first thread that
// reads /proc/self/maps.
void adopt_stack(Stack& stack, bool first_thread) noexcept {
  char* const here = static_cast<char*>(stack_pointer());
  if (!first_thread) {
    pthread_attr_t attr;
    void* low = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      pthread_attr_getstack(&attr, &low, &size);
      pthread_attr_destroy(&attr);
      stack_adopt(stack, static_cast<char*>(low), static_cast<char*>(low) + size);
      return;
    }
  }
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  constexpr size_t kUnlimited = size_t{64} << 20;
  constexpr size_t kAbove = size_t{1} << 20;  // frames, arguments and environment above us
  const size_t size = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > kUnlimited
                          ? kUnlimited
                          : static_cast<size_t>(limit.rlim_cur);
  stack_adopt(stack, here - size + (size > 2 * kAbove ? kAbove : size / 2), here + 4096);
}

namespace {

int reserve_slot(Worker* worker) noexcept {
  for (unsigned i = 0; i < kMaxWorkers; ++i) {
    Worker* empty = nullptr;
    if (runtime.workers[i].load(std::memory_order_relaxed) == nullptr &&
        runtime.workers[i].compare_exchange_strong(empty, worker, std::memory_order_acq_rel)) {
      unsigned slots = runtime.worker_slots.load(std::memory_order_relaxed);
      while (slots <= i && !runtime.worker_slots.compare_exchange_weak(slots, i + 1)) {
      }
      return static_cast<int>(i);
    }
  }
  return -1;
}

void set_marks(Worker* worker) noexcept {
  worker->marks = &worker_marks[worker->index];
  unsigned used = worker_marks_used.load(std::memory_order_relaxed);
  // Before the worker runs: who sees its marks after a membarrier() sees this, too.
  while (used <= worker->index && !worker_marks_used.compare_exchange_weak(used, worker->index + 1)) {
  }
}

Sched* begin_default_sched(Worker* worker) noexcept {
  sched_begin_implicit(&worker->own_sched, WEFT_SCHED_RANDWS, &worker->lane);
  worker->own_sched.steals_lanes = true;
  return &worker->own_sched;
}

GuardKind guard_kind(StackGuard guard) noexcept {
  switch (guard) {
    case StackGuard::Mprotect: return GuardKind::kMprotect;
    case StackGuard::Off: return GuardKind::kNone;
    default: return GuardKind::kMadvise;
  }
}

PageKind page_kind(HugePages pages) noexcept {
  switch (pages) {
    case HugePages::Transparent: return PageKind::kTransparent;
    case HugePages::Explicit: return PageKind::kExplicit;
    default: return PageKind::kOrdinary;
  }
}

unsigned choose_worker_count(const Options& options, const CpuShare& share) noexcept {
  if (options.workers_count > 0) return static_cast<unsigned>(options.workers_count);
  if (options.workers_cpus.size > 0) return static_cast<unsigned>(options.workers_cpus.size);
  return static_cast<unsigned>(workers_for(share, local_ranks(), cpu_quota()));
}

// CPUs in the order in which workers get them. Who wants more workers than our share has CPUs means all CPUs.
std::vector<Pu> choose_pus(const Options& options, const Topology* topology, const CpuShare& share, unsigned count) {
  if (topology == nullptr || !options.workers_bind) return {};
  if (options.workers_cpus.size == 0) return count <= static_cast<unsigned>(share.size) ? share.pus : topology->pus;
  std::vector<int> cpus(options.workers_cpus.cpus.begin(),
                        options.workers_cpus.cpus.begin() + options.workers_cpus.size);
  return select_pus(*topology, cpus);
}

CpuList preferred_cpus;  // runtime_prefer_cpus()

void apply(Options& options, const weft_options_t* wishes) noexcept {
  if (options.workers_cpus.size == 0) options.workers_cpus = preferred_cpus;
  if (wishes == nullptr) return;
  if (wishes->workers != 0) options.workers_count = static_cast<int>(wishes->workers);
  if (wishes->stack_size != 0) options.stack_size = wishes->stack_size;
  if (wishes->bind != 0) options.workers_bind = wishes->bind > 0;
  if (wishes->idle_spin_us != 0) options.idle_spin_us = static_cast<int>(wishes->idle_spin_us);
}

Unit* make_primary(Worker* worker, Klt* klt) noexcept {
  Unit* unit = worker->units.pop();
  if (unit == nullptr) return nullptr;
  unit->flags = flag::kPrimary | flag::kPinned | flag::kOwnStack;
  unit->pool.store(&worker->lane, std::memory_order_relaxed);
  unit->homed.store(true, std::memory_order_relaxed);
  unit->joiner.store(kJoinTaken, std::memory_order_relaxed);
  unit->stack = &primary_stack;
  unit->captive = klt;
  unit->claim_floor.store(claim_floor_of(primary_stack), std::memory_order_relaxed);
  unit_transition(unit, UnitState::kFresh);
  unit->host = unit;
  unit_transition(unit, UnitState::kRunning);
  return unit;
}

// What this thread writes of a worker that will run elsewhere is to lie there.
Worker* create_for(const Pu* pu, int nodes) noexcept {
  const PreferNode prefer(pu != nullptr && nodes > 1 ? pu->node : -1);
  return worker_create(nullptr);
}

int start_workers(unsigned count, const std::vector<Pu>& pus, int nodes) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    const Pu* pu = pus.empty() ? nullptr : &pus[i % pus.size()];
    Worker* worker = i == 0 ? runtime.workers[0].load() : create_for(pu, nodes);
    if (worker == nullptr) return WEFT_ERR_NO_MEMORY;
    if (pu != nullptr) worker->cpu.store(pu->cpu, std::memory_order_relaxed);
    if (i == 0) {
      bind_carrier(runtime.initial, worker);
    } else if (const int error = worker_start(worker); error != WEFT_OK) {
      std::fprintf(stderr,
                   "weft: the kernel refused the thread for worker %u of %u; going on with %u "
                   "(raise the limit on processes, or set WEFT_WORKERS_COUNT)\n",
                   i, count, i);
      worker_destroy(worker);
      return WEFT_OK;
    }
  }
  return WEFT_OK;
}

// Everything that can fail for want of memory or threads. stop() undoes it, as far as it got.
int start_running(const Options& options) {
  own_signals_choose(options.preemption_signal);
  Klt* klt = klt_adopt();
  if (klt == nullptr) return WEFT_ERR_NO_MEMORY;
  klt->guard.store(1, std::memory_order_relaxed);
  runtime.initial = klt;
  Worker* worker = worker_create(nullptr);
  if (worker == nullptr) return WEFT_ERR_NO_MEMORY;
  adopt_stack(primary_stack, klt->tid.load(std::memory_order_relaxed) == getpid());
  runtime.primary = make_primary(worker, klt);
  if (runtime.primary == nullptr) return WEFT_ERR_NO_MEMORY;
  worker->state.store(WorkerState::kActive, std::memory_order_relaxed);
  worker->carrier.store(klt, std::memory_order_release);
  runtime.active.store(1, std::memory_order_relaxed);
  klt->worker.store(worker, std::memory_order_release);
  klt_set_current(runtime.primary);
  klt_set_claim_floor(runtime.primary->claim_floor.load(std::memory_order_relaxed));
  const Topology* topology = read_topology();
  const CpuShare share = topology != nullptr ? cpu_share(*topology) : CpuShare{};
  const unsigned count = choose_worker_count(options, share);
  return start_workers(count, choose_pus(options, topology, share, count), topology != nullptr ? topology->nodes : 1);
}

// ---- the end ----------------------------------------------------------------------------------

struct Alive {
  unsigned count = 0;
};

bool is_alive(const Unit* unit) noexcept {
  return unit != runtime.primary && unit_state(unit) < UnitState::kTerminated;
}

void report_alive(Unit* unit, void* context) {
  auto* alive = static_cast<Alive*>(context);
  const UnitState state = unit_state(unit);
  if (!is_alive(unit)) return;
  constexpr unsigned kListed = 20;
  if (alive->count == 0) {
    std::fputs("weft: weft_finalize: these units have not ended (join or cancel them first):\n",
               stderr);
  }
  if (alive->count++ < kListed) {
    std::fprintf(stderr, "weft:   %s %llu \"%s\", %s\n",
                 unit_is(unit, flag::kTasklet) ? "tasklet" : "ULT",
                 static_cast<unsigned long long>(unit_id(unit)), unit_name(unit),
                 unit_state_name(state));
  }
}

// What the units that are alive are about, the last the most: none; each waits for something; one goes on.
enum class Life { kNone, kWaits, kGoesOn };

Life life_of_units() noexcept {
  Life life = Life::kNone;
  const auto look = [](Unit* unit, void* found) {
    if (!is_alive(unit)) return;
    auto& most = *static_cast<Life*>(found);
    most = std::max(most, unit_state(unit) == UnitState::kBlocked ? Life::kWaits : Life::kGoesOn);
  };
  unit_for_each(look, &life);
  return life;
}

void stop_worker(Worker* worker) noexcept {
  WorkerState active = WorkerState::kActive;
  worker->state.compare_exchange_strong(active, WorkerState::kStopping);
  wake_worker_and_sleeper(worker);
  while (worker->stopped.load(std::memory_order_acquire) == 0) futex_wait(worker->stopped, 0);
}

void delete_retired() noexcept;

void drop_all(Worker* mine) noexcept {
  for (auto& slot : runtime.workers) {
    Worker* worker = slot.load(std::memory_order_acquire);
    if (worker == nullptr) continue;
    if (worker != mine && worker->state.load() != WorkerState::kStopped &&
        worker->state.load() != WorkerState::kNew) {
      stop_worker(worker);
    }
  }
  klt_stop_all();
  for (auto& slot : runtime.workers) {
    if (Worker* worker = slot.load(std::memory_order_acquire)) worker_destroy(worker);
  }
  delete_retired();
}

// Back to where start() began. On the initial KLT with its guard up, if that has been adopted.
void stop() noexcept {
  process_forget_threads();
  block_off_for_good();
  preempt_stop();
  spare_maker_stop();
  block_stop();  // its threads may be writing a report
  inspect_stop();
  bell_stop();
  if (Klt* klt = runtime.initial) {
    drop_all(runtime.active.load(std::memory_order_relaxed) > 0 ? guard_worker() : nullptr);
    const bool was_bound = klt->bound_cpu.load(std::memory_order_relaxed) >= 0;
    klt_release_adopted(klt);
    if (was_bound && runtime.affinity_known) static_cast<void>(set_affinity(runtime.affinity));
  }
  runtime.initial = nullptr;
  runtime.primary = nullptr;
  runtime.worker_slots.store(0);
  runtime.active.store(0);
  runtime.suspended.store(0);
  runtime.sleepers.store(0);
  runtime.searchers.store(0);
  runtime.hungry.store(0);
  unit_for_each([](Unit* unit, void*) { locals_forget(unit); }, nullptr);  // of those that nobody has freed
  identity_stop();
  timers_release();
  unit_slabs_release();
  stack_release_all();
  preempt_remove();
  block_remove();
  overflow_remove();
}

int start(const weft_options_t* wishes) try {
  runtime.options = read_options();
  apply(runtime.options, wishes);
  const Options& options = runtime.options;
  if (options.stack_size < WEFT_STACK_MIN) return WEFT_ERR_STACK_TOO_SMALL;
  if (options.workers_count > static_cast<int>(kMaxWorkers)) return WEFT_ERR_LIMIT;
  if (!membarrier_register()) {
    std::fputs("weft: the system refuses membarrier(), which Weft cannot do without: it takes Linux 4.14, and a sandbox that lets it through\n",
               stderr);
    return WEFT_ERR_UNSUPPORTED;
  }
  const PageKind pages = huge_pages_setup(page_kind(options.huge_pages));
  stack_setup({options.stack_size, guard_kind(options.stack_guard), options.stack_watermark, pages});
  unit_setup(pages);
  overflow_install();
  thread_pointer_setup();
  klt_set_spare_limit(static_cast<unsigned>(options.klt_spare));
  identity_set_most(static_cast<unsigned>(options.identity_limit));
  runtime.affinity_known = get_affinity(runtime.affinity) == 0;
  inspect_start(options);
  block_prepare();
  const int error = start_running(options);
  if (error != WEFT_OK) {
    stop();
  } else {
    preempt_start(options);
    block_start(options);
  }
  return error;
} catch (const std::bad_alloc&) {
  stop();
  return WEFT_ERR_NO_MEMORY;
}

}  // namespace

namespace {

// Workers that have been freed. Their records stay until finalise, because an idle worker may look at one
// just then; the next worker that is made gets one of them.
constinit Worker* retired = nullptr;
constinit SpinLock retired_lock;

Worker* reuse_retired() noexcept {
  retired_lock.lock();
  Worker* worker = retired;
  if (worker != nullptr) retired = worker->next_retired;
  retired_lock.unlock();
  if (worker == nullptr) return nullptr;
  worker->sched = nullptr;
  worker->dispatch_first = nullptr;
  worker->front.store(nullptr, std::memory_order_relaxed);
  worker->lane.listed.store(false, std::memory_order_relaxed);
  worker->lane.forget_units();  // of one that was told to exit
  worker->lane.tells.store(0, std::memory_order_relaxed);
  worker->preempt.ticking.store(false, std::memory_order_relaxed);
  worker->preempt.periods.store(1, std::memory_order_relaxed);
  worker->new_sched.store(nullptr, std::memory_order_relaxed);
  worker->cpu.store(-1, std::memory_order_relaxed);
  worker->stopped.store(0, std::memory_order_relaxed);
  worker->joiners.store(nullptr, std::memory_order_relaxed);
  bell_ignore(worker);
  worker->state.store(WorkerState::kNew, std::memory_order_relaxed);
  return worker;
}

void delete_retired() noexcept {
  while (Worker* worker = retired) {
    retired = worker->next_retired;
    worker_unmap(worker);
  }
}

}  // namespace

void worker_end_own_sched(Worker* worker) noexcept {
  if (worker->own_sched.implicit) sched_end_implicit(&worker->own_sched);
}

void worker_retire(Worker* worker) noexcept {
  retired_lock.lock();
  worker->next_retired = retired;
  retired = worker;
  retired_lock.unlock();
}

Worker* worker_create(Sched* sched) noexcept {
  Worker* worker = reuse_retired();
  if (worker == nullptr) worker = worker_map();
  if (worker == nullptr) return nullptr;
  if (Stack* stack = stack_acquire()) set_sched_stack(worker, stack);
  const int index = worker->sched_stack != nullptr ? reserve_slot(worker) : -1;
  if (index < 0) {
    if (worker->sched_stack != nullptr) stack_release(worker->sched_stack);
    worker->sched_stack = nullptr;
    worker_retire(worker);
    return nullptr;
  }
  worker->suspended.store(false, std::memory_order_relaxed);
  worker->parked = false;
  worker->index = static_cast<unsigned>(index);
  worker->tag = (worker->index + 1) << kTagShift;
  set_marks(worker);
  worker->random = 0x9e3779b97f4a7c15u * (worker->index + 1);
  worker->fp = fp_save();
  set_main_sched(worker, sched != nullptr ? sched : begin_default_sched(worker));
  bell_ignore(worker);
  return worker;
}

int worker_start(Worker* worker, Klt* klt) noexcept {
  if (klt == nullptr) klt = klt_acquire(worker->cpu.load(std::memory_order_relaxed));
  if (klt == nullptr) return WEFT_ERR_NO_KLT;
  worker->stopped.store(0, std::memory_order_relaxed);
  worker->joiners.store(nullptr, std::memory_order_relaxed);
  worker->left = {nullptr, nullptr, nullptr};
  {
    const std::scoped_lock hold(worker->lane.lock);  // see Lane::list_stopped()
    worker->state.store(WorkerState::kActive, std::memory_order_seq_cst);  // see block_worker_starts()
  }
  runtime.active.fetch_add(1, std::memory_order_relaxed);
  hand_to(worker, klt);
  block_worker_starts(worker);  // afterwards: a scout that finds nobody who carries it rests
  return WEFT_OK;
}

// Precondition: stopped, or never started, or everything is.
void worker_destroy(Worker* worker) noexcept {
  block_worker_ends(worker);
  runtime.workers[worker->index].store(nullptr, std::memory_order_release);
  Sched* sched = worker->sched;
  sched->pools[0]->unsettle(worker);
  sched->pools[0]->begins(worker, false);
  sched->worker.store(nullptr, std::memory_order_release);
  for (size_t i = 0; i < sched->pool_count; ++i) {
    sched->pools[i]->consumers[worker->index / 64].fetch_and(~(uint64_t{1} << (worker->index % 64)));
  }
  worker_end_own_sched(worker);
  if (!stack_intact(*worker->sched_stack)) overflow_noticed(nullptr, *worker->sched_stack);
  stack_release(worker->sched_stack);
  worker->sched_stack = nullptr;
  if (worker->next_stack != nullptr) stack_release(worker->next_stack);
  worker->next_stack = nullptr;
  worker->stacks.drain();
  worker->units.drain();
  worker->sched = nullptr;
  worker_retire(worker);
}

}  // namespace weft::rt

using namespace weft::rt;

namespace {

bool is_primary() noexcept { return klt_register_valid() && klt_current() == runtime.primary; }

// Precondition: the caller is the primary ULT, and the lock is held.
void end_now() noexcept {
  static_cast<void>(guard_enter());
  // Sequentially consistent, pairs with a dump that has just begun: see inspect_stop().
  runtime.running.store(false, std::memory_order_seq_cst);
  runtime.initialized = 0;
  gate_wait_for_threads();
  stop();
}

// How a look at what there is to end came out.
enum class Look {
  kDone,    // there is nothing to wait for
  kAgain,   // something has not ended that may be woken, or comes anew
  kGoesOn,  // a unit has not ended that goes on
};

// With the lock held, which may be what that waits for, nothing is waited for, and no code of the user's is called.
int try_finalize(Look& look) noexcept {
  look = Look::kDone;
  const NoPreemption scope;
  std::unique_lock hold(runtime.setup);
  if (runtime.initialized == 0) return WEFT_ERR_UNINITIALIZED;
  if (runtime.initialized > 1) {
    --runtime.initialized;
    return WEFT_OK;
  }
  if (!is_primary()) {
    std::fputs("weft: weft_finalize: the last one has to be called by the primary ULT, on the thread whose "
               "weft_initialize() was the first; the runtime goes on\n", stderr);
    return WEFT_ERR_CONTEXT;
  }
  if (const Life life = life_of_units(); life != Life::kNone) {
    look = life == Life::kGoesOn ? Look::kGoesOn : Look::kAgain;
    return WEFT_ERR_STATE;
  }
  if (runtime.primary->cold.locals != nullptr) {
    hold.unlock();
    locals_destroy(runtime.primary);
    look = Look::kAgain;
    return WEFT_ERR_STATE;
  }
  end_now();
  return WEFT_OK;
}

}  // namespace

void weft::rt::runtime_prefer_cpus(const int* cpus, int count) noexcept {
  preferred_cpus.size = std::min(count, CpuList::kCapacity);
  std::copy_n(cpus, preferred_cpus.size, preferred_cpus.cpus.begin());
}

int weft::rt::runtime_finalize_dropping() noexcept {
  if (!is_primary()) return WEFT_ERR_CONTEXT;
  unit_drop_values(runtime.primary);
  std::lock_guard hold(runtime.setup);
  if (runtime.initialized > 1) {
    --runtime.initialized;
  } else {
    end_now();
  }
  return WEFT_OK;
}

extern "C" {

int weft_initialize(const weft_options_t* options) {
  std::lock_guard hold(runtime.setup);
  if (runtime.initialized > 0) {
    ++runtime.initialized;
    return WEFT_OK;
  }
  if (process_is_stranded()) return WEFT_ERR_CONTEXT;
  const int error = start(options);
  if (error != WEFT_OK) return error;
  runtime.initialized = 1;
  runtime.running.store(true, std::memory_order_release);
  WEFT_CHECK(klt_is_inside(klt_self()));  // since it is one: nobody has taken its worker from it
  guard_leave(guard_worker());
  return WEFT_OK;
}

int weft_finalize(void) {
  // A detached unit that has said it is done may have its last instructions before it still, and the kernel may
  // have taken the core from it there, for as long as other programs have their turns. So what goes on gets time,
  // counted in looks and not by the clock, which runs while the whole program stands, too.
  constexpr int kTurns = 1000;
  constexpr int kPauses = 1000;
  constexpr uint64_t kPause = 1'000'000;
  Look look = Look::kDone;
  int error = WEFT_OK;
  for (int looks = 0; looks <= kTurns + kPauses; ++looks) {
    error = try_finalize(look);
    if (look == Look::kDone) return error;
    if (looks < kTurns) {
      weft_yield();
      sched_yield();
    } else if (look == Look::kGoesOn) {
      static_cast<void>(weft_sleep(kPause));
    } else {
      break;
    }
  }
  Alive alive;
  unit_for_each(report_alive, &alive);
  if (alive.count > 0) std::fprintf(stderr, "weft:   %u in all; the runtime goes on\n", alive.count);
  return error;
}

bool weft_initialized(void) { return runtime_running(); }

#define WEFT_STRING_OF(x) #x
#define WEFT_STRING(x) WEFT_STRING_OF(x)
const char* weft_version(void) {
  return WEFT_STRING(WEFT_VERSION_MAJOR) "." WEFT_STRING(WEFT_VERSION_MINOR) "." WEFT_STRING(
      WEFT_VERSION_PATCH);
}

}  // extern "C"
