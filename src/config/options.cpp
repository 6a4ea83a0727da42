#include "config/options.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <type_traits>

#include "config/option_table.hpp"

namespace weft::rt {
namespace {

template <auto field>
void store(Options& options, const OptionValue& value) {
  auto& target = options.*field;
  target = static_cast<std::remove_reference_t<decltype(target)>>(value.number);
}

template <CpuList Options::* field>
void store_cpus(Options& options, const OptionValue& value) {
  options.*field = value.cpus;
}

constexpr char kSwitch[] = "off|on";

constexpr Option kTable[] = {
    {"WEFT_WORKERS_COUNT", OptionType::Number, "auto", 1, 1024, "auto",
     "How many workers run units. `auto`: one per CPU that the process may use, but not more than "
     "the CPU quota of its cgroup pays for, rounded up. Processes of one MPI job that use the same CPUs "
     "(Open MPI, MPICH, Intel MPI and MVAPICH tell) share them, and the quota.",
     store<&Options::workers_count>},
    {"WEFT_WORKERS_BIND", OptionType::Word, "on", 0, 0, kSwitch,
     "Whether each worker is bound to a CPU of its own, spread over cores first. Switch it off "
     "when "
     "several programs share the same CPUs and none of them knows of the others. Processes of one MPI "
     "job are bound to their shares, or not at all where it is not known which those are.",
     store<&Options::workers_bind>},
    {"WEFT_WORKERS_CPUS", OptionType::Cpus, "", 0, 0, "",
     "The CPUs for workers, as the kernel numbers them, in the order in which workers get them. "
     "CPUs that the process may not use are left out. Empty: all that it may use.",
     store_cpus<&Options::workers_cpus>},
    {"WEFT_IDLE_SPIN", OptionType::Number, "20", 0, 1000000, "",
     "For how many microseconds a worker without work looks for some before it sleeps in the "
     "kernel. The default is about what it costs to wake a sleeper on another core: less saves "
     "nothing but CPU time, more burns it.",
     store<&Options::idle_spin_us>},
    {"WEFT_STACK_SIZE", OptionType::Bytes, "128K", 16 << 10, std::int64_t{64} << 30, "",
     "The size of a ULT's stack where the program does not say. Only what is touched takes memory.",
     store<&Options::stack_size>},
    {"WEFT_STACK_GUARD", OptionType::Word, "auto", 0, 0, "auto|madvise|mprotect|off",
     "How an overflow of a stack is caught. `madvise` installs guard pages that cost no mapping of "
     "their own (Linux 6.13 and later); `mprotect` works everywhere, but the kernel's limit on "
     "mappings allows some 30 000 such stacks; `auto` takes the first that works.",
     store<&Options::stack_guard>},
    {"WEFT_STACK_WATERMARK", OptionType::Word, "off", 0, 0, kSwitch,
     "Whether stacks are filled with a pattern, so that a unit can be asked how deep it went. It "
     "costs a write of the whole stack at each use.",
     store<&Options::stack_watermark>},
    {"WEFT_HUGE_PAGES", OptionType::Word, "off", 0, 0, "off|transparent|explicit",
     "Whether stacks of the default size and descriptors lie in pages of 2 MiB. `transparent` asks the kernel "
     "for them; `explicit` takes them from the pool that the machine's administrator has reserved "
     "(vm.nr_hugepages), and asks as `transparent` does where that is empty. A suspended ULT then takes its whole "
     "stack of memory, not one page of it, and an overflow of a stack below 2 MiB is noticed later, by a "
     "canary: docs/memory.md has the figures.",
     store<&Options::huge_pages>},
    {"WEFT_KLT_SPARE", OptionType::Number, "2", 0, 1024, "",
     "How many kernel threads without work are kept for the next hand-over; more than that end.",
     store<&Options::klt_spare>},
    {"WEFT_DUMP_SIGNAL", OptionType::Signal, "off", 0, 0, "off",
     "A signal at which the process writes all its units to standard error: their names, states, what "
     "they wait for, and their backtraces (docs/inside.md). The program must have no use for it itself.",
     store<&Options::dump_signal>},
    {"WEFT_PREEMPTION", OptionType::Word, "off", 0, 0, "off|on|auto",
     "Whether a ULT that does not come back to Weft has to let others run. `on`: each worker has a tick in each "
     "interval; `auto`: only while a unit waits for a worker whose ULT does not leave by itself, so a program in which "
     "nobody waits takes no signal.",
     store<&Options::preemption>},
    {"WEFT_PREEMPTION_KIND", OptionType::Word, "klt-switching", 0, 0, "none|signal-yield|klt-switching",
     "How ULTs are preempted that do not say. `klt-switching` is right for any code: the ULT keeps its kernel thread, "
     "and another one goes on with the worker. `signal-yield` is cheaper, for code that uses nothing of its kernel "
     "thread's: no malloc, no stdio, no thread-local variables, no locks but Weft's (docs/preemption.md).",
     store<&Options::preemption_kind>},
    {"WEFT_PREEMPTION_INTERVAL", OptionType::Number, "1000", 100, 1000000, "",
     "The time slice in microseconds.", store<&Options::preemption_interval_us>},
    {"WEFT_PREEMPTION_SPIN", OptionType::Number, "50", 20, 1000000, "",
     "The time slice in microseconds to which that of a ULT shrinks that does nothing but spin, tick after tick. One that is "
     "not shorter than WEFT_PREEMPTION_INTERVAL: its slice stays what it is.",
     store<&Options::preemption_spin_us>},
    {"WEFT_PREEMPTION_ALIGN", OptionType::Word, "tick", 0, 0, "tick|spread",
     "When ticks come. `tick`: together with the kernel's own, as far as the interval allows, where they cost a fraction; "
     "`spread`: spread over the interval, so that on many cores no two workers' come together.",
     store<&Options::preemption_align>},
    {"WEFT_PREEMPTION_TIMER", OptionType::Word, "worker", 0, 0, "worker|one-to-all|chain",
     "Where ticks come from. `worker`: each worker has a timer of its own; `one-to-all`: there is one in the process, and "
     "the worker that it interrupts sends the tick to all others whose ULT can be preempted; `chain`: to the next of "
     "them, which sends it on. The latter two spare workers that run nothing preemptive the interrupt, and cost all others "
     "more.",
     store<&Options::preemption_timer>},
    {"WEFT_PREEMPTION_SIGNAL", OptionType::Signal, "auto", 0, 0, "auto",
     "The signal of the tick. `auto`: the last real-time signal that nobody handles or blocks. The program must have no use for "
     "it itself.",
     store<&Options::preemption_signal>},
    {"WEFT_BLOCKING", OptionType::Word, "off", 0, 0, "off|on|auto",
     "Whether a worker goes on with other units while the ULT that runs on it blocks in the kernel: in a system call, a "
     "page fault, a lock of a foreign library. `auto`: where units wait, for that worker or for others that have several; "
     "`on`: also where none does (docs/blocking.md).",
     store<&Options::blocking>},
    {"WEFT_BLOCKING_RUNG", OptionType::Word, "auto", 0, 0, "auto|bpf|perf|proc",
     "How it is seen that a kernel thread blocks. `bpf`: from what an eBPF program writes down, for processes with "
     "CAP_BPF and CAP_PERFMON; `perf`: from the kernel's records of its context switches, which need no privilege where "
     "kernel.perf_event_paranoid is 2 or less; `proc`: from /proc. `auto`: `proc`, or `perf` where /proc cannot be read. "
     "What is asked for and not granted is replaced by what comes next in this list, and that is told once.",
     store<&Options::blocking_rung>},
    {"WEFT_BLOCKING_KLTS", OptionType::Number, "512", 1, 32768, "",
     "How many ULTs may block in the kernel without their workers, each with a kernel thread of its own. One more keeps "
     "its worker, for 10 ms at most if others wait there, unless all workers would stand still.",
     store<&Options::blocking_klts>},
    {"WEFT_IDENTITY_LIMIT", OptionType::Number, "4096", 1, 1000000, "",
     "How many ULTs may have an identity of their own at a time. Each takes a kernel thread that sleeps, and some 32 KiB of "
     "memory (docs/identity.md).",
     store<&Options::identity_limit>},
};

void warn(const Option& option, const char* text) noexcept try {
  const std::string line = std::string("weft: ") + option.name + "=\"" + text +
                           "\" is not allowed; it takes " + describe_allowed(option) +
                           ". Using the default, " +
                           (*option.standard != '\0' ? option.standard : "empty") + ".\n";
  // One write, so that the lines of several processes do not mix.
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
} catch (...) {  // no memory for a warning: the default stands all the same
}

void read_option(const Option& option, const char* text, Options& options) {
  OptionValue value;
  if (parse_option(option, option.standard, value)) option.store(options, value);
  if (text == nullptr) return;
  if (parse_option(option, text, value)) {
    option.store(options, value);
  } else {
    warn(option, text);
  }
}

const char* from_environment(const char* name) { return std::getenv(name); }

}  // namespace

std::span<const Option> option_table() { return kTable; }

Options read_options(OptionSource source) noexcept {
  Options options;
  for (const Option& option : kTable) read_option(option, source(option.name), options);
  return options;
}

Options read_options() noexcept { return read_options(from_environment); }

}  // namespace weft::rt
