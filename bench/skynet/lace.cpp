#include "library/lace.hpp"

#include "skynet/kernel.hpp"

TASK_2(long, skynet_task, long, first, long, size) {
  if (size == 1) {
    return first;
  }
  const long part = size / bench::kFan;
  for (int i = 0; i < bench::kFan; ++i) {
    SPAWN(skynet_task, first + i * part, part);
  }
  long sum = 0;
  for (int i = 0; i < bench::kFan; ++i) {
    sum += SYNC(skynet_task);
  }
  return sum;
}

int main(int argc, char** argv) {
  return bench::skynet_tasks<bench::Lace>(
      argc, argv, [](auto&, long first, long size) { return RUN(skynet_task, first, size); });
}
