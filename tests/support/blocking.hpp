// blocking.hpp: for tests of block awareness: a runtime with it, on each rung, and things to block in.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "support/runtime_fixture.hpp"

namespace weft_test {

struct Awareness {
  weft_blocking_mode_t mode;
  const char* rung;
  unsigned workers;
};

inline std::string name_of(const testing::TestParamInfo<Awareness>& info) {
  const Awareness& a = info.param;
  return std::string(a.mode == WEFT_BLOCKING_ON ? "On" : "Auto") + (a.rung[0] == 'b' ? "Bpf" : a.rung[1] == 'e' ? "Perf" : "Proc") +
         std::to_string(a.workers);
}

inline const auto kAwarenesses = testing::Values(
    Awareness{WEFT_BLOCKING_AUTO, "bpf", 1}, Awareness{WEFT_BLOCKING_AUTO, "bpf", 2},
    Awareness{WEFT_BLOCKING_ON, "bpf", 1}, Awareness{WEFT_BLOCKING_ON, "bpf", 2},
    Awareness{WEFT_BLOCKING_AUTO, "perf", 1}, Awareness{WEFT_BLOCKING_AUTO, "perf", 2},
    Awareness{WEFT_BLOCKING_ON, "perf", 1}, Awareness{WEFT_BLOCKING_ON, "perf", 2},
    Awareness{WEFT_BLOCKING_AUTO, "proc", 1}, Awareness{WEFT_BLOCKING_AUTO, "proc", 2},
    Awareness{WEFT_BLOCKING_ON, "proc", 1}, Awareness{WEFT_BLOCKING_ON, "proc", 2});

inline weft_blocking_info_t blocking_info() {
  weft_blocking_info_t info{};
  EXPECT_TRUE(ok(weft_blocking_info(&info)));
  return info;
}

// Awareness of blocking is to be on the rung that is asked for; it is off.
class RungTest : public RuntimeTest, public testing::WithParamInterface<Awareness> {
 protected:
  RungTest() : RuntimeTest(GetParam().workers) {}
  void SetUp() override {
    setenv("WEFT_BLOCKING_RUNG", GetParam().rung, 1);
    RuntimeTest::SetUp();
    unsetenv("WEFT_BLOCKING_RUNG");
  }
};

// It is on.
class AwareTest : public RungTest {
 protected:
  void SetUp() override {
    RungTest::SetUp();
    ASSERT_TRUE(ok(weft_blocking_set_mode(GetParam().mode)));
    if (blocking_info().rung != std::string(GetParam().rung)) GTEST_SKIP() << "the system does not grant " << GetParam().rung;
  }
};

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  int in() const { return ends_[1]; }
  int out() const { return ends_[0]; }
  // Blocks in the kernel until there is something.
  char get() const {
    char c = 0;
    while (read(ends_[0], &c, 1) < 0) EXPECT_EQ(errno, EINTR);
    return c;
  }
  void put(char c = 'x') const { EXPECT_EQ(write(ends_[1], &c, 1), 1); }

 private:
  int ends_[2];
};

// It never comes to Weft by itself, and what it waits for is done by a ULT that another one is in the way of. Before that it may have come back
// for moments, so many times.
template <class F>
weft_blocking_info_t who_comes_back_and_spins(F&& spin_until_set, int moments) {
  Pipe pipe, question, answer;
  std::atomic<bool> done{false}, reading{false};
  std::thread answerer([&] {
    for (int i = 0; i < moments; ++i) {
      question.get();
      answer.put();
    }
  });
  Call back([&] {
    for (int i = 0; i < moments; ++i) {
      question.put();
      answer.get();
    }
    reading = true;
    pipe.get();
    spin_until_set(done);
  });
  weft_unit_t first = back.ult();
  while (!reading) weft_yield();
  Call other([&] {
    pipe.put();
    const uint64_t end = weft_after(10'000'000'000);
    while (blocking_info().stopped == 0 && weft_now() < end) asm volatile("");
    done = true;
  });
  weft_unit_t second = other.ult();
  EXPECT_TRUE(ok(weft_free(&second)));
  EXPECT_TRUE(ok(weft_free(&first)));
  answerer.join();
  return blocking_info();
}

}  // namespace weft_test
