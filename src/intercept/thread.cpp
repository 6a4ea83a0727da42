// thread.cpp: what means a thread by its pthread_t. One that is a lender's is a ULT's.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "identity/identity.hpp"
#include "intercept/next.hpp"
#include "intercept/to_itself.hpp"
#include "klt/klt.hpp"
#include "worker/identity.hpp"
#include "worker/unit_signal.hpp"

using namespace weft::rt;

namespace {

constinit Next<int(int) noexcept> next_raise{"raise"};
constinit Next<int(pthread_t, int) noexcept> next_kill{"pthread_kill"};
constinit Next<int(pthread_t, int, const sigval) noexcept> next_sigqueue{"pthread_sigqueue"};
constinit Next<int(pid_t, int) noexcept> next_kill_process{"kill"};
constinit Next<int(pid_t, int, const sigval) noexcept> next_sigqueue_process{"sigqueue"};
constinit Next<int(pthread_t)> next_cancel{"pthread_cancel"};
constinit Next<int(pthread_t) noexcept> next_detach{"pthread_detach"};
constinit Next<int(pthread_t, void**)> next_join{"pthread_join"};
constinit Next<int(pthread_t, void**) noexcept> next_tryjoin{"pthread_tryjoin_np"};
constinit Next<int(pthread_t, void**, const timespec*)> next_timedjoin{"pthread_timedjoin_np"};
constinit Next<int(pthread_t, void**, clockid_t, const timespec*)> next_clockjoin{"pthread_clockjoin_np"};
constinit Next<int(pthread_t, const char*) noexcept> next_setname{"pthread_setname_np"};
constinit Next<int(pthread_t, char*, size_t) noexcept> next_getname{"pthread_getname_np"};
constinit Next<void(void*)> next_exit{"pthread_exit"};

[[gnu::constructor]] void find_next() noexcept {
  next_raise.find();
  next_kill.find();
  next_sigqueue.find();
  next_kill_process.find();
  next_sigqueue_process.find();
  next_cancel.find();
  next_detach.find();
  next_join.find();
  next_tryjoin.find();
  next_timedjoin.find();
  next_clockjoin.find();
  next_setname.find();
  next_getname.find();
  next_exit.find();
}

// A ULT's, also of one that has been a thread of the program's.
bool is_ours(pthread_t thread) noexcept { return identity_of(thread) != nullptr; }

bool is_calling(pthread_t thread) noexcept { return pthread_equal(thread, pthread_self()) != 0; }

// As the C library sends it.
siginfo_t queued(int signal, const sigval value) noexcept {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value = value;
  return info;
}

// The main thread sends its own process one that it has open: the kernel gives it that, before the call returns, whatever other threads there
// are. Here it would take its lender, and that bring it later. False: it is none of these, and nothing is sent.
bool sent_at_once(pid_t process, const siginfo_t& info, int& result) noexcept {
  const int signal = info.si_signo;
  if (signal <= 0 || signal > SIGRTMAX || is_reserved(signal) || !klt_register_valid()) return false;
  const Identity* identity = identity_of(pthread_self());
  if (identity == nullptr || !identity->adopted || identity->tid != process || process != getpid()) return false;
  // On one KLT, and asked of the kernel: a handler may have blocked it. It comes as the mask of before comes back.
  const uint64_t before = change_mask_here(SIG_SETMASK, ~signal_bit(SIGSYS));
  const bool open = (before & signal_bit(signal)) == 0;
  const int error = open ? queue_to_calling_klt(signal, &info) : 0;
  change_mask_here(SIG_SETMASK, before);
  result = error == 0 ? 0 : -1;
  if (error != 0) errno = error;
  return open;
}

// As the C library does it for another thread than the calling one.
class NameFile {
 public:
  NameFile(const Identity& identity, int flags) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", identity.tid);
    fd_ = open(path, flags | O_CLOEXEC);
  }
  NameFile(const NameFile&) = delete;
  NameFile& operator=(const NameFile&) = delete;
  ~NameFile() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

constexpr size_t kKernelsName = 16;  // with its end

int adopted_set_name(const Identity& identity, const char* name) noexcept {
  const size_t length = std::strlen(name);
  if (length >= kKernelsName) return ERANGE;
  const NameFile file(identity, O_RDWR);
  return file.fd() >= 0 && write(file.fd(), name, length) == static_cast<ssize_t>(length) ? 0 : errno;
}

int adopted_get_name(const Identity& identity, char* name, size_t size) noexcept {
  if (size < kKernelsName) return ERANGE;
  const NameFile file(identity, O_RDONLY);
  const ssize_t length = file.fd() >= 0 ? read(file.fd(), name, size) : -1;  // ends with a newline
  if (length <= 0) return errno;
  name[length - 1] = '\0';
  return 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int raise(int signal) noexcept {
  return send_to_itself(signal, [&] { return next_raise.get()(signal); });
}

// The C library would take the number of the lender; to the calling thread only before glibc 2.34.
int pthread_kill(pthread_t thread, int signal) noexcept {
  Identity* identity = identity_of(thread);
  if (identity == nullptr || signal == 0) return next_kill.get()(thread, signal);
  if (is_reserved(signal)) return EINVAL;
  if (!is_calling(thread)) return unit_signal_send(*identity, signal);
  return send_to_itself(signal, [&] { return send_to_calling_klt(signal); });
}

int pthread_sigqueue(pthread_t thread, int signal, const sigval value) noexcept {
  Identity* identity = identity_of(thread);
  if (identity == nullptr) return next_sigqueue.get()(thread, signal, value);
  siginfo_t info = queued(signal, value);
  if (!is_calling(thread)) return unit_signal_queue(*identity, info);
  return send_to_itself(signal, [&] { return queue_to_calling_klt(signal, &info); });
}

int kill(pid_t process, int signal) noexcept {
  siginfo_t info = queued(signal, {});
  info.si_code = SI_USER;
  int result = 0;
  return sent_at_once(process, info, result) ? result : next_kill_process.get()(process, signal);
}

int sigqueue(pid_t process, int signal, const sigval value) noexcept {
  int result = 0;
  return sent_at_once(process, queued(signal, value), result) ? result : next_sigqueue_process.get()(process, signal, value);
}

int pthread_cancel(pthread_t thread) { return is_ours(thread) ? ENOTSUP : next_cancel.get()(thread); }

// "Not a joinable thread": Weft joins the lender, and weft_join() the ULT.
int pthread_detach(pthread_t thread) noexcept { return identity_is(thread) ? EINVAL : next_detach.get()(thread); }

int pthread_join(pthread_t thread, void** result) { return identity_is(thread) ? EINVAL : next_join.get()(thread, result); }

int pthread_tryjoin_np(pthread_t thread, void** result) noexcept {
  return identity_is(thread) ? EINVAL : next_tryjoin.get()(thread, result);
}

int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* deadline) {
  return identity_is(thread) ? EINVAL : next_timedjoin.get()(thread, result, deadline);
}

int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock, const timespec* deadline) {
  return identity_is(thread) ? EINVAL : next_clockjoin.get()(thread, result, clock, deadline);
}

