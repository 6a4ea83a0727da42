#include "inspect/unit_report.hpp"

#include "inspect/modules.hpp"
#include "inspect/unwind.hpp"
#include "os/clock.hpp"
#include "pool/pool.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

void say_who(Text& out, const Unit* unit, const UnitCopy& copy) noexcept {
  out << (unit_is(copy.get(), flag::kTasklet) ? "tasklet " : "ULT ") << address(unit);
  if (unit_is(copy.get(), flag::kNamed)) (out << " \"").quoted(copy->cold.core.name, sizeof copy->cold.core.name) << "\"";
  if (unit_is(copy.get(), flag::kPrimary)) out << " (main)";
  // Not unit_id(), which would give it one.
  if (const uint64_t id = copy->cold.id.load(std::memory_order_relaxed); id != 0) out << " #" << id;
}

void say_who(Text& out, const Unit* unit) noexcept {
  const UnitCopy copy(unit);
  if (copy) return say_who(out, unit, copy);
  out << "a unit that is gone";
}

void say_pool(Text& out, const UnitCopy& copy) noexcept {
  const Pool* at = copy->pool.load(std::memory_order_relaxed);
  const Peek<Pool> pool(at);
  if (!pool) {
    out << "a pool that is gone";
  } else if (const Worker* owner = pool->lane_owner) {
    out << "worker " << owner->index << "'s pool";
  } else {
    out << "pool " << address(at);
  }
}

void say_wait(Text& out, const UnitCopy& copy) noexcept {
  const auto kind = static_cast<WaitKind>(copy->slot.load(std::memory_order_relaxed));
  out << ", waits for " << wait_kind_name(kind);
  if (kind == WaitKind::kJoin) {
    out << ", ";
    say_who(out, static_cast<const Unit*>(copy->wait_object));
  } else if (copy->wait_object != nullptr) {
    out << ", " << address(copy->wait_object);
  }
  const uint64_t now = coarse_now_ns();
  out << ", for " << Seconds{now > copy->wait_since ? now - copy->wait_since : 0};
}

void say_code(Text& out, uintptr_t at) noexcept {
  Module module;
  if (!module_at(at, module)) {
    out << "code that no library or program has";
    return;
  }
  const Symbol symbol = symbol_at(at, module);
  if (*symbol.name != '\0') out.quoted(symbol.name, sizeof symbol.name) << "+" << Hex{symbol.offset} << " (";
  out << module.path << "+" << Hex{at - module.bias};
  if (*symbol.name != '\0') out << ")";
}

void say_frames(Text& out, const Registers& from, StillSo still_so, const void* context) noexcept {
  static Frames frames;  // one report at a time; alternate signal stacks are small
  unwind(from, frames);
  if (still_so != nullptr && !still_so(context)) {
    out << "  (it has gone on meanwhile)\n";
    return;
  }
  for (unsigned i = 0; i < frames.count; ++i) {
    out << "  #" << i << (i < 10 ? "   " : i < 100 ? "  " : " ") << address(frames.at[i]) << " ";
    // A return address may lie behind the function that it belongs to.
    say_code(out, i == 0 ? frames.at[i] : frames.at[i] - 1);
    out << "\n";
  }
  if (frames.cut) out << "  (and more)\n";
}

}  // namespace weft::rt
