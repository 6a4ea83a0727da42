// task_reduction.cpp: reductions of tasks.
//
// A group has a `Reduction` for each variable: where the result goes, and a block with a copy for each member of the team. A
// member's copy is made when one of its tasks first asks for it; only that member writes it, and whoever ends the group, when
// all its tasks have ended, combines those that there are.
//
// reduction(task, …) of a region or a loop: each member has a group of its own, and all of them share the blocks. Whoever is
// the last to end its group combines, into its own private variable, which takes part in the ordinary reduction then. They
// find the shared blocks by a construct without iterations that has memory for a pointer; the first one there makes them.
#include "llvm/task_reduction.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "llvm/ident.hpp"
#include "llvm/loop.hpp"
#include "workshare.hpp"

namespace weft::omp::llvm {
namespace {

constexpr size_t kLine = 64;

// A variable's copies: `copies` of them, each with a byte behind the last that says whether it is there.
struct Block {
  char* memory = nullptr;
  size_t stride = 0;
  int copies = 0;

  char* at(int i) const { return memory + stride * static_cast<size_t>(i); }
  uint8_t* made(int i) const { return reinterpret_cast<uint8_t*>(at(copies)) + i; }
  bool holds(const void* address) const {
    const char* p = static_cast<const char*>(address);
    return p >= memory && p < at(copies);
  }
};

struct Reduction {
  void* shared = nullptr;    // the group's
  void* original = nullptr;
  size_t bytes = 0;
  void* init = nullptr;
  void* fini = nullptr;
  void* combine = nullptr;
  bool init_sees_original = true;
  Block block;
};

struct Blocks {
  std::atomic<int> users{1};
  int count = 0;
  Block* list = nullptr;
};

// TaskGroup::reductions.
struct Reductions {
  int count = 0;
  Reduction* list = nullptr;
  Blocks* blocks = nullptr;
};

Blocks* make_blocks(const Member& member, const Reductions& wanted) {
  const int copies = member.team->n;
  Blocks* blocks = new Blocks;
  blocks->count = wanted.count;
  blocks->list = new Block[static_cast<size_t>(wanted.count)];
  for (int i = 0; i < wanted.count; ++i) {
    Block& block = blocks->list[i];
    block.stride = (wanted.list[i].bytes + kLine - 1) & ~(kLine - 1);
    block.copies = copies;
    const size_t all = block.stride * static_cast<size_t>(copies) + static_cast<size_t>(copies);
    block.memory = static_cast<char*>(std::aligned_alloc(kLine, (all + kLine - 1) & ~(kLine - 1)));
    if (block.memory == nullptr) std::abort();
    std::memset(block.made(0), 0, static_cast<size_t>(copies));
  }
  return blocks;
}

void free_blocks(Blocks* blocks) {
  for (int i = 0; i < blocks->count; ++i) std::free(blocks->list[i].memory);
  delete[] blocks->list;
  delete blocks;
}

// All members come here: whose blocks are first are everybody's.
Blocks* blocks_of_team(Member& member, const Reductions& wanted) {
  enter_loop(member, {.trip = 0, .deal = Deal::kStatic, .memory = sizeof(std::atomic<Blocks*>)});
  auto& cell = *static_cast<std::atomic<Blocks*>*>(member.share->memory);
  Blocks* blocks = cell.load(std::memory_order_acquire);
  if (blocks == nullptr) {
    Blocks* mine = make_blocks(member, wanted);
    mine->users.store(member.team->n, std::memory_order_relaxed);
    // Pairs with the load above, and with itself.
    if (cell.compare_exchange_strong(blocks, mine, std::memory_order_acq_rel)) {
      blocks = mine;
    } else {
      free_blocks(mine);
    }
  }
  leave_loop(member);
  return blocks;
}

Reduction read(const KmpTaskReduction& from) {
  return {.shared = from.shared,
          .original = from.original != nullptr ? from.original : from.shared,
          .bytes = from.bytes,
          .init = from.init,
          .fini = from.fini,
          .combine = from.combine,
          .block = {}};
}
Reduction read(const KmpTaskReductionOld& from) {
  return {.shared = from.shared,
          .original = from.shared,
          .bytes = from.bytes,
          .init = from.init,
          .fini = from.fini,
          .combine = from.combine,
          .init_sees_original = false,
          .block = {}};
}

template <typename Input>
Reductions* make_reductions(Member& member, int count, const void* data, bool of_team) {
  const Input* inputs = static_cast<const Input*>(data);
  Reductions* all = new Reductions;
  all->count = count;
  all->list = new Reduction[static_cast<size_t>(count)];
  for (int i = 0; i < count; ++i) all->list[i] = read(inputs[i]);
  all->blocks = of_team ? blocks_of_team(member, *all) : make_blocks(member, *all);
  for (int i = 0; i < count; ++i) all->list[i].block = all->blocks->list[i];
  return all;
}

template <typename Input>
void* init_group(int32_t gtid, int count, const void* data) {
  Member& member = *thread_of(gtid).member;
  TaskGroup* group = member.task->group;
  if (group == nullptr || count == 0) return group;
  group->reductions = make_reductions<Input>(member, count, data, false);
  return group;
}

template <typename Input>
void* init_team(int32_t gtid, int count, const void* data) {
  Member& member = *thread_of(gtid).member;
  TaskGroup* group = new TaskGroup;
  group_begin(member, group);
  group->reductions = make_reductions<Input>(member, count, data, true);
  return group;
}

void* copy_of(const Reduction& reduction, int num) {
  char* copy = reduction.block.at(num);
  uint8_t* made = reduction.block.made(num);
  if (*made != 0) return copy;
  *made = 1;
  if (reduction.init == nullptr) {
    std::memset(copy, 0, reduction.bytes);
  } else if (reduction.init_sees_original) {
    reinterpret_cast<void (*)(void*, void*)>(reduction.init)(copy, reduction.original);
  } else {
    reinterpret_cast<void (*)(void*)>(reduction.init)(copy);
  }
  return copy;
}

// By the variable, or by the address of somebody's copy of it.
const Reduction* find(const Reductions& all, const void* address) {
  for (int i = 0; i < all.count; ++i) {
    const Reduction& reduction = all.list[i];
    if (reduction.shared == address || reduction.block.holds(address)) return &reduction;
  }
  return nullptr;
}

void combine_all(const Reductions& all) {
  for (int i = 0; i < all.count; ++i) {
    const Reduction& reduction = all.list[i];
    for (int num = 0; num < reduction.block.copies; ++num) {
      if (*reduction.block.made(num) == 0) continue;
      char* copy = reduction.block.at(num);
      reinterpret_cast<void (*)(void*, void*)>(reduction.combine)(reduction.shared, copy);
      if (reduction.fini != nullptr) reinterpret_cast<void (*)(void*)>(reduction.fini)(copy);
    }
  }
}

}  // namespace

void combine_reductions(Member&, TaskGroup& group) {
  Reductions* all = static_cast<Reductions*>(group.reductions);
  group.reductions = nullptr;
  // Whoever is last sees what the tasks of the others' groups have written.
  if (all->blocks->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    combine_all(*all);
    free_blocks(all->blocks);
  }
  delete[] all->list;
  delete all;
}

}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API void* __kmpc_taskred_init(int gtid, int count, void* data) {
  return init_group<KmpTaskReduction>(gtid, count, data);
}
WEFT_OMP_API void* __kmpc_task_reduction_init(int gtid, int count, void* data) {
  return init_group<KmpTaskReductionOld>(gtid, count, data);
}

