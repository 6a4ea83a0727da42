#include "environment.hpp"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "weft/weft.h"

namespace weft::abt {
namespace {

const char* find(const std::string& name) {
  const char* value = std::getenv(("ABT_" + name).c_str());
  return value != nullptr ? value : std::getenv(("ABT_ENV_" + name).c_str());
}

// Raised to `least`.
size_t find_size(const std::string& name, size_t least, size_t otherwise) {
  const char* text = find(name);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  const bool number = end != text && *end == '\0' && errno == 0 && *text != '-';
  return number ? std::max(static_cast<size_t>(value), least) : otherwise;
}

// No by default.
bool find_yes(const std::string& name) {
  const char* text = find(name);
  if (text == nullptr) return false;
  for (const char* yes : {"1", "y", "yes", "true", "on"}) {
    if (strcasecmp(text, yes) == 0) return true;
  }
  return false;
}

// How ESs are bound by ABT_init(), from ABT_SET_AFFINITY.
const char* where_to_bind(const char* text) {
  if (text == nullptr) return nullptr;
  for (const char* no : {"n", "no", "false", "off"}) {  // "0" is a CPU
    if (strcasecmp(text, no) == 0) return nullptr;
  }
  return text;
}

unsigned online_cpus() { return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

}  // namespace

Environment read_environment() noexcept {
  Environment environment;
  environment.thread_stack_size = find_size("THREAD_STACKSIZE", WEFT_STACK_MIN, environment.thread_stack_size);
  environment.sched_stack_size = find_size("SCHED_STACKSIZE", WEFT_STACK_MIN, environment.sched_stack_size);
  const char* affinity = find("SET_AFFINITY");
  environment.has_affinity = affinity != nullptr;
  environment.affinity = where_to_bind(affinity);
  environment.has_tools = find_yes("ENABLE_TOOL");
  environment.max_xstreams = static_cast<unsigned>(find_size("MAX_NUM_XSTREAMS", 1, online_cpus()));
  environment.event_freq = static_cast<unsigned>(find_size("SCHED_EVENT_FREQ", 1, environment.event_freq));
  environment.print_config = find_yes("PRINT_CONFIG");
  return environment;
}

}  // namespace weft::abt
