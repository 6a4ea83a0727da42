// spin.cpp: the slice of a unit that only spins, on a word that another one is to write: it shrinks, since what is left of it is
// the others' to use. Where threads wait for each other in turn, and there are more of them than workers, each step would take
// whole slices otherwise.
//
// How a tick knows: since the last one that has found the unit its registers have not changed, but for one at most, by a little: the
// word, which others write meanwhile. Whoever computes has changed more: a counter, a pointer, a sum. So has whoever counts how
// often he has looked: that one keeps his slice.
// Rejected: where the instruction pointer is (a kernel that computes stays in few addresses; a loop that waits may call a
// function that pauses); what the code looks like there (a load, a comparison, a jump back: so does a search); what others get
// done meanwhile (that tells of them).
#include <algorithm>

#include "arch/frame.hpp"
#include "os/clock.hpp"
#include "preempt/preempt.hpp"
#include "unit/unit.hpp"

namespace weft::rt {
namespace {

// So often it is believed to spin where some unit has; then it is looked at twice.
constexpr uint32_t kMostDoubts = 8;
// By how much the word has changed, as a counter of steps or of those that have come. What counts turns of a loop gets further in 50 µs.
constexpr uint64_t kLittle = 64;
// A tick that is as late may find the unit where it stood because it has had no core meanwhile.
constexpr uint64_t kLateNs = 50'000;

// Of the unit that a tick has found last, of those that share the place. Written by who carries it; by the carriers of two at
// once at worst: then a slice is too short once, or too long.
struct Record {
  std::atomic<const Unit*> unit{nullptr};  // a name only: it may be gone
  std::atomic<uint64_t> general[kFrameGeneral]{};
  std::atomic<uint64_t> vectors{0};
  std::atomic<bool> seen{false};      // those are what the last tick has found
  std::atomic<uint32_t> halvings{0};  // of its slice
  std::atomic<uint32_t> doubts{0};    // ticks in a row that have found other values where some unit has spun
  std::atomic<uintptr_t> looked{0};   // the last tick has asked for another look, at this line
};
constexpr unsigned kRecordBits = 8;
constinit Record records[1u << kRecordBits];

Record& record_of(const Unit* unit) noexcept {
  const uint64_t key = reinterpret_cast<uintptr_t>(unit) / alignof(Unit);
  return records[key * 0x9e3779b97f4a7c15 >> (64 - kRecordBits)];
}

// Cache lines of code in which ticks have found units: where some unit has spun, and where one may have. Races cost a look at most.
struct Place {
  std::atomic<uintptr_t> line{0};
  std::atomic<bool> spun{false};
  std::atomic<bool> counts{false};  // or has done no more than count, between two looks
  std::atomic<uint32_t> looks{0};  // in vain, one after the other
};
constexpr unsigned kPlaceBits = 8;
constinit Place places[1u << kPlaceBits];
// So often a unit is looked at twice in a line where nobody has spun yet.
constexpr uint32_t kMostLooks = 4;
// After so many it is forgotten that some unit has: by chance one that computes may have been taken for one that spins.
constexpr uint32_t kForgottenAfter = 64;

uintptr_t line_of(const ucontext_t& frame) noexcept { return frame_ip(frame) / 64; }
Place& place_of(uintptr_t line) noexcept { return places[line * 0x9e3779b97f4a7c15 >> (64 - kPlaceBits)]; }

enum class Spinning { kNever, kMaybe, kHasBeen };

// kMaybe: of the lines that share the place this one has been met twice in a row.
Spinning look_up(uintptr_t line) noexcept {
  Place& place = place_of(line);
  const bool spun = place.spun.load(std::memory_order_relaxed);
  if (place.line.load(std::memory_order_relaxed) == line) {
    if (spun) return Spinning::kHasBeen;
    return place.looks.load(std::memory_order_relaxed) < kMostLooks ? Spinning::kMaybe : Spinning::kNever;
  }
  if (!spun) {
    place.line.store(line, std::memory_order_relaxed);
    place.counts.store(false, std::memory_order_relaxed);
    place.looks.store(0, std::memory_order_relaxed);
  }
  return Spinning::kNever;
}

void has_spun(uintptr_t line) noexcept {
  Place& place = place_of(line);
  place.line.store(line, std::memory_order_relaxed);
  place.spun.store(true, std::memory_order_relaxed);
  place.looks.store(0, std::memory_order_relaxed);
}

void looked_in_vain(uintptr_t line, bool counts) noexcept {
  Place& place = place_of(line);
  if (place.line.load(std::memory_order_relaxed) != line) return;
  const uint32_t looks = place.looks.fetch_add(1, std::memory_order_relaxed) + 1;
  if (looks >= kForgottenAfter) place.spun.store(false, std::memory_order_relaxed);
  place.counts.store(counts, std::memory_order_relaxed);
}

bool may_spin_at(uintptr_t line) noexcept {
  const Place& place = place_of(line);
  return place.line.load(std::memory_order_relaxed) == line &&
         (place.spun.load(std::memory_order_relaxed) || place.counts.load(std::memory_order_relaxed));
}

uint64_t shrunk(uint32_t halvings) noexcept {
  const uint64_t interval = preempt_settings.interval.load(std::memory_order_relaxed);
  return std::max(interval >> halvings, std::min(interval, preempt_settings.spin_slice));
}

// What a tick itself takes away of its thread's time: some microseconds, in a slow virtual machine's bad hours 11 to 16. The least of the last looks,
// since others have the core at few of them. Races cost a look at most.
class TickCost {
 public:
  void saw(int64_t away_ns) noexcept {
    const uint32_t looks = looks_.load(std::memory_order_relaxed);
    const int64_t least = std::min(now_.load(std::memory_order_relaxed), std::max(away_ns, int64_t{0}));
    if (looks + 1 < kLooks) {
      looks_.store(looks + 1, std::memory_order_relaxed);
      now_.store(least, std::memory_order_relaxed);
    } else {
      before_.store(least, std::memory_order_relaxed);
      looks_.store(0, std::memory_order_relaxed);
      now_.store(kMostNs, std::memory_order_relaxed);
    }
  }
  int64_t ns() const noexcept {
    return std::min(now_.load(std::memory_order_relaxed), before_.load(std::memory_order_relaxed));
  }

