// affinity.cpp: pthread_setaffinity_np() of a runtime that nobody uses.
//
// Wheels bring a libgomp of their own under a name of its own, and it is loaded, though all find another runtime's functions before its
// own. Where OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY says so, its constructor binds the thread that loads it, which is the main thread,
// before that other runtime has asked the kernel for the machine: it would see a single CPU. So that call does nothing.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>

#include <cstring>

#include "inspect/loaded.hpp"
#include "intercept/next.hpp"

namespace {

constinit weft::rt::Next<int(pthread_t, size_t, const cpu_set_t*) noexcept> next_setaffinity{"pthread_setaffinity_np"};

[[gnu::constructor]] void find_next() noexcept { next_setaffinity.find(); }

bool is_libgomp(const link_map& object) noexcept {
  constexpr char kName[] = "libgomp";
  const char* slash = std::strrchr(object.l_name, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : object.l_name, kName, sizeof kName - 1) == 0;
}

bool nobody_uses(const void* code) noexcept {
  const link_map* object = weft::rt::loaded_object(code);
  if (object == nullptr || !is_libgomp(*object)) return false;
  const void* found = dlsym(RTLD_DEFAULT, "GOMP_parallel");
  return found != nullptr && weft::rt::loaded_object(found) != object;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t* cpus) noexcept {
  return nobody_uses(__builtin_return_address(0)) ? 0 : next_setaffinity.get()(thread, size, cpus);
}
#pragma GCC visibility pop
