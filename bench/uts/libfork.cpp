#include "library/libfork.hpp"

#include <span>

#include "uts/kernel.hpp"

namespace {

using bench::UtsChild;

// Children live on libfork's own segmented stack, as in its benchmarks.
constexpr auto kWalk = [](auto walk, uts::Node node) LF_STATIC_CALL -> lf::task<uts::Count> {
  const int n = uts::child_count(*bench::uts_tree, node);
  uts::Count count = bench::uts_self(node, n);
  if (n > 0) {
    auto [results] = co_await lf::co_new<uts::Count>(static_cast<size_t>(n));
    for (int i = 0; i < n - 1; ++i) {
      co_await lf::fork(&results[static_cast<size_t>(i)], walk)(uts::child_of(node, i));
    }
    co_await lf::call(&results[static_cast<size_t>(n - 1)], walk)(uts::child_of(node, n - 1));
    co_await lf::join;
    for (const uts::Count& result : results) {
      count += result;
    }
  }
  co_return count;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::uts_tasks<bench::Libfork>(
      argc, argv, [](auto& lib, const uts::Node& root) { return lib.run(kWalk, root); });
}
