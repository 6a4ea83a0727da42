#include <omp.h>

#include "mutex_uncontended/kernel.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {});
  omp_lock_t lock;
  omp_init_lock(&lock);
  bench::report_locking(setup, [&] { omp_set_lock(&lock); }, [&] { omp_unset_lock(&lock); });
}
