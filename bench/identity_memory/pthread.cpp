#include "library/pthread.hpp"

#include <semaphore.h>

#include <vector>

#include "identity_memory/kernel.hpp"

namespace {

struct Threads {
  std::vector<pthread_t> all;
  static inline sem_t begun, end;

  Threads() {
    sem_init(&begun, 0, 0);
    sem_init(&end, 0, 0);
  }
  ~Threads() {
    for (size_t i = 0; i < all.size(); ++i) sem_post(&end);
    for (const pthread_t each : all) pthread_join(each, nullptr);
  }
  void operator()(long n) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 16 * 1024);
    all.reserve(all.size() + static_cast<size_t>(n));
    for (long i = 0; i < n; ++i) {
      bench::check(pthread_create(&all.emplace_back(), &attr, sleep, nullptr) == 0, "pthread_create");
    }
    for (long i = 0; i < n; ++i) sem_wait(&begun);
    pthread_attr_destroy(&attr);
  }
  static void* sleep(void*) {
    sem_post(&begun);
    sem_wait(&end);
    return nullptr;
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::identity_memory<Threads>(argc, argv); }
