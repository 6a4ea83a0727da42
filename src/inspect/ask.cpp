// ask.cpp: one question at a time.
//
//   asker                                        asked, in the handler
//   question = n, Asked; send (signal, n)
//   wait while Asked, no longer than kPatience   n is the question and Asked: -> Answering (else: too late)
//                                                registers = those that were interrupted; -> Answered
//   no answer: Asked -> None, or it has just
//   come: wait for Answered
//   ... look at its stack ...
//   Answered -> None                             wait while Answered
//
// The signal is a real-time one that nobody uses, chosen at the first question: so a program of which no
// backtrace is ever wanted keeps all of its signals. Its handler stays as long as an answer may still come.
#include "inspect/ask.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "klt/own_signal.hpp"
#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/realtime_signal.hpp"
#include "sanitizer_switch.hpp"

namespace weft::rt {
namespace {

constexpr uint64_t kPatienceNs = 200'000'000;

enum State : uint32_t { kIdle, kAsked, kAnswering, kAnswered };

// The question's number above, its state in the two lowest bits.
FutexWord word{0};
constexpr uint32_t kStateBits = 3;
uint32_t with(uint32_t number, State state) noexcept { return number << 2 | state; }

uint32_t number_now = 0;   // the asker's
int signal_now = 0;        // 0: none chosen
bool owed = false;         // an answer may still come, at any time
Registers answered;        // the asked one's while Answering, then the asker's

void answer(int, siginfo_t* info, void* context) noexcept {
  const int error = errno;
  const auto number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(info->si_value.sival_ptr));
  uint32_t expected = with(number, kAsked);
  // Acquire, pairs with the release of the question.
  if (info->si_code == SI_QUEUE && info->si_pid == getpid() &&
      word.compare_exchange_strong(expected, with(number, kAnswering), std::memory_order_acquire)) {
    answered = san::kSignalsComeLate ? registers_here() : registers_of(*static_cast<ucontext_t*>(context));
    // Release, pairs with the acquire in ask_registers().
    word.store(with(number, kAnswered), std::memory_order_release);
    futex_wake(word, 1);
    while (word.load(std::memory_order_acquire) == with(number, kAnswered)) {
      futex_wait(word, with(number, kAnswered));
    }
  }
  errno = error;
}

bool is_ours(int signal) noexcept {
  struct sigaction now;
  return signal != 0 && signal_action(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == answer;
}

// The program may have taken it since the last time.
bool have_signal() noexcept {
  if (is_ours(signal_now)) return true;
  struct sigaction ours{};
  ours.sa_sigaction = answer;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&ours.sa_mask);
  // Nor one that ticks or returns will have: their handlers block it.
  const int found = realtime_signal_find(SIGRTMAX - 1, own_signals_mask(), own_signals_awaited());
  if (found == 0 || sigaction(found, &ours, nullptr) != 0) return false;
  signal_now = found;
  return true;
}

bool send(int tid, uint32_t number) noexcept {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = reinterpret_cast<void*>(uintptr_t{number});
  return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, signal_now, &info) == 0;
}

// True: it has answered. False: it has not begun to, and will not any more.
bool wait_for_answer(uint32_t number) noexcept {
  const uint64_t end = now_ns() + kPatienceNs;
  for (;;) {
    // Acquire, pairs with the release in answer(): the registers are written.
    uint32_t seen = word.load(std::memory_order_acquire);
    if (seen == with(number, kAnswered)) return true;
    const uint64_t now = now_ns();
    if (now < end) {
      futex_wait_for(word, seen, end - now);
    } else if (seen == with(number, kAsked)) {
      if (word.compare_exchange_strong(seen, with(number, kIdle), std::memory_order_relaxed)) return false;
    } else {
      futex_wait_for(word, seen, kPatienceNs);  // Answering: it has a few instructions to go
    }
  }
}

}  // namespace

Answer ask_registers(int tid, Registers& registers) noexcept {
  if (!have_signal()) return Answer::kNoSignal;
  const uint32_t number = ++number_now & (UINT32_MAX >> 2);
  word.store(with(number, kAsked), std::memory_order_release);
  if (!send(tid, number)) {
    word.store(with(number, kIdle), std::memory_order_relaxed);
    return Answer::kGone;
  }
  if (!wait_for_answer(number)) {
    owed = true;
    return Answer::kNone;
  }
  registers = answered;
  return Answer::kGiven;
}

void ask_release() noexcept {
  // Release: what we read of its stack was read before it goes on.
  word.store(word.load(std::memory_order_relaxed) & ~kStateBits, std::memory_order_release);
  futex_wake(word, 1);
}

void ask_stop() noexcept {
  if (owed || !is_ours(signal_now)) return;
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  sigaction(signal_now, &standard, nullptr);
  signal_now = 0;
}

// "NUMBER ARGUMENT … SP IP", "-1 SP IP" (not in a system call: a page fault), or "running".
bool registers_of_sleeper(int tid, Registers& registers) noexcept {
  char path[64], text[256];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  if (bytes <= 0) return false;
  text[bytes] = '\0';
  const char* ip = std::strrchr(text, ' ');
  if (ip == nullptr || text[0] == 'r') return false;
  const char* sp = ip;
  while (sp > text && sp[-1] != ' ') --sp;
  registers = {};
  registers.set(Registers::kIp, std::strtoull(ip, nullptr, 16));
  registers.set(Registers::kSp, std::strtoull(sp, nullptr, 16));
  return true;
}

void ask_forget() noexcept {
  word.store(with(number_now, kIdle), std::memory_order_relaxed);
  owed = false;
}

}  // namespace weft::rt
