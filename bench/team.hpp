// team.hpp: several ULTs on every worker that do the same thing at the same time.
#ifndef WEFT_BENCH_TEAM_HPP
#define WEFT_BENCH_TEAM_HPP

#include <atomic>
#include <vector>

#include "harness.hpp"

namespace bench {

// Workers and how ULTs are put on them, from the command line. `sides` is for kernels of two ULTs:
// "together" on one worker; "apart", each on a worker of its own; or "free", where the library's
// scheduler likes to have them.
inline Mode mode_of(const Setup& setup, const std::string& sides = "apart") {
  check(sides == "together" || sides == "apart" || sides == "free", "sides: together, apart, free");
  check((sides == "together") <= (setup.workers() == 1), "sides=together is for one worker");
  if (setup.workers() == 1) {
    return Mode::kPlain;
  }
  return sides == "free" ? Mode::kForkJoin : Mode::kPinned;
}

// Runs body(index) in `ults` ULTs, dealt to the workers in turn. They start when all are there.
template <class Lib, class Body>
class Team {
 public:
  Team(Lib& lib, Mode mode, int workers, int ults, Body body)
      : ults_(ults), body_(std::move(body)), members_(static_cast<size_t>(ults)) {
    for (int i = 0; i < ults; ++i) {
      Member& member = members_[static_cast<size_t>(i)];
      member.team = this;
      member.index = i;
      if (mode == Mode::kPinned) {
        lib.template create_on<run>(i % workers, member.handle, &member);
      } else {
        lib.template create<run>(member.handle, &member);
      }
    }
    for (Member& member : members_) {
      lib.join(member.handle);
    }
  }

 private:
  struct Member {
    Team* team = nullptr;
    int index = 0;
    typename Lib::Handle handle{};
  };

  static void run(void* arg) {
    const auto& member = *static_cast<Member*>(arg);
    Team& team = *member.team;
    team.there_.fetch_add(1, std::memory_order_relaxed);
    while (team.there_.load(std::memory_order_relaxed) < team.ults_) {
      Lib::yield();
    }
    team.body_(member.index);
  }

  const int ults_;
  Body body_;
  std::vector<Member> members_;
  std::atomic<int> there_{0};
};

template <class Lib, class Body>
void run_team(Lib& lib, Mode mode, const Setup& setup, int ults, Body body) {
  Team<Lib, Body>(lib, mode, setup.workers(), ults, std::move(body));
}

}  // namespace bench

#endif  // WEFT_BENCH_TEAM_HPP
