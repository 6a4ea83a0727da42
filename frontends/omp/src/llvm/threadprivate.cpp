// threadprivate.cpp: threadprivate variables of compilers that do not use thread-local storage for them.
//
// The initial thread has the variable itself, every other one a copy, which is made when it first asks. A thread's copies hang
// on the thread (Thread::llvm). The compiler's cache, an array by gtid, is only a short cut to them: it is replaced by a
// longer one when a gtid is beyond it, and what is written to the old one meanwhile is found in the thread again.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "llvm/ident.hpp"
#include "llvm/thread_end.hpp"
#include "lock.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

using Construct = void* (*)(void* mine);
using Copy = void* (*)(void* mine, void* original);
using Destroy = void (*)(void* mine);
using ConstructMany = void* (*)(void* mine, size_t count);
using CopyMany = void* (*)(void* mine, void* original, size_t count);
using DestroyMany = void (*)(void* mine, size_t count);

// A variable.
struct Variable {
  void* construct = nullptr;
  void* copy = nullptr;
  void* destroy = nullptr;
  size_t count = 0;          // elements; 0: it is not an array, and the functions take no count
  size_t bytes = 0;
  std::vector<char> before;  // what is in the original when somebody first asks, for those without constructors
};

// The cache of one variable, which the program holds: how long it is, in front of it.
struct Cache {
  size_t count;
  void* slots[1];  // `count` of them
};
constexpr size_t kCacheGrain = 256;
Cache* cache_of(void** slots) {
  return reinterpret_cast<Cache*>(reinterpret_cast<char*>(slots) - offsetof(Cache, slots));
}
size_t cache_size(void** slots) { return cache_of(slots)->count; }

class Section {
 public:
  explicit Section(Lock& lock) : x_lock(lock) { lock_acquire(lock); }
  ~Section() { lock_release(x_lock); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  Lock& x_lock;
};

// All of it under the lock.
struct Register {
  Lock lock;
  std::unordered_map<void*, Variable> variables;
  std::vector<void***> caches;  // where the program has them
};
Register& all() {
  static Register* the = new Register;  // never destroyed: threads end after main()
  return *the;
}

struct Mine {
  void* memory;
  bool ours;  // made here, and to be freed
};
using Copies = std::unordered_map<void*, Mine>;

void fill(const Variable& variable, void* mine, void* original) {
  if (variable.copy != nullptr) {
    variable.count > 0 ? reinterpret_cast<CopyMany>(variable.copy)(mine, original, variable.count)
                       : reinterpret_cast<Copy>(variable.copy)(mine, original);
  } else if (variable.construct != nullptr) {
    variable.count > 0 ? reinterpret_cast<ConstructMany>(variable.construct)(mine, variable.count)
                       : reinterpret_cast<Construct>(variable.construct)(mine);
  } else {
    std::memcpy(mine, variable.before.data(), variable.bytes);
  }
}

Variable& known(void* original, size_t bytes) {
  Variable& variable = all().variables[original];
  if (variable.before.size() < bytes) {
    variable.bytes = bytes;
    variable.before.assign(static_cast<char*>(original), static_cast<char*>(original) + bytes);
  }
  return variable;
}

bool is_initial(const Thread& thread) { return thread.gtid == kNumberOfMain; }

// `given`: a copy that the program has made itself; null: none.
void* own_copy(Thread& thread, void* original, size_t bytes, void* given = nullptr) {
  if (thread.llvm == nullptr) thread.llvm = new Copies;
  Copies& copies = *static_cast<Copies*>(thread.llvm);
  if (const auto found = copies.find(original); found != copies.end()) return found->second.memory;
  Variable snapshot;
  {
    const Section section(all().lock);
    snapshot = known(original, bytes);
  }
  void* mine = original;
  if (given != nullptr) {
    mine = given;
  } else if (!is_initial(thread)) {
    mine = std::aligned_alloc(64, (bytes + 63) & ~size_t{63});
    if (mine == nullptr) std::abort();
    fill(snapshot, mine, original);
  }
  copies.emplace(original, Mine{mine, mine != original && given == nullptr});
  return mine;
}

// A cache that has a slot for the number. Under the lock.
Cache* cache_for(void*** cell, int gtid) {
  void** slots = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
  Cache* old = slots == nullptr ? nullptr : cache_of(slots);
  const size_t wanted = static_cast<size_t>(gtid) + 1;
  if (old != nullptr && old->count >= wanted) return old;
  const size_t count = (wanted + kCacheGrain - 1) / kCacheGrain * kCacheGrain;
  Cache* cache = static_cast<Cache*>(std::calloc(1, sizeof(Cache) + count * sizeof(void*)));
  if (cache == nullptr) std::abort();
  cache->count = count;
  if (old != nullptr) std::memcpy(cache->slots, old->slots, old->count * sizeof(void*));
  // The old one stays: somebody may be reading it. It is short, and there are few of them.
  __atomic_store_n(cell, static_cast<void**>(cache->slots), __ATOMIC_RELEASE);
  if (old == nullptr) all().caches.push_back(cell);
  return cache;
}

void set_functions(void* original, void* construct, void* copy, void* destroy, size_t count) {
  const Section section(all().lock);
  Variable& variable = all().variables[original];
  variable.construct = construct;
  variable.copy = copy;
  variable.destroy = destroy;
  variable.count = count;
}

void destroy(const Variable& variable, void* mine) {
  if (variable.destroy == nullptr) return;
  variable.count > 0 ? reinterpret_cast<DestroyMany>(variable.destroy)(mine, variable.count)
                     : reinterpret_cast<Destroy>(variable.destroy)(mine);
}

}  // namespace

