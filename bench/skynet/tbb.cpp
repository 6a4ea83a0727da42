#include "library/tbb.hpp"

#include "skynet/kernel.hpp"

namespace {

long skynet(long first, long size) {
  if (size == 1) {
    return first;
  }
  long results[bench::kFan];
  const long part = size / bench::kFan;
  tbb::task_group group;
  for (int i = 0; i < bench::kFan; ++i) {
    group.run([&results, first, part, i] { results[i] = skynet(first + i * part, part); });
  }
  group.wait();
  long sum = 0;
  for (const long result : results) {
    sum += result;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::skynet_tasks<bench::Tbb>(argc, argv, [](auto& lib, long first, long size) {
    return lib.run([=] { return skynet(first, size); });
  });
}
