#include "library/libfork.hpp"

#include "skynet/kernel.hpp"

namespace {

constexpr auto kSkynet = [](auto skynet, long first, long size) LF_STATIC_CALL -> lf::task<long> {
  if (size == 1) {
    co_return first;
  }
  long results[bench::kFan];
  const long part = size / bench::kFan;
  for (int i = 0; i < bench::kFan - 1; ++i) {
    co_await lf::fork(&results[i], skynet)(first + i * part, part);
  }
  co_await lf::call(&results[bench::kFan - 1], skynet)(first + (bench::kFan - 1) * part, part);
  co_await lf::join;
  long sum = 0;
  for (const long result : results) {
    sum += result;
  }
  co_return sum;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::skynet_tasks<bench::Libfork>(
      argc, argv, [](auto& lib, long first, long size) { return lib.run(kSkynet, first, size); });
}
