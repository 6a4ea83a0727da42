#include "env.hpp"

namespace weft::omp {
namespace {

constexpr int64_t kSpinsPerMicrosecond = 100;  // libgomp's, on the machines that its figures are for

template <typename Value>
struct Named {
  const char* name;
  Value value;
};

template <typename Value, size_t n>
bool find_word(Scan& text, const Named<Value> (&words)[n], Value& value) {
  const std::string word = text.word();
  for (const auto& [name, meaning] : words) {
    if (word != name) continue;
    value = meaning;
    return true;
  }
  return false;
}

// One word, and nothing behind it.
template <typename Value, size_t n>
bool only_word(Scan& text, const Named<Value> (&words)[n], Value& value) {
  Value found{};
  if (!find_word(text, words, found) || !text.at_end()) return false;
  value = found;
  return true;
}

constexpr Named<Sched> kKinds[] = {
    {"static", Sched::kStatic}, {"dynamic", Sched::kDynamic}, {"guided", Sched::kGuided}, {"auto", Sched::kAuto},
    // libomp's
    {"trapezoidal", Sched::kTrapezoidal}, {"static_steal", Sched::kDynamic}};

constexpr Named<Bind> kBinds[] = {{"primary", Bind::kPrimary}, {"master", Bind::kPrimary},
                                  {"close", Bind::kClose},     {"spread", Bind::kSpread}};

// "monotonic:" or "nonmonotonic:" at the front of `text`; where there is neither, `kind` is set.
bool read_kind(Scan& text, Schedule& schedule) {
  Scan ahead = text;
  const std::string modifier = ahead.word();
  if (ahead.take(':')) {
    if (modifier != "monotonic" && modifier != "nonmonotonic") return false;
    schedule.monotonic = modifier == "monotonic";
    text = ahead;
  }
  return find_word(text, kKinds, schedule.kind);
}

}  // namespace

bool read_switch(Scan& text, bool& on) {
  static constexpr Named<bool> kWords[] = {{"true", true}, {"yes", true},  {"on", true},  {"enabled", true},
                                           {"false", false}, {"no", false}, {"off", false}, {"disabled", false}};
  long number = 0;
  if (!text.number(number)) return only_word(text, kWords, on);
  if ((number != 0 && number != 1) || !text.at_end()) return false;
  on = number == 1;
  return true;
}

bool read_size(Scan& text, size_t unit, size_t& bytes) {
  long number = 0;
  if (!text.number(number) || number < 0) return false;
  const std::string suffix = text.word();
  if (!suffix.empty()) {
    const size_t place = std::string_view("bkmgt").find(suffix[0]);
    if (place == std::string_view::npos || !(suffix.size() == 1 || (place > 0 && suffix.substr(1) == "b"))) return false;
    unit = size_t{1} << (10 * place);
  }
  return text.at_end() && !__builtin_mul_overflow(static_cast<size_t>(number), unit, &bytes);
}

bool read_num_threads(Scan& text, Reading& reading) {
  std::vector<int> list;
  do {
    int n = 0;
    if (!text.number(n, 1)) return false;
    list.push_back(n);
  } while (text.take(','));
  if (!text.at_end()) return false;
  reading.device.nthreads_list = list;
  return true;
}

bool read_schedule(Scan& text, Reading& reading) {
  Schedule schedule;
  if (!read_kind(text, schedule)) return false;
  if (text.take(',') && !text.number(schedule.chunk, 1)) return false;
  if (!text.at_end()) return false;
  if (schedule.chunk == 0 && schedule.kind != Sched::kStatic) schedule.chunk = 1;
  schedule.given = true;
  reading.device.initial.run_sched = schedule;
  return true;
}

bool read_proc_bind(Scan& text, Reading& reading) {
  std::vector<Bind> list;
  bool unset = false;
  Scan whole = text;
  bool on = false;
  if (read_switch(whole, on)) {
    list.push_back(on ? Bind::kTrue : Bind::kFalse);
  } else {
    do {
      Scan ahead = text;
      Bind bind{};
      if (find_word(text, kBinds, bind)) {
        list.push_back(bind);
      } else if (ahead.word() == "unset" && ahead.at_end()) {
        text = ahead;
        unset = true;
      } else {
        return false;
      }
    } while (text.take(','));
    if (!text.at_end()) return false;
  }
  reading.device.bind_list = list;
  reading.device.bind_unset_after = unset && !list.empty();
  reading.bind_given = !list.empty();
  return true;
}

bool read_teams_bind(Scan& text, Reading& reading) { return only_word(text, kBinds, reading.device.teams_bind); }

bool read_wait_policy(Scan& text, Reading& reading) {
  static constexpr Named<WaitPolicy> kWords[] = {
      {"active", WaitPolicy::kActive}, {"passive", WaitPolicy::kPassive}, {"hybrid", WaitPolicy::kHybrid}};
  if (!only_word(text, kWords, reading.device.wait)) return false;
  reading.wait_given = true;
  return true;
}

bool read_spin_count(Scan& text, Reading& reading) {
  static constexpr Named<int> kForEver[] = {{"infinite", 1}, {"infinity", 1}};
  int for_ever = 0;
  size_t spins = 0;
  Scan number = text;
  // As with sizes: K, M, G, T; but a B has no meaning.
  if (!only_word(text, kForEver, for_ever) && !read_size(number, 1, spins)) return false;
  if (reading.wait_given) return true;
  Device& device = reading.device;
  device.wait = for_ever != 0 ? WaitPolicy::kActive : spins == 0 ? WaitPolicy::kPassive : WaitPolicy::kHybrid;
  if (device.wait == WaitPolicy::kHybrid) device.spin_us = 1 + static_cast<int64_t>(spins / kSpinsPerMicrosecond);
  reading.wait_given = true;
  return true;
}

bool read_display_env(Scan& text, Reading& reading) {
  Scan word = text;
  if (word.word() == "verbose" && word.at_end()) {
    reading.device.display_env = DisplayEnv::kVerbose;
    return true;
  }
  bool on = false;
  if (!read_switch(text, on)) return false;
  reading.device.display_env = on ? DisplayEnv::kYes : DisplayEnv::kNo;
  return true;
}

bool read_offload(Scan& text, Reading& reading) {
  static constexpr Named<Offload> kWords[] = {
      {"default", Offload::kDefault}, {"mandatory", Offload::kMandatory}, {"disabled", Offload::kDisabled}};
  return only_word(text, kWords, reading.device.offload);
}

bool read_tool(Scan& text, Reading& reading) { return read_switch(text, reading.device.tool); }

bool read_debug(Scan& text, Reading&) {
  bool on = false;
  return read_switch(text, on);
}

}  // namespace weft::omp
