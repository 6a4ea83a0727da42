// options.hpp: what a user can set from outside, and how.
//
// One table (options.cpp) has everything about an option: its name, what it takes, its default,
// its range and its help. The parser, the help text and docs/options.md are made from it, so they
// cannot disagree. To add an option: a field here, a row there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::rt {

// How an overflow of a stack is noticed.
enum class StackGuard {
  Auto,      // Madvise where the kernel can, else Mprotect
  Madvise,   // MADV_GUARD_INSTALL: costs no VMA
  Mprotect,  // a page without access: costs two VMAs a stack
  Off,
};

// Pages for stacks and descriptors.
enum class HugePages {
  Off,          // ordinary ones
  Transparent,  // the kernel is asked for huge ones, and gives them if it has them
  Explicit,     // from the machine's reserved pool; Transparent where that is empty
};

// Whether the units that run have a time slice.
enum class PreemptMode : std::uint32_t {
  Off,
  On,    // a tick for each worker in each interval
  Auto,  // only while a unit waits and the one that runs does not leave by itself
};

// How a ULT that does not say is preempted: as weft_preemption_t, from its second on.
enum class PreemptKind { None, SignalYield, KltSwitching };

// Where, between two ticks of the kernel, ours lie.
enum class PreemptAlign {
  Tick,    // as near to the kernel's as the interval allows: those cost little beyond what they cost anyway
  Spread,  // spread over the interval, so that no two workers' fire together
};

// Whose timers the ticks come from.
enum class PreemptTimer {
  Worker,    // each worker's own
  OneToAll,  // one for the process; who gets its tick sends it to all others that can use one
  Chain,     // the same; to the next one, who sends it on
};

// Whether a worker is taken from a kernel thread that blocks in the kernel.
enum class BlockMode : std::uint32_t {
  Off,
  On,
  Auto,  // only while a unit waits for it
};

// How it is seen that one does.
enum class BlockRung {
  Auto,  // the best that is granted
  Bpf,   // an eBPF program
  Perf,  // the kernel's records of context switches
  Proc,  // the files of /proc
  None,
};

// CPUs as the user listed them: the order counts.
struct CpuList {
  static constexpr int kCapacity = 1024;
  int size = 0;
  std::array<std::uint16_t, kCapacity> cpus{};
};

struct Options {
  int workers_count = 0;     // 0: as many as the CPUs can keep busy
  bool workers_bind = true;  // each worker to a CPU of its own
  CpuList workers_cpus;      // empty: all the process may use
  int idle_spin_us = 0;
  std::size_t stack_size = 0;  // bytes
  StackGuard stack_guard = StackGuard::Auto;
  bool stack_watermark = false;
  HugePages huge_pages = HugePages::Off;
  int klt_spare = 0;
  int dump_signal = 0;  // 0: none
  PreemptMode preemption = PreemptMode::Off;
  PreemptKind preemption_kind = PreemptKind::KltSwitching;
  int preemption_interval_us = 0;
  int preemption_spin_us = 0;
  PreemptAlign preemption_align = PreemptAlign::Tick;
  PreemptTimer preemption_timer = PreemptTimer::Worker;
  int preemption_signal = 0;  // 0: one that nobody uses
  BlockMode blocking = BlockMode::Off;
  BlockRung blocking_rung = BlockRung::Auto;
  int blocking_klts = 0;
  int identity_limit = 0;
};

// Where a value comes from: the name of an environment variable to its text, or null.
using OptionSource = const char* (*)(const char* name);

// The defaults, overridden by what the environment says. A value that is not allowed is reported on
// standard error and its default stands. Any thread; nothing is thrown.
Options read_options() noexcept;
Options read_options(OptionSource source) noexcept;

// For `--help` and for docs/options.md. May throw std::bad_alloc.
std::string options_help();
std::string options_markdown();

}  // namespace weft::rt