// Of one that has become a ULT the thread has the name, as tools show it: to the C library the calling one would be the KLT's.
int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  if (identity_is(thread)) return is_calling(thread) ? identity_set_name(name) : ENOTSUP;
  const Identity* own = is_calling(thread) ? identity_of(thread) : nullptr;
  return own != nullptr ? adopted_set_name(*own, name) : next_setname.get()(thread, name);
}

int pthread_getname_np(pthread_t thread, char* name, size_t size) noexcept {
  if (identity_is(thread)) return is_calling(thread) ? identity_get_name(name, size) : ENOTSUP;
  const Identity* own = is_calling(thread) ? identity_of(thread) : nullptr;
  return own != nullptr ? adopted_get_name(*own, name, size) : next_getname.get()(thread, name, size);
}

// Not noexcept: the C library unwinds the thread's stack through here.
void pthread_exit(void* result) {
  if (klt_register_valid()) {
    static constexpr char kWhat[] =
        "weft: pthread_exit() was called in a ULT: it would end the kernel thread that runs it, and other ULTs with that. "
        "A ULT ends by weft_exit() (C++: weft::this_thread::exit()), main by its return.\n";
    if (write(STDERR_FILENO, kWhat, sizeof kWhat - 1) < 0) std::abort();
    std::abort();
  }
  next_exit.get()(result);
  __builtin_unreachable();
}

}  // extern "C"
#pragma GCC visibility pop
