// set_id.cpp: setuid() and its kin by a ULT with an identity of its own. They reach every thread but the one whose control block the caller
// has. That is to be the KLT, and not the lender, which would keep what the process has given up: identity/set_id.hpp.
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <unistd.h>

#include "identity/lender.hpp"
#include "identity/set_id.hpp"
#include "intercept/next.hpp"
#include "os/signal_mask.hpp"

using namespace weft::rt;

namespace {

constinit Next<int(uid_t) noexcept> next_setuid{"setuid"}, next_seteuid{"seteuid"};
constinit Next<int(gid_t) noexcept> next_setgid{"setgid"}, next_setegid{"setegid"};
constinit Next<int(uid_t, uid_t) noexcept> next_setreuid{"setreuid"};
constinit Next<int(gid_t, gid_t) noexcept> next_setregid{"setregid"};
constinit Next<int(uid_t, uid_t, uid_t) noexcept> next_setresuid{"setresuid"};
constinit Next<int(gid_t, gid_t, gid_t) noexcept> next_setresgid{"setresgid"};
constinit Next<int(size_t, const gid_t*) noexcept> next_setgroups{"setgroups"};
constinit Next<int(const char*, gid_t)> next_initgroups{"initgroups"};

[[gnu::constructor]] void find_next() noexcept {
  next_setuid.find();
  next_seteuid.find();
  next_setgid.find();
  next_setegid.find();
  next_setreuid.find();
  next_setregid.find();
  next_setresuid.find();
  next_setresgid.find();
  next_setgroups.find();
  next_initgroups.find();
}

struct Outcome {
  int result;
  int error;
};

// In functions of their own: the compiler takes the place of errno for one that stays.
template <class Function, class... Arguments>
[[gnu::noinline]] Outcome call(Function* next, Arguments... arguments) {
  const int result = next(arguments...);
  return {result, errno};
}
[[gnu::noinline]] void set_error(int error) noexcept { errno = error; }

// Handlers would have the KLT's thread-local variables. The C library's signal for this stays open: of two that call at once each
// waits for the other one.
template <class Function, class... Arguments>
[[gnu::noinline]] Outcome call_as_klt(Function* next, Arguments... arguments) {
  const uint64_t before = lender_block_signals();
  const uintptr_t own = thread_pointer(), klts = set_id_other_pointer();
  if (klts != 0) thread_pointer_set(klts);
  const Outcome outcome = call(next, arguments...);
  if (klts != 0) thread_pointer_set(own);
  sigset_t mask{};
  std::memcpy(&mask, &before, sizeof before);
  set_signal_mask(SIG_SETMASK, &mask, nullptr);
  return outcome;
}

template <class Function, class... Arguments>
int reach_all(Function* next, Arguments... arguments) {
  if (set_id_other_pointer() == 0) return next(arguments...);
  const Outcome outcome = call_as_klt(next, arguments...);
  if (outcome.result != 0) set_error(outcome.error);
  return outcome.result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int setuid(uid_t id) noexcept { return reach_all(next_setuid.get(), id); }
int seteuid(uid_t id) noexcept { return reach_all(next_seteuid.get(), id); }
int setgid(gid_t id) noexcept { return reach_all(next_setgid.get(), id); }
int setegid(gid_t id) noexcept { return reach_all(next_setegid.get(), id); }
int setreuid(uid_t real, uid_t effective) noexcept { return reach_all(next_setreuid.get(), real, effective); }
int setregid(gid_t real, gid_t effective) noexcept { return reach_all(next_setregid.get(), real, effective); }
int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept { return reach_all(next_setresuid.get(), real, effective, saved); }
int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept { return reach_all(next_setresgid.get(), real, effective, saved); }
int setgroups(size_t count, const gid_t* groups) noexcept { return reach_all(next_setgroups.get(), count, groups); }
int initgroups(const char* user, gid_t group) { return reach_all(next_initgroups.get(), user, group); }

}  // extern "C"
#pragma GCC visibility pop
