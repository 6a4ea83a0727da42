#include "library/tbb.hpp"

#include "create_join_tasklet/kernel.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {});
  bench::report_task_rounds<bench::Tbb>(setup, [](auto& lib, uint32_t* done) {
    lib.run([done] {
      tbb::task_group group;
      for (int i = 0; i < bench::kInFlight; ++i) {
        group.run([done] { bench::count_one(done); });
      }
      group.wait();
    });
  });
}
