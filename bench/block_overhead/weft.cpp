#include "block_overhead/kernel.hpp"

#include <weft/fork_join.hpp>

#include "library/weft_blocking.hpp"
#include "uts/kernel.hpp"

namespace {

long fib(int n) {
  if (n < 2) {
    return n;
  }
  const auto [a, b] = weft::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

uts::Count walk(const uts::Node& node) {
  const int n = uts::child_count(*bench::uts_tree, node);
  uts::Count count = bench::uts_self(node, n);
  if (n > 0) {
    struct Child : weft_fork_t {
      uts::Node node;
      uts::Count count;
    };
    WEFT_BENCH_UTS_CHILDREN(Child, children, n);
    for (int i = 0; i < n - 1; ++i) {
      Child* const child = new (&children[i]) Child;
      child->invoke = [](weft_fork_t* self) {
        auto* const taken = static_cast<Child*>(self);
        taken->count = walk(taken->node);
      };
      child->node = uts::child_of(node, i);
      weft_fork_push(child);
    }
    count += walk(uts::child_of(node, n - 1));
    for (int i = n - 2; i >= 0; --i) {
      count += weft_fork_pop(&children[i]) ? walk(children[i].node) : children[i].count;
    }
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  bench::ensure_stack(argv, size_t{1} << 28);
  const bench::Setup setup(argc, argv, {{"kernel", "fib"}, {"mode", "auto"}});
  const bool trees = setup.text("kernel") == "uts";
  bench::check(trees || setup.text("kernel") == "fib", "kernel: fib, uts");
  const bool always = setup.text("mode") == "on";
  bench::check(always || setup.text("mode") == "auto", "mode: on, auto");
  uts::Tree tree = uts::kT1;
  tree.depth = 9;
  bench::uts_tree = &tree;
  const uint64_t nodes = trees ? uts::count_serially(tree, uts::root_of(tree)).nodes : 0;

  const weft_blocking_mode_t mode = always ? WEFT_BLOCKING_ON : WEFT_BLOCKING_AUTO;
  bench::WeftAware lib;
  lib.init(setup.workers(), bench::Mode::kForkJoin, 0, "auto", mode);
  const bench::Sample sample = bench::time_overhead(
      [&](bool aware) {
        bench::check(weft_blocking_set_mode(aware ? mode : WEFT_BLOCKING_OFF) == WEFT_OK, "weft_blocking_set_mode");
      },
      [&] {
        if (trees) {
          bench::check(walk(uts::root_of(tree)).nodes == nodes, "nodes");
        } else {
          bench::check(fib(32) == 2178309, "fib(32)");
        }
      });
  setup.report("fraction", sample, {}, lib.note);
  lib.finalize();
}
