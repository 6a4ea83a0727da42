#include "library/weft.hpp"
#include "uts/kernel.hpp"

namespace {

// A child that comes back is walked as by a serial program, into the parent's count; only one that
// somebody else took has a count of its own.
struct Child : weft_fork_t {
  Child() {}
  union {
    uts::Node node;    // until it is walked
    uts::Count count;  // afterwards, if somebody else has walked it
  };
};

void walk(const uts::Node& node, uts::Count& count);

void walk_taken(weft_fork_t* fork) {
  auto* const child = static_cast<Child*>(fork);
  uts::Count count;
  walk(child->node, count);
  child->count = count;
}

void walk(const uts::Node& node, uts::Count& count) {
  const int n = uts::child_count(*bench::uts_tree, node);
  count += bench::uts_self(node, n);
  if (n == 0) {
    return;
  }
  WEFT_BENCH_UTS_CHILDREN(Child, children, n);
  for (int i = 0; i < n - 1; ++i) {
    Child& child = children[i];
    child.invoke = walk_taken;
    child.node = uts::child_of(node, i);
    weft_fork_push(&child);
  }
  walk(uts::child_of(node, n - 1), count);
  for (int i = n - 2; i >= 0; --i) {
    if (weft_fork_pop(&children[i])) {
      walk(children[i].node, count);
    } else {
      count += children[i].count;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::uts_tasks<bench::Weft>(argc, argv, [](auto&, const uts::Node& root) {
    uts::Count count;
    walk(root, count);
    return count;
  });
}