void forget_thread(Thread& thread) {
  Copies* copies = static_cast<Copies*>(thread.llvm);
  if (copies == nullptr) return;
  thread.llvm = nullptr;
  std::vector<std::pair<Variable, void*>> gone;
  {
    const Section section(all().lock);
    for (void*** cell : all().caches) {
      if (cache_size(*cell) > static_cast<size_t>(thread.gtid)) (*cell)[thread.gtid] = nullptr;
    }
    for (const auto& [original, mine] : *copies) {
      if (mine.ours) gone.emplace_back(all().variables[original], mine.memory);
    }
  }
  for (const auto& [variable, mine] : gone) {
    destroy(variable, mine);
    std::free(mine);
  }
  delete copies;
}

}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API void __kmpc_threadprivate_register(Ident*, void* original, void* construct, void* copy, void* destroy) {
  set_functions(original, construct, copy, destroy, 0);
}
WEFT_OMP_API void __kmpc_threadprivate_register_vec(Ident*, void* original, void* construct, void* copy, void* destroy,
                                                    size_t count) {
  set_functions(original, construct, copy, destroy, count);
}

WEFT_OMP_API void* __kmpc_threadprivate(Ident*, int32_t gtid, void* original, size_t bytes) {
  return own_copy(thread_of(gtid), original, bytes);
}

WEFT_OMP_API void* __kmpc_threadprivate_cached(Ident*, int32_t gtid, void* original, size_t bytes, void*** cell) {
  const size_t number = static_cast<size_t>(gtid);
  // Pairs with the store in cache_for().
  if (void** slots = __atomic_load_n(cell, __ATOMIC_ACQUIRE); slots != nullptr && number < cache_size(slots)) [[likely]] {
    if (void* mine = slots[number]; mine != nullptr) [[likely]] return mine;
  }
  void* mine = own_copy(thread_of(gtid), original, bytes);
  const Section section(all().lock);
  cache_for(cell, gtid)->slots[number] = mine;
  return mine;
}

// Of old compilers: the program has a copy itself. libomp returns a record of its own, which only it can read.
WEFT_OMP_API void* kmp_threadprivate_insert(int gtid, void* original, void* mine, size_t bytes) {
  return own_copy(thread_of(gtid), original, bytes, mine);
}
WEFT_OMP_API void kmp_threadprivate_insert_private_data(int, void* original, void*, size_t bytes) {
  const Section section(all().lock);
  known(original, bytes);
}
