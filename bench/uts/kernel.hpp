// uts: the unbalanced tree search; seconds, wall, to count a tree. Every library runs the node
// kernel of examples/uts; only the walk differs: a task per node but for a node's last child, which
// its parent walks itself.
#ifndef WEFT_BENCH_UTS_KERNEL_HPP
#define WEFT_BENCH_UTS_KERNEL_HPP

#include <alloca.h>

#include <memory>

#include "harness.hpp"
#include "uts.hpp"

namespace bench {

inline const uts::Tree* uts_tree;  // set once, before the walk

struct UtsChild {
  uts::Node node;
  uts::Count count;
};

// Room for n children: on the stack of the caller, unless they are too many for a small stack.
inline constexpr int kOnStack = 16;

#define WEFT_BENCH_UTS_CHILDREN(Type, children, n)           \
  std::unique_ptr<Type[]> children##_heap;                   \
  if ((n) > ::bench::kOnStack) {                             \
    children##_heap.reset(new Type[static_cast<size_t>(n)]); \
  }                                                          \
  Type* const children = (n) > ::bench::kOnStack             \
                             ? children##_heap.get()         \
                             : static_cast<Type*>(alloca(sizeof(Type) * static_cast<size_t>(n)))

inline uts::Count uts_self(const uts::Node& node, int children) {
  return {1, children == 0 ? 1U : 0U, node.height};
}

inline const uts::Tree& uts_find(const std::string& name) {
  for (const uts::Tree& tree : uts::kTrees) {
    if (name == tree.name) {
      return tree;
    }
  }
  fail("tree must be T1, T1L or T3L");
}

// A small tree of the same shape function first, as a warm-up. `walk(root)` counts.
template <class Walk>
Sample time_uts(const Setup& setup, Walk&& walk) {
  uts::Tree small = uts::kT1;
  small.depth = 8;
  uts_tree = &small;
  const uts::Count warm = walk(uts::root_of(small));
  check(warm.nodes == uts::count_serially(small, uts::root_of(small)).nodes, "small tree");

  const uts::Tree& tree = uts_find(setup.text("tree"));
  uts_tree = &tree;
  uts::Count count;
  const Sample sample = time_once([&] { count = walk(uts::root_of(tree)); });
  check(uts::as_expected(tree, count), "count of nodes");
  return sample;
}

// For libraries whose ULTs are created and joined by handle.
template <class Lib>
struct UtsUlt {
  static inline Lib* lib;
  uts::Node node;
  uts::Count count;
  typename Lib::Handle handle;

  static void run(void* arg) {
    auto& self = *static_cast<UtsUlt*>(arg);
    const int n = uts::child_count(*uts_tree, self.node);
    self.count = uts_self(self.node, n);
    if (n == 0) {
      return;
    }
    WEFT_BENCH_UTS_CHILDREN(UtsUlt, children, n);
    for (int i = 0; i < n; ++i) {
      UtsUlt* const child = new (&children[i]) UtsUlt{uts::child_of(self.node, i), {}, {}};
      if (i < n - 1) {
        lib->template create<run>(child->handle, child);
      } else {
        run(child);
      }
    }
    for (int i = n - 1; i >= 0; --i) {
      if (i < n - 1) {
        lib->join(children[i].handle);
      }
      self.count += children[i].count;
    }
  }
};

template <class Lib>
int uts_ult(int argc, char** argv) {
  ensure_stack(argv, size_t{1} << 28);
  const Setup setup(argc, argv, {{"tree", "T1"}});
  Lib lib;
  lib.init(setup.workers(), Mode::kForkJoin, 0);
  UtsUlt<Lib>::lib = &lib;
  const Sample sample = time_uts(setup, [](const uts::Node& root) {
    UtsUlt<Lib> task{root, {}, {}};
    typename Lib::Handle handle;
    UtsUlt<Lib>::lib->template create<UtsUlt<Lib>::run>(handle, &task);
    UtsUlt<Lib>::lib->join(handle);
    return task.count;
  });
  setup.report("s", sample);
  lib.finalize();
  return 0;
}

// For libraries with tasks: `walk(lib, root)`. The first way to use a library is its default.
template <class Lib, class Walk>
int uts_tasks(int argc, char** argv, Walk&& walk) {
  ensure_stack(argv, size_t{1} << 28);
  const Setup setup(argc, argv, {{"tree", "T1"}});
  Lib lib;
  lib.init(setup.workers(), Mode::kForkJoin, 0);
  const Sample sample =
      time_uts(setup, [&](const uts::Node& root) -> uts::Count { return walk(lib, root); });
  setup.report("s", sample, {}, Lib::kVariants[0]);
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_UTS_KERNEL_HPP
