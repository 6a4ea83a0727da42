// bare_workers.hpp: workers that nothing carries, for tests of what is in them.
#pragma once

#include <cstdlib>

#include "worker/worker.hpp"

namespace weft_test {

template <int count>
class BareWorkers {
 public:
  BareWorkers() {
    for (auto& worker : workers_) {
      worker = weft::rt::worker_map();
      if (worker == nullptr) std::abort();
    }
  }
  ~BareWorkers() {
    for (auto* worker : workers_) weft::rt::worker_unmap(worker);
  }
  BareWorkers(const BareWorkers&) = delete;
  BareWorkers& operator=(const BareWorkers&) = delete;
  weft::rt::Worker& operator[](size_t i) const { return *workers_[i]; }

 private:
  weft::rt::Worker* workers_[count];
};

}  // namespace weft_test
