#include "library/weft.hpp"
#include "skynet/kernel.hpp"

namespace {

struct Node {
  long first;
  long size;
  long result;
  void run();
};

void Node::run() {
  if (size == 1) {
    result = first;
    return;
  }
  const long part = size / bench::kFan;
  bench::Fork<Node> children[bench::kFan];
  for (int i = 0; i < bench::kFan; ++i) {
    children[i].body = {first + i * part, part, 0};
    children[i].push();
  }
  result = 0;
  for (int i = bench::kFan - 1; i >= 0; --i) {
    children[i].join();
    result += children[i].body.result;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::skynet_tasks<bench::Weft>(argc, argv, [](auto&, long first, long size) {
    Node root{first, size, 0};
    root.run();
    return root.result;
  });
}
