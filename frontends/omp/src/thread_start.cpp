#include "thread_start.hpp"

#include <sys/resource.h>

#include <atomic>
#include <cstdio>

#include "runtime.hpp"
#include "thread.hpp"
#include "weft/identity.h"

namespace weft::omp {

namespace {

// As much as a kernel thread would have; only what is used takes memory.
size_t default_stack() {
  constexpr size_t kMost = size_t{8} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > kMost) return kMost;
  return limit.rlim_cur < WEFT_STACK_MIN ? WEFT_STACK_MIN : limit.rlim_cur;
}

size_t stack_size() { return device().stack_size != 0 ? device().stack_size : default_stack(); }

void warn_once(std::atomic<bool>& said, const char* what, int error) {
  if (said.exchange(true, std::memory_order_relaxed)) return;
  std::fprintf(stderr, "weft: OpenMP: %s: %s\n", what, weft_strerror(error));
}

// Not a static variable, whose own lock a child that is forked meanwhile would find taken for ever.
enum class Possible { kNotKnown, kNo, kYes };
std::atomic<Possible> identities{Possible::kNotKnown};

[[gnu::noinline, gnu::cold]] Possible look_whether_possible() {
  weft_identity_info_t info;
  const bool asked = weft_identity_info(&info) == WEFT_OK;
  const Possible found = asked && info.why_not == nullptr ? Possible::kYes : Possible::kNo;
  Possible before = Possible::kNotKnown;
  const bool first = identities.compare_exchange_strong(before, found, std::memory_order_relaxed);
  if (first && asked && found == Possible::kNo && device().identity == IdentityWish::kOwn) {
    std::fprintf(stderr, "weft: OpenMP: threads share thread-local variables with others on their worker: %s\n", info.why_not);
  }
  return found;
}

weft_identity_t wanted_identity() {
  if (device().identity != IdentityWish::kOwn) return WEFT_IDENTITY_WORKER;
  Possible possible = identities.load(std::memory_order_relaxed);
  if (__builtin_expect(possible == Possible::kNotKnown, 0)) possible = look_whether_possible();
  return possible == Possible::kYes ? WEFT_IDENTITY_OWN : WEFT_IDENTITY_WORKER;
}

}  // namespace

ThreadsForeseen::ThreadsForeseen(int n) : left_(wanted_identity() == WEFT_IDENTITY_OWN ? static_cast<unsigned>(n) : 0) {
  if (left_ > 0) front::identities_foreseen(left_, stack_size());
}
void ThreadsForeseen::one_begins() {
  if (left_ == 0) return;
  --left_;
  front::identities_had(1);
}
ThreadsForeseen::~ThreadsForeseen() {
  if (left_ > 0) front::identities_had(left_);
}

bool thread_start(Member& member, void (*main)(void*), bool outermost) {
  static std::atomic<bool> said_identity{false}, said_thread{false};
  workers_complete();
  Thread* thread = thread_create();
  if (thread == nullptr) {
    warn_once(said_thread, "a team gets fewer threads than it should: too many threads", WEFT_ERR_LIMIT);
    return false;
  }
  member.region = thread->go.load(std::memory_order_relaxed);
  member.thread = thread;
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.name = "OpenMP thread";
  attr.stack_size = stack_size();
  attr.identity = wanted_identity();
  if (attr.identity == WEFT_IDENTITY_OWN) attr.fp_environment = WEFT_FP_OWN;
  attr.technique = WEFT_TECHNIQUE_SS;  // its stack now, or none: the others of the team are not to wait for one that cannot begin
  // Not below one of the program's own threads: several such teams would all have their second thread on the same worker.
  const bool below_ult = member.team->members[0].thread->unit != nullptr;
  member.worker = outermost && below_ult && workers_stay() && member.num < worker_count() ? member.num : -1;
  if (member.worker >= 0) {
    attr.worker = weft_worker_get(static_cast<unsigned>(member.worker));
    attr.pinned = true;
  }
  thread->has_identity = attr.identity == WEFT_IDENTITY_OWN;
  int error = weft_ult_create(main, &member, &attr, nullptr);
  // Without memory rather fewer threads, all of which have what is thread-local to themselves.
  if (error != WEFT_OK && error != WEFT_ERR_NO_MEMORY && attr.identity == WEFT_IDENTITY_OWN) {
    warn_once(said_identity,
              "threads beyond the bound of identities (WEFT_IDENTITY_LIMIT, limits of the process) share thread-local "
              "variables with others on their worker", error);
    attr.identity = WEFT_IDENTITY_WORKER;
    attr.fp_environment = WEFT_FP_SHARED;
    thread->has_identity = false;
    error = weft_ult_create(main, &member, &attr, nullptr);
  }
  if (error == WEFT_OK) return true;
  const char* fewer = "a team gets fewer threads than it should";
  if (error == WEFT_ERR_NO_MEMORY) fewer = "a team gets fewer threads than it should (OMP_STACKSIZE says how large their stacks are)";
  warn_once(said_thread, fewer, error);
  member.thread = nullptr;
  thread_release(thread);
  return false;
}

}  // namespace weft::omp
