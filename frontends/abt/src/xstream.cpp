// xstream.cpp: ABT_xstream_*: created, joined, freed, and what they run.
#include "xstream.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "pool.hpp"
#include "runtime.hpp"
#include "self.hpp"
#include "unit.hpp"

namespace weft::abt {
namespace {

using namespace front;

// All of them, by rank.
constinit std::mutex list_lock;
constinit Xstream* head = nullptr;
constinit std::atomic<int> count{0};  // read without the lock, by schedulers too: who has that may be preempted
// Of freed ones whose own pool is still another scheduler's.
struct Lingering {
  weft_worker_t worker;
  Sched* main;
  Lingering* next;
};
constinit Lingering* lingering = nullptr;  // under the lock

// Lock held. -1: the smallest that is free. False: it is taken.
bool insert(Xstream* xstream, int rank) noexcept {
  Xstream* before = nullptr;
  int free = 0;
  for (Xstream* x = head; x != nullptr; before = x, x = x->next) {
    const int taken = x->rank.load(std::memory_order_relaxed);
    if (taken == rank) return false;
    if (rank >= 0 ? taken > rank : taken > free) break;
    free = taken + 1;
  }
  xstream->rank.store(rank >= 0 ? rank : free, std::memory_order_relaxed);
  xstream->prev = before;
  xstream->next = before != nullptr ? before->next : head;
  (before != nullptr ? before->next : head) = xstream;
  if (xstream->next != nullptr) xstream->next->prev = xstream;
  return true;
}

void counts_change(int by) noexcept { primary_may_host(count.fetch_add(by, std::memory_order_relaxed) + by == 1); }

void remove(Xstream* xstream) noexcept {
  (xstream->prev != nullptr ? xstream->prev->next : head) = xstream->next;
  if (xstream->next != nullptr) xstream->next->prev = xstream->prev;
}

// The ES's own pool and scheduler, as Argobots has them.
bool adopt_own(Xstream* xstream) noexcept {
  const weft_pool_t lane = worker_lane(xstream->worker);
  if (adopt_pool(lane) == nullptr) return false;
  Sched* const own = adopt_sched(weft_worker_sched(xstream->worker), to_abt(lane));
  xstream->set_main(own);
  if (own != nullptr) return true;
  forget_pool(lane);
  return false;
}

void forget_stand_in(Xstream* xstream) noexcept {
  if (weft_unit_t unit = xstream->stand_in.exchange(nullptr, std::memory_order_acq_rel)) stand_in_free(unit);
}

// Its worker, with all that is asked of a running ES.
int make_worker(Xstream* xstream) noexcept {
  const Sched* main = xstream->main();
  const weft_sched_t sched = main != nullptr ? main->core : nullptr;
  if (const int error = worker_create(sched, xstream, &xstream->worker); error != WEFT_OK) return from_core(error);
  if (sched != nullptr || adopt_own(xstream)) return ABT_SUCCESS;
  worker_discard(xstream->worker);
  return ABT_ERR_MEM;
}

int start_worker(Xstream* xstream, int rank) noexcept {
  {
    std::lock_guard hold(list_lock);
    if (!insert(xstream, rank)) return ABT_ERR_INV_XSTREAM_RANK;
    counts_change(1);
  }
  place(xstream);
  const int error = from_core(worker_start(xstream->worker));
  if (error == ABT_SUCCESS) return error;
  std::lock_guard hold(list_lock);
  remove(xstream);
  counts_change(-1);
  return error;
}

// Of an ES that has not started.
void discard_worker(Xstream* xstream) noexcept {
  Sched* main = xstream->main();
  if (main->implicit) {
    main->core = nullptr;
    main->pools.clear();
    forget_pool(worker_lane(xstream->worker));
  }
  worker_discard(xstream->worker);
  if (main->implicit) free_sched(main);
}

// sched == nullptr: a default one.
int create(Sched* sched, int rank, ABT_xstream* out) noexcept {
  auto* xstream = new (std::nothrow) Xstream;
  if (xstream == nullptr) return ABT_ERR_MEM;
  if (sched != nullptr && !use_sched(sched, SchedUse::kMain)) {
    delete xstream;
    return ABT_ERR_INV_SCHED;
  }
  xstream->set_main(sched);
  int error = make_worker(xstream);
  if (error == ABT_SUCCESS) {
    error = start_worker(xstream, rank);
    if (error == ABT_SUCCESS) {
      *out = to_abt(xstream);
      return ABT_SUCCESS;
    }
    discard_worker(xstream);
  }
  if (sched != nullptr) sched->use.store(SchedUse::kNone, std::memory_order_release);
  delete xstream;
  return error;
}

int join(Xstream* xstream) noexcept {
  return weft_worker_join(xstream->worker) == WEFT_OK ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM;
}

// The worker's own pool and scheduler go with it.
void detach_own(Sched* main, weft_pool_t lane) noexcept {
  main->pools.erase(std::remove(main->pools.begin(), main->pools.end(), to_abt(lane)), main->pools.end());
  if (main->implicit) main->core = nullptr;
  if (pool_front(lane) != nullptr) forget_pool(lane);
}

void free_worker(weft_worker_t worker, Sched* main) noexcept {
  detach_own(main, worker_lane(worker));
  static_cast<void>(weft_worker_free(&worker));
  leave_sched(main);
}

// Precondition: it has been joined.
void destroy(Xstream* xstream) noexcept {
  {
    std::lock_guard hold(list_lock);
    remove(xstream);
    counts_change(-1);
  }
  forget_stand_in(xstream);
  worker_set_front(xstream->worker, nullptr);
  const weft_pool_t lane = worker_lane(xstream->worker);
  Sched* main = xstream->main();
  const unsigned own_use = main->implicit ? 1 : 0;
  if (pool_front(lane) != nullptr && pool_schedulers(lane) > own_use) {
    // Its own pool lives on with the schedulers that have it.
    if (auto* kept = new (std::nothrow) Lingering{xstream->worker, main, nullptr}) {
      std::lock_guard hold(list_lock);
      kept->next = lingering;
      lingering = kept;
    }
  } else {
    free_worker(xstream->worker, main);
  }
  delete xstream;
}

void free_lingering() noexcept {
  while (Lingering* kept = lingering) {
    lingering = kept->next;
    free_worker(kept->worker, kept->main);
    delete kept;
  }
}

bool is_mine(const Xstream* xstream) noexcept { return my_xstream() == xstream; }

struct Adoption {
  Xstream* xstream;
  Sched* sched;
  Association home;  // of the calling ULT
  Sched* old = nullptr;
};

void leave_for_new_home(void* arg) { static_cast<Adoption*>(arg)->home.move(); }

void note_adopted(void* arg) {
  auto* adoption = static_cast<Adoption*>(arg);
  adoption->old = adoption->xstream->main();
  adoption->xstream->set_main(adoption->sched);
}

// The calling ULT goes over to the new scheduler, once the old one has done what it had to do. If another ULT brings
// one before that, ours is not wanted any more.
void replace_mine(Adoption& adoption) noexcept {
  const bool adopted = worker_replace_sched(adoption.sched->core, leave_for_new_home, note_adopted, &adoption);
  adoption.home.end();
  leave_sched(adopted ? adoption.old : adoption.sched);
}

int set_main_sched(Xstream* xstream, Sched* sched) noexcept {
  ABT_thread self;
  if (const int error = self_ult(&self); error != ABT_SUCCESS) return error;
  if (in_main_sched()) return ABT_ERR_INV_THREAD;
  const bool mine = is_mine(xstream);
  if (!mine && !worker_stopped(xstream->worker)) return kVersion20 ? ABT_ERR_INV_XSTREAM : ABT_ERR_XSTREAM_STATE;
  if (!use_sched(sched, SchedUse::kMain)) return ABT_ERR_INV_SCHED;
  if (!mine) {
    Sched* const old = xstream->main();
    worker_change_stopped(xstream->worker, sched->core);
    xstream->set_main(sched);
    leave_sched(old);
    return ABT_SUCCESS;
  }
  Adoption adoption{xstream, sched, {}};
  if (has_pool(xstream->main(), to_abt(weft_unit_pool(core(self)))) && !sched->pools.empty()) {
    if (const int error = adoption.home.prepare(self, sched->pools[0]); error != ABT_SUCCESS) {
      sched->use.store(SchedUse::kNone, std::memory_order_release);
      return error;
    }
  }
  replace_mine(adoption);
  return ABT_SUCCESS;
}

}  // namespace

int start_primary() noexcept {
  auto* xstream = new (std::nothrow) Xstream;
  if (xstream == nullptr) return ABT_ERR_MEM;
  xstream->primary = true;
  xstream->worker = weft_worker_get(0);
  if (!adopt_own(xstream)) {
    delete xstream;
    return ABT_ERR_MEM;
  }
  front::part(primary())->context = kResume;
  worker_set_front(xstream->worker, xstream);
  std::lock_guard hold(list_lock);
  static_cast<void>(insert(xstream, 0));
  counts_change(1);
  place(xstream);
  return ABT_SUCCESS;
}

bool xstreams_in_child() noexcept {
  // Whoever has had it may not be here.
  new (&list_lock) std::mutex;
  head = nullptr;
  count.store(0, std::memory_order_relaxed);
  lingering = nullptr;
  const weft_unit_t self = front::self();
  if (self == nullptr || (flags_of(self) & kMade) == 0) return false;
  const weft_worker_t worker = weft_worker_get(0);
  Xstream* mine = my_xstream();  // null: somebody had taken its worker from it as it forked
  if (mine == nullptr) mine = new (std::nothrow) Xstream;
  if (mine == nullptr) return false;
  new (&mine->cpus_lock) std::mutex;
  mine->cpus.clear();
  mine->stand_in.store(nullptr, std::memory_order_relaxed);
  mine->primary = true;
  mine->worker = worker;
  Sched* const main = mine->main();
  const bool own = main == nullptr || main->implicit;
  worker_in_child(own ? nullptr : main->core);
  // Its worker's record is the same one, most often, and has its pool still.
  const weft_pool_t lane = worker_lane(worker);
  const bool kept = main != nullptr && main->core == weft_worker_sched(worker) && has_pool(main, to_abt(lane)) && pool_front(lane) != nullptr;
  if (own && !kept && !adopt_own(mine)) return false;
  worker_set_front(worker, mine);
  static_cast<void>(insert(mine, mine->rank.load(std::memory_order_relaxed)));
  counts_change(1);
  if (has_pool(mine->main(), to_abt(weft_unit_pool(self)))) return true;
  const ABT_pool first = first_pool(mine);
  return associate(to_abt(self), is_null(first) ? to_abt(lane) : first) == ABT_SUCCESS;
}

namespace {

// Until nothing of ours is left that the main scheduler of the calling ULT's ES would wait for. Threads of OpenMP's, which wait for the
// next region, are the lane's then: the pools end.
void drain(const Xstream* mine) noexcept {
  const weft_sched_t sched = mine->main()->core;
  for (bool handed_on = false;; handed_on = true) {
    while (!sched_done(sched)) {
      weft_yield();
      if (!sched_done(sched)) static_cast<void>(weft_sleep(10'000));
    }
    if (handed_on) return;
    sched_hand_on_others(sched, worker_lane(mine->worker));
  }
}

// A user's scheduler ends as it would at a join: a plain one takes over.
void end_user_sched(Xstream* mine) noexcept {
  Sched* plain = nullptr;
  if (!mine->main()->user || make_sched(ABT_SCHED_BASIC, 0, nullptr, nullptr, &plain) != ABT_SUCCESS) return;
  static_cast<void>(set_main_sched(mine, plain));
}

}  // namespace

bool end_xstreams() noexcept {
  Xstream* mine = nullptr;  // the primary one: when the others have ended main can be nowhere else
  for (;;) {
    Xstream* other = nullptr;
    list_lock.lock();
    for (Xstream* x = head; x != nullptr; x = x->next) {
      if (x->primary) {
        mine = x;
      } else if (other == nullptr) {
        other = x;
      }
    }
    list_lock.unlock();
    if (other == nullptr) break;
    if (join(other) != ABT_SUCCESS) return false;  // main is in a pool of that one's alone
    destroy(other);
  }
  end_user_sched(mine);
  drain(mine);
  {
    std::lock_guard hold(list_lock);
    remove(mine);
    counts_change(-1);
  }
  forget_stand_in(mine);
  const weft_pool_t lane = worker_lane(mine->worker);
  static_cast<void>(associate(to_abt(primary()), to_abt(lane)));
  if (!mine->main()->implicit) worker_drop_sched();
  detach_own(mine->main(), lane);
  // With all of its pools, whoever made them: they cannot be freed any more.
  for (const ABT_pool pool : mine->main()->pools) record(pool)->automatic.store(true, std::memory_order_relaxed);
  free_sched(mine->main());
  free_lingering();
  worker_set_front(mine->worker, nullptr);
  delete mine;
  return true;
}

void for_each_xstream(void (*f)(Xstream*, void*), void* arg) noexcept {
  std::lock_guard hold(list_lock);
  for (Xstream* x = head; x != nullptr; x = x->next) f(x, arg);
}

weft_unit_t stand_in_of(Xstream* xstream) noexcept {
  weft_unit_t unit = xstream->stand_in.load(std::memory_order_acquire);
  if (unit != nullptr) return unit;
  const ABT_pool pool = first_pool(xstream);
  weft_unit_t made = stand_in_create(is_null(pool) ? worker_lane(xstream->worker) : core(pool));
  if (made == nullptr || xstream->stand_in.compare_exchange_strong(unit, made, std::memory_order_acq_rel)) return made;
  stand_in_free(made);
  return unit;
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_xstream_create(ABT_sched sched, ABT_xstream* newxstream) {
  if (!running()) return fail(newxstream, ABT_XSTREAM_NULL, ABT_ERR_UNINITIALIZED);
  const int error = create(is_null(sched) ? nullptr : record(sched), -1, newxstream);
  return error == ABT_SUCCESS ? error : fail(newxstream, ABT_XSTREAM_NULL, error);
}

int ABT_xstream_create_with_rank(ABT_sched sched, int rank, ABT_xstream* newxstream) {
  if (!running()) return fail(newxstream, ABT_XSTREAM_NULL, ABT_ERR_UNINITIALIZED);
  if (rank < 0) return fail(newxstream, ABT_XSTREAM_NULL, ABT_ERR_INV_XSTREAM_RANK);
  const int error = create(is_null(sched) ? nullptr : record(sched), rank, newxstream);
  return error == ABT_SUCCESS ? error : fail(newxstream, ABT_XSTREAM_NULL, error);
}

int ABT_xstream_create_basic(ABT_sched_predef predef, int num_pools, ABT_pool* pools, ABT_sched_config config,
                             ABT_xstream* newxstream) {
  if (!running()) return fail(newxstream, ABT_XSTREAM_NULL, ABT_ERR_UNINITIALIZED);
  const bool plain = predef == ABT_SCHED_DEFAULT || predef == ABT_SCHED_BASIC;
  if (plain && pools == nullptr && num_pools >= 0 && is_null(config)) {
    return ABT_xstream_create(ABT_SCHED_NULL, newxstream);
  }
  ABT_sched sched;
  int error = ABT_sched_create_basic(predef, num_pools, pools, config, &sched);
  if (error != ABT_SUCCESS) return fail(newxstream, ABT_XSTREAM_NULL, error);
  error = create(record(sched), -1, newxstream);
  if (error == ABT_SUCCESS) return error;
  free_sched(record(sched));
  return fail(newxstream, ABT_XSTREAM_NULL, error);
}

int ABT_xstream_join(ABT_xstream xstream) {
  if (is_null(xstream) || record(xstream)->primary) return ABT_ERR_INV_XSTREAM;
  return join(record(xstream));
}

int ABT_xstream_free(ABT_xstream* xstream) {
  if (xstream == nullptr || is_null(*xstream) || record(*xstream)->primary) return ABT_ERR_INV_XSTREAM;
  if (const int error = join(record(*xstream)); error != ABT_SUCCESS) return error;
  destroy(record(*xstream));
  *xstream = ABT_XSTREAM_NULL;
  return ABT_SUCCESS;
}

int ABT_xstream_revive(ABT_xstream xstream) {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  const int error = weft_worker_revive(record(xstream)->worker);
  return error == WEFT_ERR_STATE ? ABT_ERR_INV_XSTREAM : from_core(error);
}

int ABT_xstream_exit(void) {
  ABT_thread self;
  if (const int error = self_ult(&self); error != ABT_SUCCESS) return error;
  if (in_main_sched()) return ABT_ERR_INV_THREAD;
  Xstream* mine = my_xstream();
  if (mine->primary) return ABT_ERR_INV_XSTREAM;
  static_cast<void>(weft_sched_exit(mine->main()->core));
  return weft_exit() == WEFT_OK ? ABT_SUCCESS : ABT_ERR_INV_THREAD;
}

int ABT_xstream_cancel(ABT_xstream xstream) {
  if (is_null(xstream) || record(xstream)->primary) return ABT_ERR_INV_XSTREAM;
  return from_core(weft_sched_exit(record(xstream)->main()->core));
}

int ABT_xstream_set_main_sched(ABT_xstream xstream, ABT_sched sched) {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  if (!is_null(sched)) return set_main_sched(record(xstream), record(sched));
  return ABT_xstream_set_main_sched_basic(xstream, ABT_SCHED_DEFAULT, 0, nullptr);
}

int ABT_xstream_set_main_sched_basic(ABT_xstream xstream, ABT_sched_predef predef, int num_pools, ABT_pool* pools) {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  ABT_sched sched;
  int error = ABT_sched_create_basic(predef, num_pools, pools, ABT_SCHED_CONFIG_NULL, &sched);
  if (error != ABT_SUCCESS) return error;
  error = set_main_sched(record(xstream), record(sched));
  if (error != ABT_SUCCESS) free_sched(record(sched));
  return error;
}

int ABT_xstream_get_main_sched(ABT_xstream xstream, ABT_sched* sched) {
  if (is_null(xstream)) return fail(sched, ABT_SCHED_NULL, ABT_ERR_INV_XSTREAM);
  *sched = to_abt(record(xstream)->main());
  return ABT_SUCCESS;
}

int ABT_xstream_get_main_pools(ABT_xstream xstream, int max_pools, ABT_pool* pools) {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  if (max_pools < 0) return ABT_ERR_INV_ARG;
  const auto& all = record(xstream)->main()->pools;
  std::copy_n(all.begin(), std::min(all.size(), static_cast<size_t>(max_pools)), pools);
  return ABT_SUCCESS;
}

int ABT_xstream_get_state(ABT_xstream xstream, ABT_xstream_state* state) {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  *state = weft::front::worker_stopped(record(xstream)->worker) ? ABT_XSTREAM_STATE_TERMINATED
                                                                 : ABT_XSTREAM_STATE_RUNNING;
  return ABT_SUCCESS;
}

int ABT_xstream_equal(ABT_xstream xstream1, ABT_xstream xstream2, ABT_bool* result) {
  *result = xstream1 == xstream2 ? ABT_TRUE : ABT_FALSE;
  return ABT_SUCCESS;
}

int ABT_xstream_get_num(int* num_xstreams) {
  if (!running()) {
    if (!kVersion20 && num_xstreams != nullptr) *num_xstreams = 0;
    return ABT_ERR_UNINITIALIZED;
  }
  *num_xstreams = count.load(std::memory_order_relaxed);
  return ABT_SUCCESS;
}

int ABT_xstream_is_primary(ABT_xstream xstream, ABT_bool* is_primary) {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  *is_primary = record(xstream)->primary ? ABT_TRUE : ABT_FALSE;
  return ABT_SUCCESS;
}

int ABT_xstream_get_rank(ABT_xstream xstream, int* rank) {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  *rank = record(xstream)->rank.load(std::memory_order_relaxed);
  return ABT_SUCCESS;
}

int ABT_xstream_set_rank(ABT_xstream xstream, int rank) {
  if (is_null(xstream) || record(xstream)->primary) return ABT_ERR_INV_XSTREAM;
  if (rank < 0) return ABT_ERR_INV_XSTREAM_RANK;
  Xstream* x = record(xstream);
  std::lock_guard hold(list_lock);
  const int old = x->rank.load(std::memory_order_relaxed);
  if (old == rank) return ABT_SUCCESS;
  remove(x);
  if (insert(x, rank)) {
    place(x);
    return ABT_SUCCESS;
  }
  static_cast<void>(insert(x, old));
  return ABT_ERR_INV_XSTREAM_RANK;
}

int ABT_xstream_run_unit(ABT_unit unit, ABT_pool pool) {
  if (is_builtin_unit(unit) && !is_null(pool)) {
    return weft::front::run_of_pool(core(thread_of_builtin(unit)), core(pool), run_in_pool);
  }
  if (const int error = check_scheduling(); error != ABT_SUCCESS) return error;
  if (is_null(unit)) return ABT_ERR_INV_UNIT;
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  const ABT_thread thread = thread_of(unit);
  return is_null(thread) ? ABT_ERR_INV_UNIT : run_in_pool(core(thread), core(pool));
}

int ABT_xstream_check_events(ABT_sched sched) {
  ABT_thread self;
  if (const int error = self_ult(&self); error != ABT_SUCCESS) return error;
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  const Sched* running = record(sched);
  const bool runs_it = in_main_sched() ? my_xstream()->main() == running
                                       : weft::front::sched_unit(running->core) == core(self);
  if (!runs_it) return ABT_ERR_INV_THREAD;
  weft::front::poll();
  return ABT_SUCCESS;
}

}  // extern "C"
