// number.cpp: the kernel's number of a thread. A ULT with an identity of its own has its lender's, wherever it runs: one that no other thread has,
// and that stays; the main thread's is the process's. What is sent by it is the ULT's, as by its pthread_t (thread.cpp).
//
// What the kernel is to send by it, at some time, comes to the kernel thread which has that ULT now: a lender that has never been a thread of the
// program's takes no signals. That of one that has become a ULT passes them on. What the kernel does with a thread else, by its number, is done to the lender:
// the time that it has used, its place in the kernel's scheduling. (To the kernel thread it would be done for whatever runs there next.)
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/system_call.hpp"
#include "identity/number.hpp"
#include "intercept/next.hpp"
#include "intercept/to_itself.hpp"
#include "klt/klt.hpp"
#include "os/kernel_tid.hpp"
#include "os/peek.hpp"
#include "os/signal_mask.hpp"
#include "worker/lender_signal.hpp"
#include "worker/unit_signal.hpp"

using namespace weft::rt;

#if !defined(__x86_64__)
#error "weft: no functions with a variable number of arguments for this ISA yet: add them to src/intercept/number.cpp"
#endif

namespace {

constinit Next<long(long, ...) noexcept> next_syscall{"syscall"};
constinit Next<int(int, int, ...)> next_fcntl{"fcntl"}, next_fcntl64{"fcntl64"};

// glibc before 2.34 has these in a library of its own, which whoever calls one has loaded, maybe for itself alone.
template <class Function>
class NextOfTimers {
 public:
  constexpr explicit NextOfTimers(const char* name) noexcept : name_(name), next_(name) {}
  void find() noexcept { next_.find(); }
  Function* get() noexcept {
    if (Function* known = next_.known()) return known;
    void* library = dlopen("librt.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return library != nullptr ? reinterpret_cast<Function*>(dlsym(library, name_)) : next_.get();
  }

 private:
  const char* name_;
  Next<Function> next_;
};
constinit NextOfTimers<int(clockid_t, sigevent*, timer_t*) noexcept> next_timer_create{"timer_create"};
// All of them: who asks for no version gets these of one and timer_create() of another one else, which number timers otherwise.
constinit NextOfTimers<int(timer_t) noexcept> next_timer_delete{"timer_delete"}, next_timer_getoverrun{"timer_getoverrun"};
constinit NextOfTimers<int(timer_t, int, const itimerspec*, itimerspec*) noexcept> next_timer_settime{"timer_settime"};
constinit NextOfTimers<int(timer_t, itimerspec*) noexcept> next_timer_gettime{"timer_gettime"};

long process_here() noexcept { return system_call(SYS_getpid, 0, 0, 0, 0); }

// It runs on this kernel thread; also where the lender runs in its place. Not in a child that the program has made by a system call of its own, and that
// has all of this memory.
bool is_here(const Identity& identity) noexcept {
  constexpr unsigned kMostMoves = 8;  // it may go on elsewhere in between
  for (unsigned moves = 0; moves < kMostMoves; ++moves) {
    const int here = kernel_tid();
    if (here == identity.tid || (klt_register_valid() && here == klt_self()->tid.load(std::memory_order_relaxed))) return true;
  }
  return false;
}

// Null: the caller has none.
Identity* own_identity() noexcept {
  Identity* identity = identity_of(pthread_self());
  return identity != nullptr && is_here(*identity) ? identity : nullptr;
}

int number_here() noexcept {
  const Identity* identity = own_identity();
  return identity != nullptr ? identity->tid : kernel_tid();
}

bool is_own(int number) noexcept {
  const Identity* identity = own_identity();
  return identity != nullptr && identity->tid == number;
}

// A file's: SIGIO, or what F_SETSIG says.
constexpr uint64_t kOfFiles = signal_bit(SIGIO) | ~uint64_t{0} << (kFirstThatQueues - 1);

// To which the kernel is to send these.
int number_that_takes(int number, uint64_t signals) noexcept {
  const auto direct = [&](Identity& to) {
    to.directed.fetch_or(signals, std::memory_order_seq_cst);
    return number;
  };
  if (Identity* own = own_identity(); own != nullptr && own->tid == number) return own->adopted ? direct(*own) : kernel_tid();
  if (!number_may_be_owned(number, process_here())) return number;
  const NumberOwner owner(number);
  Identity* to = owner.get();
  if (to == nullptr) return number;
  if (to->adopted) return direct(*to);
  const Klt* klt = to->on.load(std::memory_order_acquire);
  return klt != nullptr ? klt->tid.load(std::memory_order_relaxed) : kernel_tid();
}

long answer(long result) noexcept {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// `straight`: by the kernel. `to_itself` and `to_other`: 0 or an error.
template <class Straight, class Itself, class Other>
long try_send(long process, int number, int signal, Straight straight, Itself to_itself, Other to_other) noexcept {
  if (signal < 0 || signal > SIGRTMAX || is_reserved(signal) || process != process_here()) return straight();
  if (is_own(number)) return signal != 0 ? -to_itself() : 0;
  if (!number_may_be_owned(number, process)) return straight();
  const NumberOwner owner(number);
  Identity* to = owner.get();
  if (to == nullptr) return straight();
  if (to->unit.load(std::memory_order_acquire) == nullptr) return -ESRCH;  // nobody's now
  return signal != 0 ? -to_other(*to) : 0;
}

template <class Straight, class Itself, class Other>
long send(long process, int number, int signal, Straight straight, Itself to_itself, Other to_other) noexcept {
  const int before = errno;
  const long result = try_send(process, number, signal, straight, to_itself, to_other);
  errno = before;
  return answer(result);
}

int kill_other(Identity& to, int signal) noexcept {
  if (!to.adopted && signal < kFirstThatQueues) return unit_signal_send(to, signal);
  return unit_signal_queue_plain(to, signal);
}

template <class Straight>
long kill_thread(long process, int number, int signal, Straight straight) noexcept {
  return send(
      process, number, signal, straight, [&] { return send_to_itself(signal, [&] { return send_to_calling_klt(signal); }); },
      [&](Identity& to) { return kill_other(to, signal); });
}
long tgkill_thread(int process, int number, int signal) noexcept {
  return kill_thread(process, number, signal, [&] { return system_call(SYS_tgkill, process, number, signal, 0); });
}
long tkill_thread(int number, int signal) noexcept {
  return kill_thread(process_here(), number, signal, [&] { return system_call(SYS_tkill, number, signal, 0, 0); });
}

long queue_to_thread(long process, int number, int signal, const siginfo_t* info) noexcept {
  return send(
      process, number, signal,
      [&] { return system_call(SYS_rt_tgsigqueueinfo, process, number, signal, reinterpret_cast<long>(info)); },
      [&] { return send_to_itself(signal, [&] { return queue_to_calling_klt(signal, info); }); },
      [&](Identity& to) {
        const Peek<siginfo_t> given(info);
        if (!given) return EFAULT;
        siginfo_t copy = *given.get();
        copy.si_signo = signal;
        return unit_signal_queue(to, copy);
      });
}

// `create` with where the kernel is to send what is said there.
template <class Create>
auto create_timer(sigevent* event, Create create) noexcept {
  const int before = errno;
  const Peek<sigevent> given(event);
  errno = before;
  if (!given || given->sigev_notify != SIGEV_THREAD_ID) return create(event);
  sigevent directed = *given.get();
  const bool there_is_one = given->sigev_signo > 0 && given->sigev_signo <= SIGRTMAX;
  const uint64_t signal = there_is_one ? signal_bit(given->sigev_signo) : 0;
#ifdef sigev_notify_thread_id
  directed.sigev_notify_thread_id = number_that_takes(given->sigev_notify_thread_id, signal);
#else
  directed._sigev_un._tid = number_that_takes(given->_sigev_un._tid, signal);
#endif
  return create(&directed);
}

// Before the library's constructors have run, in those of others: allocators' among them, under which no function can be looked up.
long call_kernel(long number, long a, long b, long c, long d, long e, long f) noexcept { return answer(system_call(number, a, b, c, d, e, f)); }
long call_kernels_fcntl(int file, int command, long argument) noexcept { return call_kernel(SYS_fcntl, file, command, argument, 0, 0, 0); }

}  // namespace

// ---- what has a variable number of arguments: goes on to the next function as it has come

extern "C" {
#pragma GCC visibility push(hidden)
// Registers and stack as they are.
extern void* weft_rt_next_syscall;
extern void* weft_rt_next_fcntl;
extern void* weft_rt_next_fcntl64;
void* weft_rt_next_syscall = reinterpret_cast<void*>(call_kernel);
void* weft_rt_next_fcntl = reinterpret_cast<void*>(call_kernels_fcntl);
void* weft_rt_next_fcntl64 = reinterpret_cast<void*>(call_kernels_fcntl);

long weft_rt_syscall(long number, long a, long b, long c, long d) noexcept {
  switch (number) {
    case SYS_gettid: return number_here();
    case SYS_tkill: return tkill_thread(static_cast<int>(a), static_cast<int>(b));
    case SYS_tgkill: return tgkill_thread(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c));
    case SYS_rt_tgsigqueueinfo:
      return queue_to_thread(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c), reinterpret_cast<const siginfo_t*>(d));
    case SYS_timer_create:
      return create_timer(reinterpret_cast<sigevent*>(b), [&](sigevent* event) {
        return answer(system_call(SYS_timer_create, a, reinterpret_cast<long>(event), c, 0));
      });
    default: __builtin_unreachable();
  }
}

int weft_rt_set_owner(int file, int command, const f_owner_ex* owner) noexcept {
  const int before = errno;
  const Peek<f_owner_ex> given(owner);
  errno = before;
  f_owner_ex takes{};
  const bool thread = given && given->type == F_OWNER_TID;
  if (thread) takes = {F_OWNER_TID, number_that_takes(given->pid, kOfFiles)};
  return static_cast<int>(answer(system_call(SYS_fcntl, file, command, reinterpret_cast<long>(thread ? &takes : owner), 0)));
}

[[gnu::constructor]] static void find_next() noexcept {
  next_timer_create.find();
  next_timer_delete.find();
  next_timer_getoverrun.find();
  next_timer_settime.find();
  next_timer_gettime.find();
  const auto have = [](auto& next, void*& at) {
    next.find();
    if (next.known() != nullptr) at = reinterpret_cast<void*>(next.known());
  };
  have(next_syscall, weft_rt_next_syscall);
  have(next_fcntl, weft_rt_next_fcntl);
  have(next_fcntl64, weft_rt_next_fcntl64);
}
#pragma GCC visibility pop

#define WEFT_TEXT_OF(x) #x
#define WEFT_TEXT(x) WEFT_TEXT_OF(x)
#define WEFT_CALL_IS(number) "cmpq $" WEFT_TEXT(number) ", %rdi\n\tje 1f\n\t"
#define WEFT_FCNTL(next) \
  asm("cmpl $" WEFT_TEXT(F_SETOWN_EX) ", %esi\n\tje 1f\n\tjmp *" #next "(%rip)\n1:\tjmp weft_rt_set_owner")

#pragma GCC visibility push(default)
__attribute__((naked)) long syscall(long, ...) noexcept {
  asm(WEFT_CALL_IS(SYS_gettid) WEFT_CALL_IS(SYS_tkill) WEFT_CALL_IS(SYS_tgkill) WEFT_CALL_IS(SYS_rt_tgsigqueueinfo)
          WEFT_CALL_IS(SYS_timer_create) "jmp *weft_rt_next_syscall(%rip)\n1:\tjmp weft_rt_syscall");
}
__attribute__((naked)) int fcntl(int, int, ...) { WEFT_FCNTL(weft_rt_next_fcntl); }
int fcntl64(int, int, ...);  // glibc before 2.28 has none
__attribute__((naked)) int fcntl64(int, int, ...) { WEFT_FCNTL(weft_rt_next_fcntl64); }

pid_t gettid() noexcept { return number_here(); }
int tgkill(pid_t process, pid_t number, int signal) { return static_cast<int>(tgkill_thread(process, number, signal)); }

int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  return create_timer(event, [&](sigevent* directed) { return next_timer_create.get()(clock, directed, timer); });
}
// What it has sent before has been handled: interval_timer.cpp.
int timer_delete(timer_t timer) noexcept {
  const int error = next_timer_delete.get()(timer);
  if (error == 0) lender_catch_up_here();
  return error;
}
int timer_getoverrun(timer_t timer) noexcept { return next_timer_getoverrun.get()(timer); }
int timer_settime(timer_t timer, int flags, const itimerspec* next, itimerspec* was) noexcept {
  const int error = next_timer_settime.get()(timer, flags, next, was);
  if (error == 0 && next->it_value.tv_sec == 0 && next->it_value.tv_nsec == 0) lender_catch_up_here();
  return error;
}
int timer_gettime(timer_t timer, itimerspec* now) noexcept { return next_timer_gettime.get()(timer, now); }
#pragma GCC visibility pop

}  // extern "C"
