// info_query.cpp: what the library is and can do: ABT_info_query_config(), ABT_info_print_config(). One table for both.
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "front/front.hpp"
#include "runtime.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

enum class Type { kBool, kInt, kUnsigned, kSize, kUint64 };

struct Row {
  const char* name;
  Type type;
  bool needs_runtime;
  uint64_t (*value)();
};

uint64_t yes() { return 1; }
uint64_t no() { return 0; }

uint64_t most_xstreams() {
  int highest = 0;
  for_each_xstream(
      [](Xstream* xstream, void* arg) {
        auto* most = static_cast<int*>(arg);
        *most = std::max(*most, xstream->rank.load(std::memory_order_relaxed));
      },
      &highest);
  return std::max<uint64_t>(state.environment.max_xstreams, static_cast<uint64_t>(highest) + 1);
}

// 2: a page behind each stack, whose use is reported.
uint64_t overflow_check() { return front::stacks_are_guarded() ? 2 : 0; }

// In the order of ABT_info_query_kind.
constexpr Row kRows[] = {
    {"debug", Type::kBool, false, no},
    {"print errno", Type::kBool, false, no},
    {"log", Type::kBool, false, no},
    {"valgrind", Type::kBool, false, [] { return uint64_t{WEFT_ABT_VALGRIND}; }},
    {"errors are checked", Type::kBool, false, yes},
    {"producers of pools are checked", Type::kBool, false, no},
    {"consumers of pools are checked", Type::kBool, false, no},
    // Shared by the units of an ES, as Weft's default is.
    {"floating-point environment per ULT", Type::kBool, false, no},
    {"ULTs can be cancelled", Type::kBool, false, yes},
    {"tasklets can be cancelled", Type::kBool, false, yes},
    {"migration", Type::kBool, false, yes},
    {"stacked schedulers", Type::kBool, false, yes},
    {"external threads", Type::kBool, false, yes},
    {"idle schedulers sleep", Type::kBool, false, yes},
    {"print the configuration", Type::kBool, true, [] { return uint64_t{state.environment.print_config}; }},
    {"affinity", Type::kBool, true, [] { return uint64_t{state.environment.has_affinity}; }},
    {"execution streams", Type::kUnsigned, true, most_xstreams},
    {"stack size of ULTs", Type::kSize, true, [] { return uint64_t{front::default_stack_size()}; }},
    {"stack size of schedulers", Type::kSize, true,
     [] { return uint64_t{state.environment.sched_stack_size}; }},
    {"units between looks for events", Type::kUint64, true,
     [] { return uint64_t{state.environment.event_freq}; }},
    {"sleep of idle schedulers, ns", Type::kUint64, true, no},  // until there is work
    {"tools", Type::kBool, true, [] { return uint64_t{state.environment.has_tools}; }},
    {"fcontext", Type::kBool, false, yes},
    {"ULTs start on their scheduler's stack", Type::kBool, false, yes},
    {"stacks can be unwound", Type::kBool, false, yes},
    {"stack overflow check", Type::kInt, true, overflow_check},
    {"wait policy", Type::kInt, false, no},
    {"stacks are allocated late", Type::kBool, false, yes},
};
static_assert(sizeof kRows / sizeof kRows[0] == ABT_INFO_QUERY_KIND_ENABLED_LAZY_STACK_ALLOC + 1);

void write_value(const Row& row, void* to) noexcept {
  const uint64_t value = row.value();
  switch (row.type) {
    case Type::kBool: *static_cast<ABT_bool*>(to) = static_cast<ABT_bool>(value); break;
    case Type::kInt: *static_cast<int*>(to) = static_cast<int>(value); break;
    case Type::kUnsigned: *static_cast<unsigned*>(to) = static_cast<unsigned>(value); break;
    case Type::kSize: *static_cast<size_t*>(to) = value; break;
    case Type::kUint64: *static_cast<uint64_t*>(to) = value; break;
  }
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

int ABT_info_query_config(ABT_info_query_kind query_kind, void* val) {
  if (!kVersion20 && !running()) return ABT_ERR_UNINITIALIZED;
  if (query_kind < 0 || query_kind > ABT_INFO_QUERY_KIND_ENABLED_LAZY_STACK_ALLOC) return ABT_ERR_INV_QUERY_KIND;
  const Row& row = kRows[query_kind];
  if (row.needs_runtime && !running()) return ABT_ERR_UNINITIALIZED;
  write_value(row, val);
  return ABT_SUCCESS;
}

int ABT_info_print_config(FILE* fp) {
  if (!kVersion20 && !running()) return ABT_ERR_UNINITIALIZED;
  std::fprintf(fp, "Argobots " ABT_VERSION " on Weft %s\n", weft_version());
  for (const Row& row : kRows) {
    if (row.needs_runtime && !running()) continue;
    const uint64_t value = row.value();
    if (row.type == Type::kBool) {
      std::fprintf(fp, "  %-40s %s\n", row.name, value != 0 ? "yes" : "no");
    } else {
      std::fprintf(fp, "  %-40s %" PRIu64 "\n", row.name, value);
    }
  }
  std::fflush(fp);
  return ABT_SUCCESS;
}
