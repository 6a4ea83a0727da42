// option_parse.cpp: from the text of an option to its value.

#include <signal.h>
#include <string.h>

#include <cctype>
#include <charconv>
#include <cstring>

#include "config/option_table.hpp"
#include "os/cpu_set.hpp"

namespace weft::rt {
namespace {

constexpr int kFirstReservedSignal = 32;  // up to SIGRTMIN the C library keeps them for itself

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// The place of `text` in a list separated by '|'; -1 if it is not there.
int place_of(std::string_view text, std::string_view words) {
  for (int place = 0; !words.empty(); ++place) {
    const std::size_t end = words.find('|');
    if (same_word(text, words.substr(0, end))) return place;
    words.remove_prefix(end == words.npos ? words.size() : end + 1);
  }
  return -1;
}

// Cuts a number off the front of `text`. Digits only: no sign, no blanks.
bool take_number(std::string_view& text, std::int64_t& number) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool parse_number(std::string_view text, std::int64_t& number) {
  return take_number(text, number) && text.empty();
}

int shift_of(char unit) {
  switch (std::toupper(static_cast<unsigned char>(unit))) {
    case 'K': return 10;
    case 'M': return 20;
    case 'G': return 30;
    default: return -1;
  }
}

bool parse_bytes(std::string_view text, std::int64_t& bytes) {
  if (!take_number(text, bytes)) return false;
  if (text.empty()) return true;
  const int shift = shift_of(text.front());
  return text.size() == 1 && shift > 0 && !__builtin_mul_overflow(bytes, 1ll << shift, &bytes);
}

bool append(CpuList& list, std::int64_t first, std::int64_t last) {
  if (first > last || last >= kMaxCpus) return false;
  for (std::int64_t cpu = first; cpu <= last; ++cpu) {
    if (list.size == CpuList::kCapacity) return false;
    list.cpus[static_cast<std::size_t>(list.size++)] = static_cast<std::uint16_t>(cpu);
  }
  return true;
}

// "0,2-5". Empty is allowed: it means no choice.
bool parse_cpus(std::string_view text, CpuList& list) {
  list.size = 0;
  while (!text.empty()) {
    std::int64_t first = 0;
    if (!take_number(text, first)) return false;
    std::int64_t last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take_number(text, last)) return false;
    }
    if (!append(list, first, last)) return false;
    if (text.empty()) return true;
    if (!text.starts_with(',') || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return true;
}

struct SignalName {
  const char* name;
  int number;
};
constexpr SignalName kSignalNames[] = {
    {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ILL", SIGILL},       {"TRAP", SIGTRAP}, {"ABRT", SIGABRT},
    {"BUS", SIGBUS},       {"FPE", SIGFPE},   {"KILL", SIGKILL}, {"USR1", SIGUSR1},     {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE},     {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"STKFLT", SIGSTKFLT}, {"CHLD", SIGCHLD}, {"CONT", SIGCONT},
    {"STOP", SIGSTOP},     {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU},     {"URG", SIGURG},   {"XCPU", SIGXCPU},
    {"XFSZ", SIGXFSZ},     {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"VTALRM", SIGVTALRM}, {"POLL", SIGPOLL}, {"PWR", SIGPWR},
    {"SYS", SIGSYS},       {"IO", SIGIO},
};

// 0: no such name.
int signal_of_name(std::string_view name) {
  for (const SignalName& each : kSignalNames) {
    if (same_word(name, each.name)) return each.number;
  }
  return 0;
}

// Whether a program may handle it for a purpose of its own.
bool is_free_signal(std::int64_t signal) {
  for (const int no : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    if (signal == no) return false;
  }
  return signal > 0 && (signal < kFirstReservedSignal || (signal >= SIGRTMIN && signal <= SIGRTMAX));
}

// "SIGUSR2", "usr2", "RTMIN+3", "12".
bool parse_signal(std::string_view text, std::int64_t& signal) {
  constexpr std::string_view kPrefix = "SIG", kRealTime = "RTMIN+";
  if (same_word(text.substr(0, kPrefix.size()), kPrefix)) text.remove_prefix(kPrefix.size());
  if (same_word(text.substr(0, kRealTime.size()), kRealTime)) {
    if (!parse_number(text.substr(kRealTime.size()), signal) || signal > SIGRTMAX - SIGRTMIN) return false;
    signal += SIGRTMIN;
  } else if (!parse_number(text, signal)) {
    signal = signal_of_name(text);
  }
  return is_free_signal(signal);
}

// Switches are also known as 0 and 1, as in many other programs.
std::string_view usual_word(std::string_view text, std::string_view words) {
  if (words != "off|on") return text;
  for (const char* no : {"0", "no", "false"}) {
    if (same_word(text, no)) return "off";
  }
  for (const char* yes : {"1", "yes", "true"}) {
    if (same_word(text, yes)) return "on";
  }
  return text;
}

}  // namespace

bool parse_option(const Option& option, std::string_view text, OptionValue& value) {
  const int place = place_of(usual_word(text, option.words), option.words);
  if (place >= 0) {
    value.number = place;
    return true;
  }
  switch (option.type) {
    case OptionType::Word: return false;
    case OptionType::Cpus: return parse_cpus(text, value.cpus);
    case OptionType::Signal: return parse_signal(text, value.number);
    case OptionType::Number:
      if (!parse_number(text, value.number)) return false;
      break;
    case OptionType::Bytes:
      if (!parse_bytes(text, value.number)) return false;
      break;
  }
  return value.number >= option.min && value.number <= option.max;
}

}  // namespace weft::rt
