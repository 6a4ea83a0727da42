// signal_wait.cpp: sigwait() and its kin by a ULT, and sigpending(). What it has blocked and has been sent by its pthread_t, or the number of its
// thread, while it was on no KLT, or has since left the one where it came, is pending at its lender.
#include <pthread.h>
#include <signal.h>

#include <cerrno>

#include "identity/identity.hpp"
#include "intercept/next.hpp"
#include "klt/klt.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/proc_file.hpp"
#include "os/signal_mask.hpp"
#include "worker/lender_signal.hpp"

using namespace weft::rt;

namespace {

constinit Next<int(const sigset_t*, int*)> next_sigwait{"sigwait"};
constinit Next<int(const sigset_t*, siginfo_t*)> next_sigwaitinfo{"sigwaitinfo"};
constinit Next<int(const sigset_t*, siginfo_t*, const timespec*)> next_sigtimedwait{"sigtimedwait"};
constinit Next<int(sigset_t*) noexcept> next_sigpending{"sigpending"};

[[gnu::constructor]] void find_next() noexcept {
  next_sigwait.find();
  next_sigwaitinfo.find();
  next_sigtimedwait.find();
  next_sigpending.find();
}

Identity* identity_of_caller() noexcept { return klt_register_valid() ? identity_of(pthread_self()) : nullptr; }

// Of these, what is pending at its lender. What the kernel has sent there nobody has noted; and what the ULT has open the lender takes, as it takes ours.
uint64_t pending_at_lender(Identity& identity, uint64_t set) noexcept {
  const uint64_t stays = kProcessSignals & identity.mask.load(std::memory_order_relaxed) & ~own_signals_mask();
  const uint64_t directed = identity.directed.load(std::memory_order_relaxed) & set & stays;
  if (__builtin_expect(directed != 0, 0)) {
    identity.sent.fetch_or(pending_of(identity.tid) & directed, std::memory_order_seq_cst);
  }
  return identity.sent.load(std::memory_order_acquire) & set;
}

void ask_lender(const sigset_t* set) noexcept {
  Identity* identity = identity_of_caller();
  if (identity == nullptr || set == nullptr) return;
  const uint64_t asked = pending_at_lender(*identity, kernel_set(*set));
  if (__builtin_expect(asked != 0, 0) && !klt_is_inside_here()) lender_give_back(*identity, asked);
}

// Round such a call. What its lender has comes first; what that is sent meanwhile is brought.
class Waits {
 public:
  explicit Waits(const sigset_t* set) noexcept {
    ask_lender(set);
    if (set == nullptr || (identity_ = identity_of_caller()) == nullptr) return;
    before_ = identity_->wanted.load(std::memory_order_relaxed);
    lender_bring(*identity_, before_ | kernel_set(*set));
  }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
  ~Waits() {
    if (identity_ != nullptr) lender_bring(*identity_, before_);
  }

 private:
  Identity* identity_ = nullptr;
  uint64_t before_ = 0;
};

// Whoever brings it what it waits for may have interrupted the call for that: then that is pending here by now.
template <class Call>
int waits(const sigset_t* set, siginfo_t* info, Call call) {
  const Waits scope(set);
  const int result = call();
  if (result != -1 || errno != EINTR || !klt_register_valid()) return result;
  const timespec at_once{};
  const int brought = next_sigtimedwait.get()(set, info, &at_once);
  if (brought == -1) errno = EINTR;
  return brought;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int sigwait(const sigset_t* set, int* signal) {
  const Waits scope(set);
  return next_sigwait.get()(set, signal);
}

int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return waits(set, info, [&] { return next_sigwaitinfo.get()(set, info); });
}

int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* time) {
  return waits(set, info, [&] { return next_sigtimedwait.get()(set, info, time); });
}

int sigpending(sigset_t* set) noexcept {
  const int result = next_sigpending.get()(set);
  Identity* identity = result == 0 ? identity_of_caller() : nullptr;
  const uint64_t more = identity != nullptr ? pending_at_lender(*identity, ~uint64_t{0}) : 0;
  for (uint64_t rest = more; rest != 0; rest &= rest - 1) sigaddset(set, __builtin_ctzll(rest) + 1);
  return result;
}

}  // extern "C"
#pragma GCC visibility pop
