// number.cpp: lists of identities by their lenders' numbers. Whoever adds or removes one has the pool's lock; who looks has none, since tgkill()
// is called in signal handlers.
//
//   NumberOwner                                the pool
//   looking += 1                               removes it from its list
//   walks the list                             waits until looking == 0
//   looking -= 1                               lets its lender end, on whose stack it lies
//
// Who looks may rest at the gate (klt/process_gate.hpp) while somebody forks, so nobody waits for that inside of it. (Under a sanitizer the keeper
// does; there nobody looks, since programs have no functions of ours before the C library's.)
//
// Sequentially consistent: it has been removed before that walk, or is seen to be looked at. One that has been removed leads on as before.
#include "identity/number.hpp"

#include <sched.h>
#include <unistd.h>

#include <atomic>

namespace weft::rt {
namespace {

constexpr unsigned kLists = 256;
constinit std::atomic<Identity*> lists[kLists]{};
constinit std::atomic<unsigned> looking{0};
constinit std::atomic<int> whose{0};  // the process in which they have these numbers

std::atomic<Identity*>& list_of(int number) noexcept { return lists[static_cast<unsigned>(number) % kLists]; }

Identity* look(int number) noexcept {
  looking.fetch_add(1, std::memory_order_seq_cst);
  Identity* each = list_of(number).load(std::memory_order_seq_cst);
  while (each != nullptr && each->tid != number) each = each->next_of_number.load(std::memory_order_seq_cst);
  return each;
}

}  // namespace

NumberOwner::NumberOwner(int number) noexcept : identity_(look(number)) {}
NumberOwner::~NumberOwner() { looking.fetch_sub(1, std::memory_order_seq_cst); }

bool number_may_be_owned(int number, long process) noexcept {
  return list_of(number).load(std::memory_order_relaxed) != nullptr && whose.load(std::memory_order_relaxed) == process;
}

void number_add(Identity* identity) noexcept {
  whose.store(getpid(), std::memory_order_relaxed);
  std::atomic<Identity*>& list = list_of(identity->tid);
  identity->next_of_number.store(list.load(std::memory_order_relaxed), std::memory_order_relaxed);
  list.store(identity, std::memory_order_seq_cst);
}

void number_remove(Identity* identity) noexcept {
  std::atomic<Identity*>* at = &list_of(identity->tid);
  while (at->load(std::memory_order_relaxed) != identity) at = &at->load(std::memory_order_relaxed)->next_of_number;
  at->store(identity->next_of_number.load(std::memory_order_relaxed), std::memory_order_seq_cst);
}

void number_settle() noexcept {
  while (looking.load(std::memory_order_seq_cst) != 0) sched_yield();
}

void numbers_forget() noexcept {
  for (std::atomic<Identity*>& list : lists) list.store(nullptr, std::memory_order_relaxed);
}

void numbers_become_child() noexcept { looking.store(0, std::memory_order_relaxed); }

}  // namespace weft::rt
