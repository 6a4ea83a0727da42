#include "affinity.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "os/cpu_set.hpp"
#include "scan.hpp"

namespace weft::omp {
namespace {

struct Format {
  std::mutex mutex;
  std::string text = device().affinity_format;
};
Format& format_var() {
  static Format& format = *new Format;  // outlives every static destructor
  return format;
}

std::vector<int> cpus_of(const Member* member) {
  const Device& machine = device();
  if (member != nullptr && member->place >= 0 && static_cast<size_t>(member->place) < machine.places.size())
    return machine.places[static_cast<size_t>(member->place)];
  std::vector<int> cpus;
  rt::CpuSet allowed;
  if (rt::get_affinity(allowed) != 0) return cpus;
  for (int cpu = 0; cpu < rt::kMaxCpus; ++cpu) {
    if (allowed.contains(cpu)) cpus.push_back(cpu);
  }
  return cpus;
}

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "undefined";
}

int ancestor_num(const Member* member) {
  const Member* above = member != nullptr ? member->team->opener : nullptr;
  return above != nullptr ? above->num : member != nullptr && member->team->level > 0 ? 0 : -1;
}

struct Field {
  char letter;
  const char* name;
};
constexpr Field kFields[] = {{'t', "team_num"},      {'T', "num_teams"},    {'L', "nesting_level"}, {'n', "thread_num"},
                             {'N', "num_threads"},   {'a', "ancestor_tnum"}, {'H', "host"},          {'P', "process_id"},
                             {'i', "native_thread_id"}, {'A', "thread_affinity"}};

std::string text_of(char letter, const Member* member) {
  const auto of_team = [member](auto field, int otherwise) { return std::to_string(member != nullptr ? member->team->*field : otherwise); };
  switch (letter) {
    case 't': return of_team(&Team::league_num, 0);
    case 'T': return of_team(&Team::league_size, 1);
    case 'L': return of_team(&Team::level, 0);
    case 'n': return std::to_string(member != nullptr ? member->num : 0);
    case 'N': return of_team(&Team::n, 1);
    case 'a': return std::to_string(ancestor_num(member));
    case 'H': return host_name();
    case 'P': return std::to_string(::getpid());
    case 'i': return std::to_string(::syscall(SYS_gettid));
    case 'A': return text_of_cpus(cpus_of(member));
    default: return "undefined";
  }
}

// What stands behind a % at `text`, which is cut off: `letter`, 0 where there is nothing of the name.
struct Spec {
  bool zeros = false;
  bool right = false;
  size_t width = 0;
  char letter = 0;
};
Spec take_spec(std::string_view& text) {
  Spec spec;
  const auto take = [&text](char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  };
  spec.zeros = take('0');
  spec.right = take('.');
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    spec.width = std::min<size_t>(10 * spec.width + static_cast<size_t>(text.front() - '0'), 4096);
    text.remove_prefix(1);
  }
  if (take('{')) {
    const size_t end = std::min(text.find('}'), text.size());
    const std::string_view name = text.substr(0, end);
    for (const Field& field : kFields) {
      if (name == field.name) spec.letter = field.letter;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  } else if (!text.empty()) {
    spec.letter = text.front();
    text.remove_prefix(1);
  }
  return spec;
}

std::string padded(const std::string& text, const Spec& spec) {
  if (text.size() >= spec.width) return text;
  const size_t missing = spec.width - text.size();
  if (!spec.right) return text + std::string(missing, ' ');
  // Zeros go behind a sign, and in front of numbers only.
  const size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
  const bool number = text.size() > sign && text.find_first_not_of("0123456789", sign) == std::string::npos;
  if (!spec.zeros || !number) return std::string(missing, ' ') + text;
  return text.substr(0, sign) + std::string(missing, '0') + text.substr(sign);
}

}  // namespace

std::string affinity_format() {
  Format& format = format_var();
  const std::lock_guard lock(format.mutex);
  return format.text;
}

void set_affinity_format(std::string_view text) {
  Format& format = format_var();
  const std::lock_guard lock(format.mutex);
  format.text = text;
}

std::string text_of_cpus(const std::vector<int>& cpus) {
  std::vector<int> sorted = cpus;
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (size_t first = 0, last; first < sorted.size(); first = last + 1) {
    for (last = first; last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1;) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[first]);
    if (last != first) text += '-' + std::to_string(sorted[last]);
  }
  return text;
}

std::string affinity_text(std::string_view format, const Member* member) {
  std::string text;
  while (!format.empty()) {
    const size_t percent = std::min(format.find('%'), format.size());
    text.append(format.substr(0, percent));
    format.remove_prefix(percent);
    if (format.empty()) break;
    format.remove_prefix(1);
    const Spec spec = take_spec(format);
    text += spec.letter == '%' ? "%" : padded(text_of(spec.letter, member), spec);
  }
  return text;
}

void show_affinity(std::string line) {
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
}

void display_affinity(const Member* member) {
  show_affinity(affinity_text(affinity_format(), member));
}

}  // namespace weft::omp
