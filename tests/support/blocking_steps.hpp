// blocking_steps.hpp: steps of random programs that block in the kernel, each in another way, and what they share. Whoever blocks
// is let go by a helper, a ULT of its own that may be anywhere, also behind it on the same worker. All that a call says is
// checked: counts are complete, and EINTR comes only where there are ticks, from calls that are said to return it.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support/blocking.hpp"
#include "support/random_program.hpp"

namespace weft_test {

struct BlockingProgram : Program {
  explicit BlockingProgram(bool has_ticks) : ticks(has_ticks) {
    const int fd = mkstemp(path.data());
    EXPECT_GE(fd, 0);
    const std::vector<char> page(kPage, 'p');
    for (size_t i = 0; i < kPages; ++i) EXPECT_EQ(::write(fd, page.data(), kPage), static_cast<ssize_t>(kPage));
    EXPECT_EQ(fsync(fd), 0);
    close(fd);
    file = std::tmpfile();
    EXPECT_NE(file, nullptr);
  }
  BlockingProgram(const BlockingProgram&) = delete;
  BlockingProgram& operator=(const BlockingProgram&) = delete;
  // All units have ended.
  ~BlockingProgram() {
    EXPECT_EQ(counted_file, expected_file);
    EXPECT_EQ(counted_tasklets, expected_tasklets);
    EXPECT_EQ(std::fseek(file, 0, SEEK_END), 0);
    EXPECT_EQ(std::ftell(file), expected_lines * static_cast<long>(std::strlen(kLine)));
    std::fclose(file);
    unlink(path.c_str());
  }