// Both open a group, which modifier_fini ends.
WEFT_OMP_API void* __kmpc_taskred_modifier_init(Ident*, int gtid, int, int count, void* data) {
  return init_team<KmpTaskReduction>(gtid, count, data);
}
WEFT_OMP_API void* __kmpc_task_reduction_modifier_init(Ident*, int gtid, int, int count, void* data) {
  return init_team<KmpTaskReductionOld>(gtid, count, data);
}
WEFT_OMP_API void __kmpc_end_taskgroup(Ident* ident, int gtid);
WEFT_OMP_API void __kmpc_task_reduction_modifier_fini(Ident* ident, int gtid, int) { __kmpc_end_taskgroup(ident, gtid); }

// `in`: where to begin to look; null: the task's own group.
WEFT_OMP_API void* __kmpc_task_reduction_get_th_data(int gtid, void* in, void* address) {
  Member& member = *thread_of(gtid).member;
  const TaskGroup* group = in != nullptr ? static_cast<TaskGroup*>(in) : member.task->group;
  for (; group != nullptr; group = group->outer) {
    if (group->reductions == nullptr) continue;
    if (const Reduction* found = find(*static_cast<Reductions*>(group->reductions), address)) {
      return copy_of(*found, member.num);
    }
  }
  return address;
}
