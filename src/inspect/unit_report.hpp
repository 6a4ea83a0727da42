// unit_report.hpp: what a dump says of one unit, and of one stack.
#pragma once

#include "arch/registers.hpp"
#include "inspect/text.hpp"
#include "os/peek.hpp"
#include "unit/unit.hpp"

namespace weft::rt {

// A unit may change while we look: what is said of it comes from one copy.
using UnitCopy = Peek<Unit>;

// `ULT 0x7f0012345680 "name" #3`
void say_who(Text& out, const Unit* unit, const UnitCopy& copy) noexcept;
// The same; "a unit that is gone".
void say_who(Text& out, const Unit* unit) noexcept;

// `worker 1's pool`
void say_pool(Text& out, const UnitCopy& copy) noexcept;

// `, waits for a mutex, 0x5581, for 12.3 s`. Precondition: it is blocked.
void say_wait(Text& out, const UnitCopy& copy) noexcept;

// `function+0x12 (program+0x3456)`
void say_code(Text& out, uintptr_t address) noexcept;

// The frames from there on, one per line. `still_so(context)`, asked when they have been read, says whether the
// stack may have changed meanwhile; null: it cannot.
using StillSo = bool (*)(const void* context);
void say_frames(Text& out, const Registers& from, StillSo still_so, const void* context) noexcept;

}  // namespace weft::rt
