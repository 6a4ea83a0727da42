// layout.cpp: the lists of the modules in one place, for tools/gdb/weft-gdb.py. That knows the names in them and
// nothing else of our types; so it works with a library of any build, stripped or not.
#include "inspect/layout.hpp"

#include "identity/identity.hpp"
#include "klt/klt.hpp"
#include "pool/pool.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// Asked of classes that have a base, which compilers answer as well.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
constexpr DebugField kFields[] = {
    {"pool.lane_owner", nullptr, offsetof(Pool, lane_owner)},
    {"worker.index", nullptr, offsetof(Worker, index)},
};
constinit const DebugPart other_part{kFields, sizeof kFields / sizeof kFields[0]};

}  // namespace

DebugLayout::DebugLayout() noexcept : part{&unit_debug_part, &klt_debug_part, &identity_debug_part, &other_part} {
  for (uint64_t i = 0; i < kStates; ++i) state[i] = unit_state_name(static_cast<UnitState>(i));
  for (uint64_t i = 0; i < kWaits; ++i) wait[i] = wait_kind_name(static_cast<WaitKind>(i));
}

}  // namespace weft::rt

const weft::rt::DebugLayout weft_debug_layout;
