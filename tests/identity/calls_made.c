#include "identity/calls.h"

#include <sys/syscall.h>
#include <unistd.h>

static int make_kill(pthread_t thread, int signal) { return pthread_kill(thread, signal); }
static int make_queue(pthread_t thread, int signal, union sigval value) { return pthread_sigqueue(thread, signal, value); }
static int make_number(void) { return (int)syscall(SYS_gettid); }
static int make_send(int number, int signal) { return (int)syscall(SYS_tgkill, getpid(), number, signal); }
static int make_cancel(pthread_t thread) { return pthread_cancel(thread); }
static int make_detach(pthread_t thread) { return pthread_detach(thread); }
static int make_join(pthread_t thread, void** result) { return pthread_join(thread, result); }
static int make_tryjoin(pthread_t thread, void** result) { return pthread_tryjoin_np(thread, result); }
static int make_timedjoin(pthread_t thread, void** result, const struct timespec* deadline) {
  return pthread_timedjoin_np(thread, result, deadline);
}
static int make_clockjoin(pthread_t thread, void** result, clockid_t clock, const struct timespec* deadline) {
  return pthread_clockjoin_np(thread, result, clock, deadline);
}
static int make_setname(pthread_t thread, const char* name) { return pthread_setname_np(thread, name); }
static int make_getname(pthread_t thread, char* name, size_t size) { return pthread_getname_np(thread, name, size); }
static void make_exit(void* result) { pthread_exit(result); }
static int make_lock(pthread_mutex_t* mutex) { return pthread_mutex_lock(mutex); }
static int make_trylock(pthread_mutex_t* mutex) { return pthread_mutex_trylock(mutex); }
static int make_timedlock(pthread_mutex_t* mutex, const struct timespec* deadline) {
  return pthread_mutex_timedlock(mutex, deadline);
}
static int make_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* deadline) {
  return pthread_mutex_clocklock(mutex, clock, deadline);
}

__attribute__((visibility("default"))) const struct calls CALLS = {make_kill,      make_queue,     make_number,  make_send,    make_cancel,
                            make_detach,    make_join,      make_tryjoin, make_timedjoin, make_clockjoin,
                            make_setname,   make_getname,   make_exit,    make_lock,    make_trylock,
                            make_timedlock, make_clocklock};