 private:
  static constexpr uint32_t kLooks = 16;
  static constexpr int64_t kMostNs = 15'000;  // with kAwayNs that is half of the shortest slice
  std::atomic<int64_t> now_{kMostNs}, before_{kMostNs};
  std::atomic<uint32_t> looks_{0};
};
constinit TickCost tick_cost;

// Another process may have had the core since the last tick, and this one be there in time all the same.
enum class HasRun { kNo, kYes, kUnknown };
constexpr int64_t kAwayNs = 10'000;  // beyond what the tick takes

HasRun has_run(const TickTime& time) noexcept {
  if (!time.away_ns) return HasRun::kUnknown;
  return *time.away_ns <= tick_cost.ns() + kAwayNs ? HasRun::kYes : HasRun::kNo;
}

// How the values differ from those that the last tick has found.
enum class Values { kSame, kOneChanged, kOthers };

// kSame: one may have changed by a little. kOneChanged: by any amount.
Values compare(const Record& record, const ucontext_t& frame) noexcept {
  if (record.vectors.load(std::memory_order_relaxed) != frame_vectors(frame)) return Values::kOthers;
  Values found = Values::kSame;
  unsigned changed = 0;
  for (unsigned i = 0; i < kFrameGeneral; ++i) {
    const uint64_t change = frame_general(frame, i) - record.general[i].load(std::memory_order_relaxed);
    if (change == 0) continue;
    if (++changed > 1) return Values::kOthers;
    if (change + kLittle > 2 * kLittle) found = Values::kOneChanged;
  }
  return found;
}

// Of a unit that has had time to change some, and does not sleep in the kernel.
Values values_of(const Record& record, const ucontext_t& frame, const TickTime& time) noexcept {
  if (!record.seen.load(std::memory_order_relaxed) || time.late_ns > kLateNs || frame_in_kernel(frame)) return Values::kOthers;
  return compare(record, frame);
}

void keep(Record& record, const ucontext_t& frame) noexcept {
  for (unsigned i = 0; i < kFrameGeneral; ++i) {
    record.general[i].store(frame_general(frame, i), std::memory_order_relaxed);
  }
  record.vectors.store(frame_vectors(frame), std::memory_order_relaxed);
}

}  // namespace

uint64_t preempt_slice(const Unit* unit) noexcept {
  const Record& record = record_of(unit);
  const bool known = record.unit.load(std::memory_order_relaxed) == unit;
  return shrunk(known ? record.halvings.load(std::memory_order_relaxed) : 0);
}

TickTime preempt_tick_time(const Klt* self) noexcept {
  const uint64_t due = self->tick_due.load(std::memory_order_relaxed), before = self->tick_away.load(std::memory_order_relaxed);
  const uint64_t now = now_ns();
  TickTime time{now > due ? now - due : 0, std::nullopt};
  if (before != 0) time.away_ns = static_cast<int64_t>(now - thread_cpu_ns() - before);
  return time;
}

// Who is found as it was is looked at again, soon: then it is known whether it has run in between. Then its slice is the shortest; from
// then on a quarter each time that it spins, twice as long each time that it does not: one that begins to compute has its slice back
// after a few ticks. One that was let go on, and waits again already, has other values, too: so where some unit has spun nothing
// is learnt from that, or it is looked at twice within one slice. So it is, a few times, where ticks come upon units again: where
// threads wait in turn each tick may find a new wait, and never the same values.
SpinLook preempt_look_for_spinning(const Unit* unit, const ucontext_t* frame, const TickTime& time) noexcept {
  Record& record = record_of(unit);
  const bool known = record.unit.load(std::memory_order_relaxed) == unit;
  const uintptr_t looked = known ? record.looked.load(std::memory_order_relaxed) : 0;
  uint32_t halvings = known ? record.halvings.load(std::memory_order_relaxed) : 0;
  uint32_t doubts = known ? record.doubts.load(std::memory_order_relaxed) : 0;
  uintptr_t again = 0;
  if (time.away_ns) tick_cost.saw(*time.away_ns);
  Values values = known && frame != nullptr ? values_of(record, *frame, time) : Values::kOthers;
  const HasRun run = values == Values::kSame ? has_run(time) : HasRun::kYes;
  if (run == HasRun::kNo) values = Values::kOthers;
  const bool looks = shrunk(0) > preempt_settings.spin_slice;
  if (values == Values::kSame && run == HasRun::kUnknown && looked == 0 && looks) {
    again = line_of(*frame);
  } else if (values == Values::kSame) {
    // Seen within one slice: certainly.
    do {
      if (shrunk(halvings) > shrunk(halvings + 1)) halvings += 2;
    } while (looked != 0 && shrunk(halvings) > shrunk(halvings + 1));
    doubts = 0;
    has_spun(line_of(*frame));
  } else if (frame == nullptr || looked != 0 || run == HasRun::kNo || time.late_ns > kLateNs || frame_in_kernel(*frame)) {
    halvings -= halvings != 0;
    if (looked != 0) looked_in_vain(looked, values == Values::kOneChanged);
  } else {
    const Spinning here = look_up(line_of(*frame));
    const bool believed = here == Spinning::kHasBeen && halvings != 0 && doubts < kMostDoubts;
    if (believed) ++doubts;
    if (here != Spinning::kHasBeen) halvings -= halvings != 0;
    if (here != Spinning::kNever && !believed && looks) again = line_of(*frame);
  }
  record.unit.store(unit, std::memory_order_relaxed);
  record.halvings.store(halvings, std::memory_order_relaxed);
  record.doubts.store(doubts, std::memory_order_relaxed);
  record.looked.store(again, std::memory_order_relaxed);
  record.seen.store(frame != nullptr, std::memory_order_relaxed);
  if (frame != nullptr) keep(record, *frame);
  if (again != 0) return SpinLook::kAgain;
  const bool may = values != Values::kOthers || (frame != nullptr && may_spin_at(line_of(*frame)));
  return may ? SpinLook::kMaySpin : SpinLook::kNothing;
}

}  // namespace weft::rt
