#include "library/weft.hpp"
#include "uts/kernel.hpp"

namespace {

struct Visit {
  uts::Node node;
  uts::Count count;
  void run();
};
using Child = bench::Fork<Visit>;

void Visit::run() {
  const int n = uts::child_count(*bench::uts_tree, node);
  count = bench::uts_self(node, n);
  if (n == 0) {
    return;
  }
  WEFT_BENCH_UTS_CHILDREN(Child, children, n);
  for (int i = 0; i < n; ++i) {
    Child* const child = new (&children[i]) Child;
    child->body.node = uts::child_of(node, i);
    if (i < n - 1) {
      child->push();
    } else {
      child->body.run();
    }
  }
  for (int i = n - 1; i >= 0; --i) {
    if (i < n - 1) {
      children[i].join();
    }
    count += children[i].body.count;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::uts_tasks<bench::Weft>(argc, argv, [](auto&, const uts::Node& root) {
    Visit visit{root, {}};
    visit.run();
    return visit.count;
  });
}
