// kmp_task.cpp: a task's life between the compiler's descriptor and ours.
#include "llvm/kmp_task.hpp"

#include <cstdlib>
#include <cstring>

#include "task_call.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

constexpr int kUnread = -1;  // a priority that the compiler will write

// The private variables' destructors: when the body has ended, or when it is known never to run.
void destroy_privates(Task* task) {
  KmpTask* kmp = kmp_task_of(task);
  const TaskEntry destructors = kmp->data1.destructors;
  if (destructors == nullptr) return;
  kmp->data1.destructors = nullptr;
  destructors(this_thread().gtid, kmp);
}

void run_with_destructors(Task* task) {
  run_plain(task);
  if ((task->flags & task_flag::kAgain) == 0) destroy_privates(task);
}

uint16_t our_flags(int32_t flags) {
  uint16_t ours = 0;
  if ((flags & kmp_task_flag::kTied) == 0) ours |= task_flag::kUntied;
  if ((flags & kmp_task_flag::kFinal) != 0) ours |= task_flag::kFinal;
  if ((flags & (kmp_task_flag::kDetachable | kmp_task_flag::kProxy)) != 0) ours |= task_flag::kDetachable;
  return ours;
}

}  // namespace

void run_plain(Task* task) {
  KmpTask* kmp = kmp_task_of(task);
  const int32_t gtid = task->member->thread->gtid;
  if (tool::there()) {
    tool::call(*task, [=] { kmp->entry(gtid, kmp); });
  } else {
    kmp->entry(gtid, kmp);
  }
}

Task* make_task(Member& member, int32_t flags, size_t bytes) {
  using namespace kmp_task_flag;
  const uint16_t ours = our_flags(flags);
  constexpr int32_t kSpecial = kDestructors | kPriority | kDetachable | kProxy;
  const bool asked = (flags & kSpecial) == 0 && bytes <= kMostCallPayload && !tool::there();
  if (asked && task_best_at_once(member)) return call_prepare(member, ours, bytes);

  TaskWish wish = {.run = run_plain, .flags = ours};
  if (asked) wish.flags |= task_flag::kAsked;
  const bool destructors = (flags & kDestructors) != 0;
  if (destructors) {
    wish.run = run_with_destructors;
    wish.drop = destroy_privates;
  }
  Task* task = task_create(member, wish, bytes);
  // The two are the compiler's own memory in descriptors that do not have them.
  if (destructors) kmp_task_of(task)->data1.destructors = nullptr;
  if ((flags & kPriority) != 0) {
    kmp_task_of(task)->data2.priority = 0;
    task->priority = kUnread;
  }
  return task;
}

void not_a_call(Member& member, Task* task) {
  if (is_prepared_call(task)) call_becomes_task(member, task, run_plain);
}

void read_priority(Task* task) {
  if (task->priority == kUnread) task->priority = kmp_task_of(task)->data2.priority;
}

void body_ended(Task* task) {
  if (task->drop != nullptr) task->drop(task);
}

void copy_payload(KmpTask* to, const void* from, size_t bytes, const KmpTask* pattern) {
  std::memcpy(static_cast<void*>(to), from, bytes);
  if (to->shareds == nullptr) return;
  to->shareds = reinterpret_cast<char*>(to) + (static_cast<const char*>(to->shareds) - reinterpret_cast<const char*>(pattern));
}

Task* copy_task(Member& member, const Task* pattern, bool undeferred) {
  const size_t bytes = payload_bytes(pattern);
  const TaskWish wish = {.run = pattern->run,
                         .drop = pattern->drop,
                         .flags = static_cast<uint16_t>(flags_of_copy(pattern) | (undeferred ? task_flag::kUndeferred : 0)),
                         .priority = pattern->priority};
  Task* copy = task_create(member, wish, bytes);
  const KmpTask* from = kmp_task_of(const_cast<Task*>(pattern));
  copy_payload(kmp_task_of(copy), from, bytes, from);
  return copy;
}

Depends::Depends(int32_t count, const KmpDepend* list, int32_t more_count, const KmpDepend* more) {
  const size_t all = static_cast<size_t>(count) + static_cast<size_t>(more_count);
  if (all > kFew) x_list = static_cast<Depend*>(std::malloc(all * sizeof(Depend)));
  if (x_list == nullptr) std::abort();
  add(count, list);
  add(more_count, more);
}

Depends::~Depends() {
  if (x_list != x_few) std::free(x_list);
}

void Depends::add(int32_t count, const KmpDepend* list) {
  using namespace kmp_depend_flag;
  for (int32_t i = 0; i < count; ++i) {
    const KmpDepend& from = list[i];
    if ((from.flags & kAll) != 0 || from.base == -1) {
      x_list[x_size++] = {nullptr, DepKind::kOut};
      continue;
    }
    if (from.base == 0) continue;
    const DepKind kind = (from.flags & kOut) != 0             ? DepKind::kOut
                         : (from.flags & kMutexInOutSet) != 0 ? DepKind::kMutexInOutSet
                         : (from.flags & kInOutSet) != 0      ? DepKind::kInOutSet
                                                              : DepKind::kIn;
    x_list[x_size++] = {reinterpret_cast<const void*>(from.base), kind};
  }
}

}  // namespace weft::omp::llvm
