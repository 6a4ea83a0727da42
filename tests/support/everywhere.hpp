// everywhere.hpp: the same function in many ULTs and kernel threads at once.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "support/runtime_fixture.hpp"

namespace weft_test {

// f(i), in ULTs for i < ults, on threads for the `klts` after them. Returns when all have ended. Call it from a ULT.
inline void everywhere(int ults, int klts, const std::function<void(int)>& f) {
  std::atomic<int> left = klts;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < klts; ++i) {
    threads.emplace_back([&, i] {
      f(ults + i);
      --left;
    });
  }
  for (int i = 0; i < ults; ++i) {
    calls.push_back(std::make_unique<Call>([&f, i] { f(i); }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  while (left != 0) weft_yield();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weft_test
