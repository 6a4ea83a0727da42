#include "identity/robust.hpp"

#include "identity/c_library.hpp"
#include "os/futex.hpp"

namespace weft::rt {
namespace {

constexpr uintptr_t kPriorityInheriting = 1;  // in a link: the kernel's own business

void release(FutexWord& word, uint32_t owner) noexcept {
  uint32_t value = word.load(std::memory_order_relaxed);
  for (;;) {
    if ((value & FUTEX_TID_MASK) != owner) return;
    // Release, pairs with the acquire of the C library's lock: what the dead one wrote is seen.
    if (word.compare_exchange_weak(value, (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED, std::memory_order_release)) break;
  }
  // It may be shared with other processes.
  if ((value & FUTEX_WAITERS) != 0) syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace

void robust_release(robust_list_head* head, uintptr_t thread_pointer) noexcept {
  if (__builtin_expect(head->list.next == &head->list, 1)) return;
  const uint32_t owner = *reinterpret_cast<const uint32_t*>(thread_pointer + c_library.tid);
  for (uintptr_t link = reinterpret_cast<uintptr_t>(head->list.next); link != reinterpret_cast<uintptr_t>(&head->list);) {
    const auto* entry = reinterpret_cast<const robust_list*>(link & ~kPriorityInheriting);
    const auto next = reinterpret_cast<uintptr_t>(entry->next);  // first: the next owner writes it
    if ((link & kPriorityInheriting) == 0) {
      release(*reinterpret_cast<FutexWord*>(reinterpret_cast<uintptr_t>(entry) + static_cast<uintptr_t>(head->futex_offset)), owner);
    }
    link = next;
  }
  head->list.next = &head->list;
}

}  // namespace weft::rt
