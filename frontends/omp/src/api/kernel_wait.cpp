// kernel_wait.cpp: calls that wait in the kernel, before the C library's, of which it does not restart one that a handler has interrupted. A
// tick of preemption is one: a program without any handler would be told EINTR by poll() or recv(), which many take for an error. What a
// tick has cut short goes on, until the time is over that it was to take; what a signal of the program's has ends as ever.
//
// They have no versions: see yield.cpp.
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "api/in_parts.hpp"
#include "api/next.hpp"
#include "export.hpp"
#include "front/front.hpp"
#include "os/clock.hpp"

namespace weft::omp {
namespace {

constexpr uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;

// When a call is to end that has been given a time from now on.
class Until {
 public:
  explicit Until(int milliseconds) noexcept {
    if (milliseconds == 0) end_ = 0;  // who looks again and again need not read the clock
    if (milliseconds > 0) end_ = rt::now_ns() + static_cast<uint64_t>(milliseconds) * kMillisecond;
  }
  explicit Until(const timespec* time) noexcept {
    const bool strange = time != nullptr && (time->tv_sec < 0 || time->tv_nsec < 0);  // the call says so
    if (time != nullptr && !strange && static_cast<uint64_t>(time->tv_sec) < INT64_MAX / kSecond / 2) {
      end_ = rt::now_ns() + static_cast<uint64_t>(time->tv_sec) * kSecond + static_cast<uint64_t>(time->tv_nsec);
    }
  }
  // Not a moment too early.
  int milliseconds_left() const noexcept {
    if (end_ == rt::kNever) return -1;
    return static_cast<int>(std::min<uint64_t>((left() + kMillisecond - 1) / kMillisecond, INT_MAX));
  }
  bool is_now() const noexcept { return end_ <= rt::now_ns(); }
  const timespec* left_in(timespec& place) const noexcept {
    if (end_ == rt::kNever) return nullptr;
    place = {static_cast<time_t>(left() / kSecond), static_cast<long>(left() % kSecond)};
    return &place;
  }

 private:
  uint64_t left() const noexcept {
    const uint64_t now = rt::now_ns();
    return end_ > now ? end_ - now : 0;
  }
  uint64_t end_ = rt::kNever;
};

// `again` goes on with what a tick has interrupted.
template <class First, class Again>
auto whole(First first, Again again) {
  front::CallMark mark = front::call_mark();
  auto result = first();
  while (mark.klt != nullptr && result == -1 && errno == EINTR) {
    const bool goes_on = front::call_cut_short(mark);
    errno = EINTR;
    if (!goes_on) break;
    result = again();
  }
  return result;
}

template <class Call>
auto whole(Call call) {
  return whole(call, call);
}

// Calls that wait for these.
class Awaited {
 public:
  explicit Awaited(const sigset_t* set) : before_(set != nullptr ? front::waiting_begins(*set) : 0), begun_(set != nullptr) {}
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;
  ~Awaited() {
    if (begun_) front::waiting_ends(before_);
  }

 private:
  const uint64_t before_;
  const bool begun_;
};

// A call with a signal mask of its own (null: none).
class MaskedWait {
 public:
  explicit MaskedWait(const sigset_t* mask) noexcept : mask_(mask) {
    if (mask == nullptr) return;
    without_ours_ = *mask;
    if (!front::masked_call_begins(call_, without_ours_)) return;
    begun_ = true;
    mask_ = &without_ours_;
  }
  MaskedWait(const MaskedWait&) = delete;
  MaskedWait& operator=(const MaskedWait&) = delete;
  ~MaskedWait() {
    if (begun_) front::masked_call_ends(call_);
  }

  // Ours may interrupt the calls, which are to be made by whole().
  bool begun() const noexcept { return begun_; }
  // They are given the mask.
  template <class First, class Again>
  auto whole(First first, Again again) {
    if (mask_ == nullptr) return omp::whole([&] { return first(nullptr); }, [&] { return again(nullptr); });
    auto result = first(mask_);
    while (begun_ && result == -1 && errno == EINTR) {
      const bool goes_on = front::masked_call_cut_short(call_, without_ours_);
      errno = EINTR;
      if (!goes_on) break;
      result = again(mask_);
    }
    return result;
  }

