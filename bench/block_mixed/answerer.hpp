// answerer.hpp: the other end of the pipes: another process, which answers a request some time later.
//
// A request is the number of the pipe to write to; all take the same time, so they are answered in the order in which they
// came. It is a process so that neither its CPU time nor its threads are the library's.
#ifndef WEFT_BENCH_BLOCK_MIXED_ANSWERER_HPP
#define WEFT_BENCH_BLOCK_MIXED_ANSWERER_HPP

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <deque>
#include <vector>

#include "harness.hpp"

namespace bench {

class Answerer {
 public:
  // Before the library starts.
  Answerer(int pipes, double delay_s) : delay_(delay_s), pipes_(static_cast<size_t>(pipes)) {
    check(pipe(requests_) == 0, "pipe");
    for (Pipe& one : pipes_) {
      check(pipe(one.ends) == 0, "pipe");
    }
    child_ = fork();
    check(child_ >= 0, "fork");
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_TIMERSLACK, 1);
      serve();
    }
    close(requests_[0]);
  }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;
  ~Answerer() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  // Blocks until the answer has come.
  void ask(int index) {
    const auto number = static_cast<uint16_t>(index);
    check(write(requests_[1], &number, sizeof number) == sizeof number, "write");
    char byte;
    check(read(pipes_[static_cast<size_t>(index)].ends[0], &byte, 1) == 1, "read");
  }

  int request_end() const { return requests_[1]; }
  int answer_end(int index) const { return pipes_[static_cast<size_t>(index)].ends[0]; }

 private:
  struct Pipe {
    int ends[2];
  };
  struct Due {
    double when;
    uint16_t number;
  };

  [[noreturn]] void serve() {
    fcntl(requests_[0], F_SETFL, O_NONBLOCK);
    std::deque<Due> due;
    for (;;) {
      wait_for(due);
      uint16_t numbers[64];
      const ssize_t got = read(requests_[0], numbers, sizeof numbers);
      const double now = wall_s();
      for (ssize_t i = 0; i < got / static_cast<ssize_t>(sizeof numbers[0]); ++i) {
        due.push_back({now + delay_, numbers[i]});
      }
      for (; !due.empty() && due.front().when <= now; due.pop_front()) {
        if (write(pipes_[due.front().number].ends[1], "", 1) != 1) {
          _exit(1);
        }
      }
    }
  }

  void wait_for(const std::deque<Due>& due) const {
    pollfd request{requests_[0], POLLIN, 0};
    if (due.empty()) {
      poll(&request, 1, -1);
      return;
    }
    const double left = due.front().when - wall_s();
    if (left > 0) {
      const timespec time{0, static_cast<long>(left * 1e9)};
      ppoll(&request, 1, &time, nullptr);
    }
  }

  double delay_;
  int requests_[2]{};
  std::vector<Pipe> pipes_;
  pid_t child_ = -1;
};

}  // namespace bench

#endif  // WEFT_BENCH_BLOCK_MIXED_ANSWERER_HPP
