// kmp_task.hpp: tasks of clang's code: the compiler's descriptor is the payload of ours, and what is shared lies behind it.
#pragma once

#include "llvm/ident.hpp"
#include "task.hpp"

namespace weft::omp::llvm {

inline KmpTask* kmp_task_of(Task* task) { return static_cast<KmpTask*>(payload(task)); }

// A task that has not been started, of `bytes` in all behind our descriptor; or one that had better run at once: a prepared call
// (task_call.hpp). `flags` are the ABI's.
Task* make_task(Member& member, int32_t flags, size_t bytes);
// It is to be a task like others, whatever has been thought best.
void not_a_call(Member& member, Task* task);

// A copy of one that has not been started either, with the same of the compiler's in it.
Task* copy_task(Member& member, const Task* pattern, bool undeferred);

// The parts of that: of the pattern's payload, of so many bytes, to another one's, maybe by way of a copy `from` elsewhere.
inline size_t payload_bytes(const Task* task) { return task->bytes - sizeof(Task); }
void copy_payload(KmpTask* to, const void* from, size_t bytes, const KmpTask* pattern);
inline uint16_t flags_of_copy(const Task* pattern) {
  return pattern->flags & (task_flag::kUntied | task_flag::kFinal | task_flag::kMergeable);
}

// Calls the body.
void run_plain(Task* task);

// Before any task is started: what the compiler has written into it since it was made.
void read_priority(Task* task);

// The body has been called by the compiler, and has ended.
void body_ended(Task* task);

// The ABI's dependences in our words, in the caller's frame if there are few.
class Depends {
 public:
  Depends(int32_t count, const KmpDepend* list, int32_t more_count, const KmpDepend* more);
  ~Depends();
  Depends(const Depends&) = delete;
  Depends& operator=(const Depends&) = delete;
  size_t size() const { return x_size; }
  const Depend* data() const { return x_list; }

 private:
  static constexpr size_t kFew = 16;
  Depend x_few[kFew];
  Depend* x_list = x_few;
  size_t x_size = 0;

  void add(int32_t count, const KmpDepend* list);
};

}  // namespace weft::omp::llvm