 private:
  const sigset_t* mask_;
  sigset_t without_ours_;
  front::MaskedCall call_;
  bool begun_ = false;
};

constinit Next<int(pollfd*, nfds_t, int)> next_poll{"poll"};
constinit Next<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> next_ppoll{"ppoll"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, timeval*)> next_select{"select"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> next_pselect{"pselect"};
constinit Next<int(int, epoll_event*, int, int)> next_epoll_wait{"epoll_wait"};
constinit Next<int(int, epoll_event*, int, int, const sigset_t*)> next_epoll_pwait{"epoll_pwait"};
constinit Next<int(int, epoll_event*, int, const timespec*, const sigset_t*)> next_epoll_pwait2{"epoll_pwait2"};
constinit Next<int(sem_t*, const timespec*)> next_sem_timedwait{"sem_timedwait"};
constinit Next<int(sem_t*, clockid_t, const timespec*)> next_sem_clockwait{"sem_clockwait"};
constinit Next<int(const sigset_t*, siginfo_t*, const timespec*)> next_sigtimedwait{"sigtimedwait"};
constinit Next<int(const sigset_t*, siginfo_t*)> next_sigwaitinfo{"sigwaitinfo"};
constinit Next<int(const sigset_t*)> next_sigsuspend{"sigsuspend"};
constinit Next<int()> next_pause{"pause"};
constinit Next<ssize_t(int, void*, size_t, int)> next_recv{"recv"};
constinit Next<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> next_recvfrom{"recvfrom"};
constinit Next<ssize_t(int, msghdr*, int)> next_recvmsg{"recvmsg"};
constinit Next<ssize_t(int, const void*, size_t, int)> next_send{"send"};
constinit Next<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> next_sendto{"sendto"};
constinit Next<ssize_t(int, const msghdr*, int)> next_sendmsg{"sendmsg"};
constinit Next<int(int, sockaddr*, socklen_t*)> next_accept{"accept"};
constinit Next<int(int, sockaddr*, socklen_t*, int)> next_accept4{"accept4"};
constinit Next<int(int, const sockaddr*, socklen_t)> next_connect{"connect"};
constinit Next<int(int, sembuf*, size_t)> next_semop{"semop"};
constinit Next<int(int, sembuf*, size_t, const timespec*)> next_semtimedop{"semtimedop"};
constinit Next<int(int, const void*, size_t, int)> next_msgsnd{"msgsnd"};
constinit Next<ssize_t(int, void*, size_t, long, int)> next_msgrcv{"msgrcv"};

[[gnu::constructor]] void find_next() {
  next_poll.get();
  next_ppoll.get();
  next_select.get();
  next_pselect.get();
  next_epoll_wait.get();
  next_epoll_pwait.get();
  next_epoll_pwait2.get();
  next_sem_timedwait.get();
  next_sem_clockwait.get();
  next_sigtimedwait.get();
  next_sigwaitinfo.get();
  next_sigsuspend.get();
  next_pause.get();
  next_recv.get();
  next_recvfrom.get();
  next_recvmsg.get();
  next_send.get();
  next_sendto.get();
  next_sendmsg.get();
  next_accept.get();
  next_accept4.get();
  next_connect.get();
  next_semop.get();
  next_semtimedop.get();
  next_msgsnd.get();
  next_msgrcv.get();
}

// The kernel restarts what has no time limit of the socket's (`option`). Else the rest of that is waited for, until there is something to
// receive or room to send (`events`), before the call is made again; a listening socket has something when somebody connects. A local one that
// connects says that it has room at once: there each call waits, and the limit is over in the second one at the latest. `over` tells so.
template <class Call>
auto within_limit(int fd, int option, short events, int over, Call call) {
  const uint64_t began = rt::now_ns();
  return whole(call, [&]() -> decltype(call()) {
    timeval limit{};
    socklen_t size = sizeof limit;
    if (getsockopt(fd, SOL_SOCKET, option, &limit, &size) != 0) return call();
    const uint64_t most = static_cast<uint64_t>(limit.tv_sec) * kSecond + static_cast<uint64_t>(limit.tv_usec) * 1000;
    if (most == 0) return call();
    const uint64_t spent = rt::now_ns() - began, left = most > spent ? most - spent : 0;
    pollfd ready{fd, events, 0};
    const timespec rest{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
    const int found = left != 0 ? next_ppoll.get()(&ready, 1, &rest, nullptr) : 0;
    if (found > 0) return call();
    if (found == 0) errno = over;
    return -1;
  });
}

template <class Call>
auto receive(int fd, Call call) {
  return within_limit(fd, SO_RCVTIMEO, POLLIN, EAGAIN, call);
}

template <class Call>
auto send_off(int fd, Call call, int over = EAGAIN) {
  return within_limit(fd, SO_SNDTIMEO, POLLOUT, over, call);
}

}  // namespace
}  // namespace weft::omp

using namespace weft::omp;

WEFT_OMP_API int poll(pollfd* files, nfds_t n, int milliseconds) {
  const Until until(milliseconds);
  return whole([&] { return next_poll.get()(files, n, milliseconds); },
               [&] { return next_poll.get()(files, n, until.milliseconds_left()); });
}

WEFT_OMP_API int ppoll(pollfd* files, nfds_t n, const timespec* time, const sigset_t* mask) {
  const Until until(time);
  timespec left;
  return MaskedWait(mask).whole([&](const sigset_t* with) { return next_ppoll.get()(files, n, time, with); },
                                [&](const sigset_t* with) { return next_ppoll.get()(files, n, until.left_in(left), with); });
}

// The kernel writes what is left into `time`, and nothing into the sets.
WEFT_OMP_API int select(int n, fd_set* in, fd_set* out, fd_set* other, timeval* time) {
  return whole([&] { return next_select.get()(n, in, out, other, time); });
}

WEFT_OMP_API int pselect(int n, fd_set* in, fd_set* out, fd_set* other, const timespec* time, const sigset_t* mask) {
  const Until until(time);
  timespec left;
  return MaskedWait(mask).whole(
      [&](const sigset_t* with) { return next_pselect.get()(n, in, out, other, time, with); },
      [&](const sigset_t* with) { return next_pselect.get()(n, in, out, other, until.left_in(left), with); });
}

namespace {

int wait_for_events(int set, epoll_event* events, int most, int milliseconds) {
  const Until until(milliseconds);
  return whole([&] { return next_epoll_wait.get()(set, events, most, milliseconds); },
               [&] { return next_epoll_wait.get()(set, events, most, until.milliseconds_left()); });
}

// The kernel fails it also for a signal that it then drops (preempt/timer.cpp), and begins ppoll() again. `time`: from now on.
int wait_for_events_by_poll(int set, epoll_event* events, int most, const timespec* time, const Until& until, MaskedWait& wait) {
  timespec left;
  for (;;) {
    const int found = next_epoll_wait.get()(set, events, most, 0);
    if (found != 0 || until.is_now()) return found;
    pollfd some{set, POLLIN, 0};
    const int ready = wait.whole([&](const sigset_t* with) { return next_ppoll.get()(&some, 1, time, with); },
                                 [&](const sigset_t* with) { return next_ppoll.get()(&some, 1, until.left_in(left), with); });
    if (ready <= 0) return ready;
    time = until.left_in(left);
  }
}

}  // namespace

WEFT_OMP_API int epoll_wait(int set, epoll_event* events, int most, int milliseconds) {
  return wait_for_events(set, events, most, milliseconds);
}

WEFT_OMP_API int epoll_pwait(int set, epoll_event* events, int most, int milliseconds, const sigset_t* mask) {
  if (mask == nullptr) return wait_for_events(set, events, most, milliseconds);
  const Until until(milliseconds);
  timespec left;
  MaskedWait wait(mask);
  if (!wait.begun()) return next_epoll_pwait.get()(set, events, most, milliseconds, mask);
  return wait_for_events_by_poll(set, events, most, until.left_in(left), until, wait);
}

WEFT_OMP_API int epoll_pwait2(int set, epoll_event* events, int most, const timespec* time, const sigset_t* mask) {
  const Until until(time);
  timespec left;
  if (mask == nullptr) {
    return whole([&] { return next_epoll_pwait2.get()(set, events, most, time, nullptr); },
                 [&] { return next_epoll_pwait2.get()(set, events, most, until.left_in(left), nullptr); });
  }
  MaskedWait wait(mask);
  if (!wait.begun()) return next_epoll_pwait2.get()(set, events, most, time, mask);
  return wait_for_events_by_poll(set, events, most, time, until, wait);
}

WEFT_OMP_API int sem_timedwait(sem_t* semaphore, const timespec* end) {
  return whole([&] { return next_sem_timedwait.get()(semaphore, end); });
}

WEFT_OMP_API int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* end) {
  return whole([&] { return next_sem_clockwait.get()(semaphore, clock, end); });
}

WEFT_OMP_API int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* time) {
  const Awaited awaited(set);
  const Until until(time);
  timespec left;
  return whole([&] { return next_sigtimedwait.get()(set, info, time); },
               [&] { return next_sigtimedwait.get()(set, info, until.left_in(left)); });
}

