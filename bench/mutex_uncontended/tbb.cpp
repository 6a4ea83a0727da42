#include <oneapi/tbb/mutex.h>

#include "mutex_uncontended/kernel.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {});
  oneapi::tbb::mutex mutex;
  bench::report_locking(setup, [&] { mutex.lock(); }, [&] { mutex.unlock(); });
}
