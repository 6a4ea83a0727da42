#include "keep.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "affinity.hpp"
#include "front/front.hpp"
#include "os/cpu_set.hpp"
#include "places.hpp"
#include "runtime.hpp"

namespace weft::omp {

namespace {

using Workers = std::vector<unsigned>;  // their numbers, ascending

// Of a place. Constant once given, but for `told`.
struct Home {
  std::vector<weft_pool_t> own;  // of its workers, one each
  weft_pool_t pool = nullptr;    // of all of them; null: there was none to be had, so its threads get one worker each
  bool alone = false;            // none of its workers belongs to another place, too
  int instead = -1;              // it has none, and uses those of this place
  mutable std::atomic<bool> told{false};
};
using Homes = std::vector<Home>;
// Never freed: threads look at them until the process is gone.
std::atomic<const Homes*> given{nullptr};

const std::vector<std::vector<int>>& places() { return device().places; }

bool has(const std::vector<int>& cpus, int cpu) { return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end(); }

std::vector<Workers> workers_of_places() {
  std::vector<Workers> all(places().size());
  for (unsigned i = 0; i < static_cast<unsigned>(worker_count()); ++i) {
    const int cpu = weft_worker_cpu(weft_worker_get(i));
    for (size_t place = 0; place < all.size(); ++place) {
      if (has(places()[place], cpu)) all[place].push_back(i);
    }
  }
  return all;
}

bool share(const Workers& a, const Workers& b) {
  return std::any_of(a.begin(), a.end(), [&b](unsigned i) { return std::binary_search(b.begin(), b.end(), i); });
}

// -1: no place has any.
int nearest_with_workers(const std::vector<Workers>& all, int place) {
  const auto fits = [&all](int other) {
    return other >= 0 && other < static_cast<int>(all.size()) && !all[static_cast<size_t>(other)].empty();
  };
  for (int far = 1; far < static_cast<int>(all.size()); ++far) {
    if (fits(place - far)) return place - far;
    if (fits(place + far)) return place + far;
  }
  return -1;
}

// What a worker is to take from, told to itself.
struct Order {
  std::vector<weft_pool_t> pools;
};
void carry_out(void* arg) {
  const std::unique_ptr<Order> order(static_cast<Order*>(arg));
  for (weft_pool_t pool : order->pools) front::worker_take_from(pool);
}

class Builder {
 public:
  explicit Builder(std::vector<Workers> all) : all_(std::move(all)), orders_(static_cast<size_t>(worker_count())) {}

  void build(Homes& homes) {
    for (size_t i = 0; i < all_.size(); ++i) {
      Home& home = homes[i];
      for (unsigned worker : all_[i]) home.own.push_back(weft_worker_pool(weft_worker_get(worker)));
      if (home.own.empty()) {
        home.instead = nearest_with_workers(all_, static_cast<int>(i));
      } else {
        home.pool = home.own.size() == 1 ? home.own[0] : pool_for(homes, i);
        home.alone = std::none_of(all_.begin(), all_.end(), [&](const Workers& other) {
          return other != all_[i] && share(other, all_[i]);
        });
      }
    }
    for (unsigned i = 0; i < orders_.size(); ++i) send(i);
  }

 private:
  static constexpr size_t kMostPools = 63;  // besides the worker's own

  // Places with the same workers have one together. Null: a worker has too many already, or there is no memory.
  weft_pool_t pool_for(const Homes& homes, size_t place) {
    for (size_t i = 0; i < place; ++i) {
      if (all_[i] == all_[place]) return homes[i].pool;
    }
    const Workers& workers = all_[place];
    weft_pool_t pool = nullptr;
    if (std::any_of(workers.begin(), workers.end(), [this](unsigned i) { return orders_[i].pools.size() >= kMostPools; }) ||
        weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool) != WEFT_OK) {
      return nullptr;
    }
    for (unsigned i : workers) orders_[i].pools.push_back(pool);
    return pool;
  }

  // What comes into a pool before its workers have this waits for them.
  void send(unsigned worker) {
    if (orders_[worker].pools.empty()) return;
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = weft_worker_get(worker);
    attr.pinned = true;
    if (weft_ult_create(carry_out, new Order(std::move(orders_[worker])), &attr, nullptr) == WEFT_OK) return;
    std::fprintf(stderr, "weft: OpenMP: out of memory (to bind worker %u to its places)\n", worker);
    std::abort();
  }

