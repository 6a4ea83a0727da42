#include "library/tbb.hpp"

#include "uts/kernel.hpp"

namespace {

using bench::UtsChild;

void walk(UtsChild* self) {
  const int n = uts::child_count(*bench::uts_tree, self->node);
  self->count = bench::uts_self(self->node, n);
  if (n == 0) {
    return;
  }
  WEFT_BENCH_UTS_CHILDREN(UtsChild, children, n);
  tbb::task_group group;
  for (int i = 0; i < n; ++i) {
    UtsChild* const child = new (&children[i]) UtsChild{uts::child_of(self->node, i), {}};
    if (i < n - 1) {
      group.run([child] { walk(child); });
    } else {
      walk(child);
    }
  }
  group.wait();
  for (int i = 0; i < n; ++i) {
    self->count += children[i].count;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::uts_tasks<bench::Tbb>(argc, argv, [](auto& lib, const uts::Node& root) {
    return lib.run([&] {
      UtsChild task{root, {}};
      walk(&task);
      return task.count;
    });
  });
}
