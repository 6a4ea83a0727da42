#include "library/lace.hpp"

#include "uts/kernel.hpp"

using bench::UtsChild;

VOID_TASK_1(walk, UtsChild*, self) {
  const int n = uts::child_count(*bench::uts_tree, self->node);
  self->count = bench::uts_self(self->node, n);
  if (n == 0) {
    return;
  }
  WEFT_BENCH_UTS_CHILDREN(UtsChild, children, n);
  for (int i = 0; i < n; ++i) {
    new (&children[i]) UtsChild{uts::child_of(self->node, i), {}};
    if (i < n - 1) {
      SPAWN(walk, &children[i]);
    } else {
      CALL(walk, &children[i]);
    }
  }
  for (int i = n - 1; i >= 0; --i) {
    if (i < n - 1) {
      SYNC(walk);
    }
    self->count += children[i].count;
  }
}

int main(int argc, char** argv) {
  return bench::uts_tasks<bench::Lace>(argc, argv, [](auto&, const uts::Node& root) {
    UtsChild task{root, {}};
    RUN(walk, &task);
    return task.count;
  });
}