  std::vector<Workers> all_;
  std::vector<Order> orders_;  // by worker
};

void tell_of_missing(int place, int instead) {
  const auto cpus = [](int i) { return text_of_cpus(places()[static_cast<size_t>(i)]); };
  std::fprintf(stderr, "weft: OpenMP: none of the %d workers runs on place %d, CPUs {%s}: its threads run on place %d, {%s}\n",
               worker_count(), place, cpus(place).c_str(), instead, cpus(instead).c_str());
}

weft_pool_t pool_of(const Homes& homes, int place, int before, bool outermost) {
  const Home* home = &homes[static_cast<size_t>(place)];
  if (__builtin_expect(home->instead >= 0, 0)) {
    if (!home->told.exchange(true, std::memory_order_relaxed)) tell_of_missing(place, home->instead);
    home = &homes[static_cast<size_t>(home->instead)];
  }
  const auto number = static_cast<size_t>(before);
  if (outermost && home->alone && number < home->own.size()) return home->own[number];
  return home->pool != nullptr ? home->pool : home->own[number % home->own.size()];
}

// A kernel thread of the program's, which carries no worker.
void bind_thread(int place) {
  if (weft_self() != nullptr) return;
  rt::CpuSet cpus;
  for (const int cpu : places()[static_cast<size_t>(place)]) cpus.add(cpu);
  rt::set_affinity(cpus);
}

}  // namespace

bool places_bind() { return device().initial.bind != Bind::kFalse && !places().empty(); }

std::vector<int> cpus_for_workers(int workers, int place_of_first) {
  rt::CpuSet allowed;
  if (rt::get_affinity(allowed) != 0) return {};
  const auto usable = [&](int cpu) { return allowed.contains(cpu) && (device().cpus.empty() || has(device().cpus, cpu)); };
  std::vector<int> cpus;
  const auto take_one = [&](int place) {
    for (const int cpu : places()[static_cast<size_t>(place)]) {
      if (!usable(cpu) || has(cpus, cpu)) continue;
      cpus.push_back(cpu);
      return true;
    }
    return false;
  };
  const int count = static_cast<int>(places().size());
  for (int i = 0; i < workers; ++i) take_one(placement_of(device().initial.bind, i, workers, {place_of_first, 0, count}).place);
  for (bool more = true; more;) {
    more = false;
    for (int place = 0; place < count; ++place) more |= take_one(place);
  }
  for (int cpu = 0; cpu < rt::kMaxCpus; ++cpu) {
    if (usable(cpu) && !has(cpus, cpu)) cpus.push_back(cpu);
  }
  return cpus;
}

void keep_begin() {
  if (!places_bind()) return;
  std::vector<Workers> all = workers_of_places();
  const bool some = std::any_of(all.begin(), all.end(), [](const Workers& workers) { return !workers.empty(); });
  if (!some || !workers_stay()) {
    std::fprintf(stderr, "weft: OpenMP: threads are not bound to places: %s\n",
                 workers_stay() ? "no worker is bound to a CPU of one" : "the workers are not OpenMP's own");
    return;
  }
  auto* homes = new Homes(all.size());
  Builder(std::move(all)).build(*homes);
  given.store(homes, std::memory_order_release);
}

void keep_forget() { given.store(nullptr, std::memory_order_relaxed); }

void keep_at_place(Member& member, int before) {
  const Homes* homes = given.load(std::memory_order_acquire);
  if (homes == nullptr) return;
  Thread& thread = *member.thread;
  const int place = member.place;
  // Who has opened the region has the place that it had, wherever in it that is; not bound, it stays as it is.
  if (member.num == 0 && (place < 0 || place == thread.kept_at)) return;
  thread.kept_at = place;
  if (thread.unit == nullptr) return bind_thread(place);
  const weft_pool_t pool = place >= 0 ? pool_of(*homes, place, before, member.team->active_level <= 1) : nullptr;
  if (pool == thread.kept) return;
  thread.kept = pool;
  front::keep_in(pool);
}

}  // namespace weft::omp