WEFT_OMP_API int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  const Awaited awaited(set);
  return whole([&] { return next_sigwaitinfo.get()(set, info); });
}

WEFT_OMP_API int sigsuspend(const sigset_t* mask) {
  const auto call = [&](const sigset_t* with) { return next_sigsuspend.get()(with); };
  return MaskedWait(mask).whole(call, call);
}

WEFT_OMP_API int pause() { return weft::front::handler_runs() ? next_pause.get()() : whole(next_pause.get()); }

WEFT_OMP_API ssize_t recv(int fd, void* to, size_t bytes, int flags) {
  return receive(fd, [&] { return next_recv.get()(fd, to, bytes, flags); });
}

WEFT_OMP_API ssize_t recvfrom(int fd, void* to, size_t bytes, int flags, sockaddr* from, socklen_t* size) {
  return receive(fd, [&] { return next_recvfrom.get()(fd, to, bytes, flags, from, size); });
}

WEFT_OMP_API ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return receive(fd, [&] { return next_recvmsg.get()(fd, message, flags); });
}

WEFT_OMP_API ssize_t send(int fd, const void* from, size_t bytes, int flags) {
  const InParts call(fd);
  const auto part = [&](const void* rest, size_t left) { return send_off(fd, [&] { return next_send.get()(fd, rest, left, flags); }); };
  const ssize_t done = part(from, bytes);
  return (flags & MSG_DONTWAIT) != 0 ? done : call.all(from, bytes, done, part);
}

