#include "os/service_thread.hpp"

#include "os/signal_mask.hpp"
#include "os/thread_locals.hpp"

namespace weft::rt {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStackSize = 256 * 1024;  // beyond the thread-local variables

}  // namespace

int service_thread_start(pthread_t& thread, void* (*run)(void*), void* arg) noexcept {
  pthread_attr_t attr;
  if (const int error = pthread_attr_init(&attr); error != 0) return error;
  const size_t size = (kStackSize + thread_locals() + kPage - 1) & ~(kPage - 1);
  int error = pthread_attr_setstacksize(&attr, size);
  if (error == 0) {
    const SignalsBlocked scope;
    error = pthread_create(&thread, &attr, run, arg);
  }
  pthread_attr_destroy(&attr);
  return error;
}

}  // namespace weft::rt
