// number.cpp: the kernel's number of a thread. A ULT with an identity of its own has its lender's, wherever it runs: one that no other thread has,
// and that stays; the main thread's is the process's. What is sent by it is the ULT's, as by its pthread_t (thread.cpp); of a thread that has become
// a ULT the lender passes on what comes.
//
// What the kernel is to send by the number of the ULT that asks for it, at some time, comes to the kernel thread which has that ULT now: a lender
// that has never been a thread of the program's takes no signals. What the kernel does with a thread else, by its number, is done to the lender:
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
#include "os/kernel_tid.hpp"
#include "worker/unit_signal.hpp"

using namespace weft::rt;

#if !defined(__x86_64__)
#error "weft: no functions with a variable number of arguments for this ISA yet: add them to src/intercept/number.cpp"
#endif

namespace {

using TimerCreate = int(clockid_t, sigevent*, timer_t*) noexcept;
constinit Next<TimerCreate> next_timer_create{"timer_create"};
constinit Next<long(long, ...) noexcept> next_syscall{"syscall"};
constinit Next<int(int, int, ...)> next_fcntl{"fcntl"}, next_fcntl64{"fcntl64"};

// glibc before 2.34 has it in a library of its own, which whoever calls it has loaded, maybe for itself alone.
TimerCreate* timer_create_behind() noexcept {
  if (TimerCreate* known = next_timer_create.known()) return known;
  void* library = dlopen("librt.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? reinterpret_cast<TimerCreate*>(dlsym(library, "timer_create")) : next_timer_create.get();
}

long process_here() noexcept { return system_call(SYS_getpid, 0, 0, 0, 0); }

// Null: the caller has none. Not in a child that the program has made by a system call of its own, and that has all of its memory.
const Identity* own_identity() noexcept {
  const Identity* identity = identity_of(pthread_self());
  return identity != nullptr && identity->process == process_here() ? identity : nullptr;
}

int number_here() noexcept {
  const Identity* identity = own_identity();
  return identity != nullptr ? identity->tid : kernel_tid();
}

bool is_own(int number) noexcept {
  const Identity* identity = own_identity();
  return identity != nullptr && identity->tid == number;
}

// To which the kernel is to send.
int number_that_takes(int number) noexcept {
  const Identity* identity = own_identity();
  return identity != nullptr && identity->tid == number && !identity->adopted ? kernel_tid() : number;
}

long answer(long result) noexcept {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// `straight`: by the kernel. `to_itself` and `to_other`: 0 or an error.
template <class Straight, class Itself, class Other>
long send(long process, int number, int signal, Straight straight, Itself to_itself, Other to_other) noexcept {
  if (signal < 0 || signal > SIGRTMAX || is_reserved(signal) || process != process_here()) return answer(straight());
  if (is_own(number)) return answer(signal != 0 ? -to_itself() : 0);
  if (!number_may_be_owned(number)) return answer(straight());
  long result = 0;
  {
    const NumberOwner owner(number);
    Identity* to = owner.get();
    if (to == nullptr) {
      result = straight();
    } else if (to->unit.load(std::memory_order_acquire) == nullptr) {
      result = -ESRCH;  // nobody's now
    } else if (signal != 0) {
      result = -to_other(*to);
    }
  }
  return answer(result);
}

long kill_thread(long process, int number, int signal) noexcept {
  return send(
      process, number, signal, [&] { return system_call(SYS_tgkill, process, number, signal, 0); },
      [&] { return send_to_itself(signal, [&] { return send_to_calling_klt(signal); }); },
      [&](Identity& to) { return unit_signal_send(to, signal); });
}

long queue_to_thread(long process, int number, int signal, const siginfo_t* info) noexcept {
  const auto straight = [&] { return system_call(SYS_rt_tgsigqueueinfo, process, number, signal, reinterpret_cast<long>(info)); };
  if (info == nullptr) return answer(straight());
  siginfo_t with = *info;
  with.si_signo = signal;
  return send(
      process, number, signal, straight, [&] { return send_to_itself(signal, [&] { return queue_to_calling_klt(with); }); },
      [&](Identity& to) { return unit_signal_queue(to, with); });
}

// `create` with where the kernel is to send what is said there.
template <class Create>
auto create_timer(sigevent* event, Create create) noexcept {
  if (event == nullptr || event->sigev_notify != SIGEV_THREAD_ID) return create(event);
  sigevent directed = *event;
#ifdef sigev_notify_thread_id
  directed.sigev_notify_thread_id = number_that_takes(event->sigev_notify_thread_id);
#else
  directed._sigev_un._tid = number_that_takes(event->_sigev_un._tid);
#endif
  return create(&directed);
}

// Before the library's constructors have run, in those of others: allocators' among them, under which no function can be looked up.
long call_kernel(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long fifth asm("r8") = e;
  register long sixth asm("r9") = f;
  register long fourth asm("r10") = d;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return answer(result);
}
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
    case SYS_tkill: return kill_thread(process_here(), static_cast<int>(a), static_cast<int>(b));
    case SYS_tgkill: return kill_thread(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c));
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
  f_owner_ex takes{};
  const bool thread = owner != nullptr && owner->type == F_OWNER_TID;
  if (thread) takes = {F_OWNER_TID, number_that_takes(owner->pid)};
  return static_cast<int>(answer(system_call(SYS_fcntl, file, command, reinterpret_cast<long>(thread ? &takes : owner), 0)));
}

[[gnu::constructor]] static void find_next() noexcept {
  next_timer_create.find();
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
int tgkill(pid_t process, pid_t number, int signal) { return static_cast<int>(kill_thread(process, number, signal)); }

int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  return create_timer(event, [&](sigevent* directed) { return timer_create_behind()(clock, directed, timer); });
}
#pragma GCC visibility pop

}  // extern "C"