WEFT_OMP_API ssize_t sendto(int fd, const void* from, size_t bytes, int flags, const sockaddr* to, socklen_t size) {
  return send_off(fd, [&] { return next_sendto.get()(fd, from, bytes, flags, to, size); });
}

WEFT_OMP_API ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return send_off(fd, [&] { return next_sendmsg.get()(fd, message, flags); });
}

WEFT_OMP_API int accept(int fd, sockaddr* from, socklen_t* size) {
  return receive(fd, [&] { return next_accept.get()(fd, from, size); });
}

WEFT_OMP_API int accept4(int fd, sockaddr* from, socklen_t* size, int flags) {
  return receive(fd, [&] { return next_accept4.get()(fd, from, size, flags); });
}

// Called again, it goes on waiting for the same connection.
WEFT_OMP_API int connect(int fd, const sockaddr* to, socklen_t size) {
  const bool local = to != nullptr && size >= sizeof(sa_family_t) && to->sa_family == AF_UNIX;
  return send_off(fd, [&] { return next_connect.get()(fd, to, size); }, local ? EAGAIN : EINPROGRESS);
}

// Of the four calls of System V none has done anything when it ends with EINTR.
WEFT_OMP_API int semop(int set, sembuf* operations, size_t n) {
  return whole([&] { return next_semop.get()(set, operations, n); });
}

WEFT_OMP_API int semtimedop(int set, sembuf* operations, size_t n, const timespec* time) {
  const Until until(time);
  timespec left;
  return whole([&] { return next_semtimedop.get()(set, operations, n, time); },
               [&] { return next_semtimedop.get()(set, operations, n, until.left_in(left)); });
}

WEFT_OMP_API int msgsnd(int queue, const void* message, size_t bytes, int flags) {
  return whole([&] { return next_msgsnd.get()(queue, message, bytes, flags); });
}

WEFT_OMP_API ssize_t msgrcv(int queue, void* message, size_t bytes, long type, int flags) {
  return whole([&] { return next_msgrcv.get()(queue, message, bytes, type, flags); });
}
