// The runtime is started and ended a thousand times: nothing is left, no thread, file, mapping or memory.
#include <dirent.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <weft/weft.hpp>

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kTimes = 100;
#else
constexpr int kTimes = 1000;
#endif
constexpr int kUnits = 20;
constexpr int kFreed = 18;  // the others go with the runtime

long entries(const char* folder) {
  long n = 0;
  DIR* dir = opendir(folder);
  if (dir == nullptr) return -1;
  while (readdir(dir) != nullptr) ++n;
  closedir(dir);
  return n;
}

// In KiB, of all mappings that are not the kernel's own.
long address_space() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == "VmSize:" && status >> kib) return kib;
  }
  return -1;
}

struct Held {
  long threads = entries("/proc/self/task");
  long files = entries("/proc/self/fd");
  long allocated = static_cast<long>(mallinfo2().uordblks);
  long mapped = address_space();
};

// Of everything that is given back at the end.
bool once() {
  weft_options_t options{};
  options.workers = 3;
  if (weft_initialize(&options) != WEFT_OK) return false;
  weft_key_t key = nullptr;
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
  bool good = weft_key_create(nullptr, &key) == WEFT_OK &&
              weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool) == WEFT_OK &&
              weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched) == WEFT_OK &&
              weft_worker_create(sched, &worker) == WEFT_OK;
  weft_unit_t units[kUnits] = {};
  for (int i = 0; i < kUnits && good; ++i) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    if (i % 2 == 0) attr.pool = pool;
    if (i % 3 == 0) attr.stack_size = size_t{64} << 10;
    if (i % 9 == 0) attr.technique = WEFT_TECHNIQUE_SS;
    good = weft_ult_create([](void* key) {
      static int value;
      weft_key_set(static_cast<weft_key_t>(key), &value);
      weft_yield();
      weft_sleep(1000);
    }, key, &attr, &units[i]) == WEFT_OK;
  }
  good = good && weft_free_many(kFreed, units) == WEFT_OK &&
         weft_join_many(kUnits - kFreed, units + kFreed) == WEFT_OK;
  return good && weft_worker_free(&worker) == WEFT_OK && weft_sched_free(&sched) == WEFT_OK &&
         weft_pool_free(&pool) == WEFT_OK && weft_key_free(&key) == WEFT_OK && weft_finalize() == WEFT_OK;
}

int compare(const char* what, long before, long after, long margin) {
  if (after <= before + margin) return 0;
  std::fprintf(stderr, "process_again: %s: %ld before, %ld after %d times\n", what, before, after, kTimes);
  return 1;
}

bool again(int times) {
  for (int i = 0; i < times; ++i) {
    bool good = false;
    if (i % 2 == 0) {
      good = once();
    } else {
      std::thread([&] { good = once(); }).join();  // any thread may be the initial one
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace

int main() {
  mallopt(M_ARENA_MAX, 2);  // it may map another one at any time
  if (!again(20)) return 2;
  const Held before;
  if (!again(kTimes)) return 2;
  const Held after;
  // The C library keeps some stacks of threads that have ended, but not one each time.
  return compare("threads", before.threads, after.threads, 0) + compare("files", before.files, after.files, 0) +
         compare("allocated bytes", before.allocated, after.allocated, 32 << 10) +
         compare("mapped KiB", before.mapped, after.mapped, 24 << 10);
}
