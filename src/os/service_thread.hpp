// service_thread.hpp: a thread of the runtime's own, which carries no worker.
#pragma once

#include <pthread.h>

namespace weft::rt {

// It takes no signal but SIGSYS, and has a stack as small as such a thread needs, whatever `ulimit -s` says: address space may be limited, too.
// Returns 0, or the error of pthread_create().
int service_thread_start(pthread_t& thread, void* (*run)(void*), void* arg) noexcept;

}  // namespace weft::rt
