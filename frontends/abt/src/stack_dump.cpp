// stack_dump.cpp: ABT_info_trigger_print_all_thread_stacks(). It may be called in a signal handler, so it only asks:
// every ES answers when its scheduler gets to it. The first one waits until all have, or the time is up, and writes.
//
// Rejected: that all wait for each other, as in Argobots: a dump of Weft's reads what changes meanwhile.
#include <atomic>

#include "front/front.hpp"
#include "report.hpp"
#include "wait.hpp"

namespace weft::abt {
namespace {

enum class Phase : int {
  kNone,     // whoever asks owns the request
  kMade,     // whoever asks is writing it
  kAsked,    // the first ES that answers takes it
  kWritten,  // that ES owns it
};

struct Request {
  std::atomic<Phase> phase{Phase::kNone};
  std::atomic<unsigned> answers{0};
  // constant from Asked on
  std::FILE* to = nullptr;
  uint64_t deadline = 0;
  void (*callback)(ABT_bool, void*) = nullptr;
  void* arg = nullptr;
};
constinit Request request;

bool all_answered() noexcept {
  // Acquire, pairs with the release of those who answer.
  return request.answers.load(std::memory_order_acquire) >= weft_worker_count();
}

// False: the time is up. An ES may end meanwhile and never answer, so it looks again now and then.
bool wait_for_all() noexcept {
  constexpr uint64_t kLookAgain = 1'000'000;
  while (!all_answered()) {
    const uint64_t now = weft_now();
    if (now >= request.deadline) return false;
    const uint64_t soon = now + kLookAgain;
    weft_sleep_until(soon < request.deadline ? soon : request.deadline);
  }
  return true;
}

// In the scheduler of each ES.
void answer() {
  if (request.phase.load(std::memory_order_acquire) == Phase::kNone) return;
  request.answers.fetch_add(1, std::memory_order_release);
  Phase asked = Phase::kAsked;
  // Acquire, pairs with the release of who has asked.
  if (!request.phase.compare_exchange_strong(asked, Phase::kWritten, std::memory_order_acquire)) return;
  const bool all = wait_for_all();
  static_cast<void>(copy_report(request.to, [](int fd, void*) { return weft_dump(fd); }, nullptr));
  const auto callback = request.callback;
  void* const arg = request.arg;
  request.phase.store(Phase::kNone, std::memory_order_release);
  if (callback != nullptr) callback(all ? ABT_FALSE : ABT_TRUE, arg);
}

uint64_t deadline_in(double seconds) noexcept {
  constexpr double kLongest = 1e9;
  if (seconds < 0 || seconds > kLongest) return WEFT_NEVER;
  return weft_after(static_cast<uint64_t>(seconds * 1e9));
}

}  // namespace

void forget_stack_dump() noexcept { request.phase.store(Phase::kNone, std::memory_order_relaxed); }

}  // namespace weft::abt

using namespace weft::abt;

// While one is under way another is dropped.
int ABT_info_trigger_print_all_thread_stacks(FILE* fp, double timeout, void (*cb_func)(ABT_bool, void*),
                                             void* arg) {
  Phase none = Phase::kNone;
  if (!request.phase.compare_exchange_strong(none, Phase::kMade, std::memory_order_acquire)) return ABT_SUCCESS;
  request.to = fp;
  request.deadline = deadline_in(timeout);
  request.callback = cb_func;
  request.arg = arg;
  request.answers.store(0, std::memory_order_relaxed);
  request.phase.store(Phase::kAsked, std::memory_order_release);
  weft::front::set_bell(answer);
  weft::front::ring_bell();
  return ABT_SUCCESS;
}