  static constexpr size_t kPage = 4096, kPages = 16;
  static constexpr const char* kLine = "one line of a unit's\n";
  const bool ticks;
  std::string path = testing::TempDir() + "weft-stress-XXXXXX";
  FILE* file;
  std::atomic<long> counted_file{0};  // under the file's lock, of which ThreadSanitizer knows nothing
  std::atomic<long> expected_file{0}, expected_lines{0}, expected_tasklets{0}, counted_tasklets{0};
};

inline BlockingProgram& program_of(const Part& part) { return *static_cast<BlockingProgram*>(part.program); }

// Of calls that are not restarted. True: again.
inline bool interrupted(const Part& part, bool failed) {
  if (!failed) return false;
  const int error = errno;
  EXPECT_EQ(error, EINTR);
  EXPECT_TRUE(program_of(part).ticks) << "EINTR without ticks";
  return error == EINTR;
}

// Runs block() while a ULT of its own, sooner or later, runs release().
template <class Block, class Release>
void with_helper(const Part& part, Random& random, Block block, Release release) {
  const uint64_t seed = random.below(1 << 30);
  Call call([&release, seed] {
    Random own(seed);
    if (own.below(2) == 0) compute(own);
    if (own.below(4) == 0) weft_yield();
    release();
  });
  weft_unit_attr_t attr = random_attr(part, random);
  // Its code is any code.
  if (part.any_code() && attr.preemption == WEFT_PREEMPTION_SIGNAL_YIELD) attr.preemption = WEFT_PREEMPTION_DEFAULT;
  weft_unit_t helper = call.ult(&attr);
  block();
  EXPECT_TRUE(ok(weft_free(&helper)));
}

inline void step_read(const Part& part, Random& random) {
  const Pipe pipe;
  char out[200], in[200] = {};
  const size_t bytes = 1 + random.below(sizeof out);
  std::memset(out, static_cast<int>('a' + bytes % 20), bytes);
  with_helper(
      part, random,
      [&] {
        EXPECT_EQ(read(pipe.out(), in, sizeof in), static_cast<ssize_t>(bytes));
        EXPECT_EQ(std::memcmp(in, out, bytes), 0);
      },
      [&] { EXPECT_EQ(write(pipe.in(), out, bytes), static_cast<ssize_t>(bytes)); });
}

// More than the pipe holds. Ticks make it come back early, as any signal does; nothing else may.
// One text for all: above 128 KiB AddressSanitizer's allocator has a lock for which it only spins. A unit that is not preempted would do
// so for ever, where one of its worker's has been while it held that (docs/preemption.md, "Locks that both kinds share").
inline const std::vector<char> large_text(150'000, 'w');
inline void step_large_write(const Part& part, Random& random) {
  const Pipe pipe;
  const std::vector<char>& out = large_text;
  with_helper(
      part, random,
      [&] {
        for (size_t done = 0; done < out.size();) {
          const ssize_t bytes = write(pipe.in(), out.data() + done, out.size() - done);
          ASSERT_GT(bytes, 0);
          done += static_cast<size_t>(bytes);
          EXPECT_TRUE(done == out.size() || program_of(part).ticks) << bytes;
        }
      },
      [&] {
        std::vector<char> in(16'384);
        for (size_t done = 0; done < out.size();) {
          const ssize_t bytes = read(pipe.out(), in.data(), in.size());
          ASSERT_GT(bytes, 0);
          done += static_cast<size_t>(bytes);
        }
      });
}

// Without a function of the C library's that looks at errno: also for signal-yield, whose read goes on on another thread.
inline void step_bare_read(const Part& part, Random& random) {
  int ends[2];
  ASSERT_EQ(syscall(SYS_pipe2, ends, O_CLOEXEC), 0);
  char in = 0;
  with_helper(
      part, random,
      [&] {
        EXPECT_EQ(syscall(SYS_read, ends[0], &in, 1), 1);
        EXPECT_EQ(in, 'b');
      },
      [&] { EXPECT_EQ(syscall(SYS_write, ends[1], "b", 1), 1); });
  syscall(SYS_close, ends[0]);
  syscall(SYS_close, ends[1]);
}

inline void sleep_in_the_kernel(const Part& part, unsigned ns) {
  const uint64_t begin = weft_now();
  timespec wanted{0, static_cast<long>(ns)};
  while (interrupted(part, nanosleep(&wanted, &wanted) != 0)) {
  }
  EXPECT_GE(weft_now() - begin, ns);
}

inline void step_nanosleep(const Part& part, Random& random) { sleep_in_the_kernel(part, random.below(300'000)); }

inline void step_poll(const Part& part, Random& random) {
  const Pipe pipe;
  with_helper(
      part, random,
      [&] {
        pollfd wanted{pipe.out(), POLLIN, 0};
        int n;
        while (interrupted(part, (n = poll(&wanted, 1, -1)) < 0)) {
        }
        EXPECT_EQ(n, 1);
        EXPECT_EQ(wanted.revents, POLLIN);
      },
      [&] { pipe.put(); });
}

inline void step_file_lock(const Part& part, Random& random) {
  BlockingProgram& program = program_of(part);
  const int fd = open(program.path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  const long before = program.counted_file.load(std::memory_order_relaxed);
  if (random.below(4) == 0) compute(random);
  program.counted_file.store(before + 1, std::memory_order_relaxed);
  program.expected_file.fetch_add(1, std::memory_order_relaxed);
  EXPECT_EQ(flock(fd, LOCK_UN), 0);
  close(fd);
}

inline void step_condition(const Part& part, Random& random) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool released = false;
  with_helper(
      part, random,
      [&] {
        pthread_mutex_lock(&mutex);
        while (!released) EXPECT_EQ(pthread_cond_wait(&condition, &mutex), 0);
        pthread_mutex_unlock(&mutex);
      },
      [&] {
        pthread_mutex_lock(&mutex);
        released = true;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
      });
  pthread_cond_destroy(&condition);
  pthread_mutex_destroy(&mutex);
}

inline void step_semaphore(const Part& part, Random& random) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  with_helper(
      part, random, [&] { EXPECT_EQ(sem_wait(&semaphore), 0) << errno; }, [&] { sem_post(&semaphore); });
  sem_destroy(&semaphore);
}

// Of a page that is not in memory.
inline void step_page_fault(const Part& part, Random& random) {
  const int fd = open(program_of(part).path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  constexpr size_t kBytes = BlockingProgram::kPage * BlockingProgram::kPages;
  void* place = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(place, MAP_FAILED);
  EXPECT_EQ(madvise(place, kBytes, MADV_DONTNEED), 0);
  EXPECT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  const volatile char* bytes = static_cast<const char*>(place);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bytes[random.below(kBytes)], 'p');
  munmap(place, kBytes);
  close(fd);
}

inline void step_fsync(const Part& part, Random& random) {
  if (random.below(8) != 0) return;  // takes milliseconds
  const int fd = open(program_of(part).path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(pwrite(fd, "p", 1, random.below(BlockingProgram::kPage)), 1);
  EXPECT_EQ(fsync(fd), 0);
  close(fd);
}

inline void step_print(const Part& part, Random& random) {
  BlockingProgram& program = program_of(part);
  const unsigned lines = 1 + random.below(20);
  program.expected_lines.fetch_add(lines, std::memory_order_relaxed);
  for (unsigned i = 0; i < lines; ++i) EXPECT_GT(std::fprintf(program.file, "%s", BlockingProgram::kLine), 0);
  if (random.below(8) != 0) return;
  EXPECT_EQ(std::fflush(program.file), 0);
}

inline void step_said_blocking(const Part& part, Random& random) {
  const Pipe pipe;
  with_helper(
      part, random,
      [&] {
        EXPECT_TRUE(ok(weft_blocking_begin()));
        EXPECT_EQ(pipe.get(), 'x');
        if (random.below(2) == 0) sleep_in_the_kernel(part, random.below(50'000));
        if (random.below(4) == 0) weft_yield();
        weft_blocking_end();
      },
      [&] { pipe.put(); });
}

// ---- what only ticks let end ---------------------------------------------------------------------

inline bool may_spin(const Part& part) { return program_of(part).ticks && part.kind != WEFT_PREEMPTION_NONE; }

inline void step_spin(const Part& part, Random& random) {
  if (!may_spin(part)) return;
  std::atomic<bool> flag{false};
  with_helper(
      part, random, [&] { spin_until(flag); }, [&] { flag.store(true, std::memory_order_relaxed); });
}

// More ULTs than workers, maybe.
inline void step_spin_barrier(const Part& part, Random& random) {
  if (!may_spin(part)) return;
  constexpr unsigned kUlts = 3, kRounds = 2;
  std::atomic<unsigned> arrived{0};
  Call call([&arrived] {
    for (unsigned round = 1; round <= kRounds; ++round) {
      arrived.fetch_add(1);
      while (arrived.load(std::memory_order_relaxed) < kUlts * round) spin_once();
    }
  });
  std::array<weft_unit_t, kUlts> units;
  for (weft_unit_t& unit : units) {
    weft_unit_attr_t attr = random_attr(part, random);
    if (attr.preemption == WEFT_PREEMPTION_NONE) attr.preemption = part.kind;
    unit = call.ult(&attr);
  }
  EXPECT_TRUE(ok(weft_free_many(kUlts, units.data())));
}

inline void step_cancel_with_ticks(const Part& part, Random& random) {
  if (program_of(part).ticks) step_cancel(part, random);
}

// ---- the rest ------------------------------------------------------------------------------------

// Blocks again and again, until it is cancelled.
inline void blocks_endlessly(void*) {
  for (;;) {
    usleep(50);
    weft_cancel_point();
  }
}

inline void step_cancel_blocked(const Part& part, Random& random) {
  cancel_one(blocks_endlessly, random, part.kind);
}

inline void step_migrate(const Part&, Random& random) {
  const weft_worker_t worker = weft_worker_get(random.below(weft_worker_count()));
  const int error = weft_migrate(weft_self(), weft_worker_pool(worker));
  EXPECT_TRUE(error == WEFT_OK || error == WEFT_ERR_STATE) << error;  // it, or its joiner, is pinned
  weft_yield();
}

inline void step_tasklets(const Part& part, Random& random) {
  const unsigned count = 1 + random.below(8);
  program_of(part).expected_tasklets.fetch_add(count, std::memory_order_relaxed);
  std::array<weft_unit_t, 8> units;
  for (unsigned i = 0; i < count; ++i) {
    const auto tasklet = [](void* program) {
      for (int k = 0; k < 1000; ++k) asm volatile("");
      static_cast<BlockingProgram*>(program)->counted_tasklets.fetch_add(1, std::memory_order_relaxed);
    };
    EXPECT_TRUE(ok(weft_tasklet_create(tasklet, part.program, nullptr, &units[i])));
  }
  EXPECT_TRUE(ok(weft_free_many(count, units.data())));
}

inline void take_all_steps(BlockingProgram& program) {
  program.everywhere = {step_compute, step_compute, step_lock, step_yield, step_spawn, step_spawn,
                        step_cancel_with_ticks, step_tasklets, step_bare_read, step_migrate};
  program.any_code = {step_allocate, step_lock_foreign, step_sleep, step_forks, step_read, step_large_write,
                      step_nanosleep, step_poll, step_file_lock, step_condition, step_semaphore, step_page_fault,
                      step_fsync, step_print, step_said_blocking, step_spin, step_spin_barrier, step_cancel_blocked};
  program.none_may_block = true;
}

}  // namespace weft_test
