// program_mask.hpp: what the calling ULT has blocked, as it is noted where it changes.
#pragma once

#include <cstdint>

namespace weft::rt {

struct Identity;
struct Klt;

// The kernel has it now; as it has a set. The KLT is not in a handler for that; a ULT with an identity has the same on each KLT, and signals by
// its pthread_t do not come meanwhile, wherever it is.
void program_mask_is(uint64_t mask) noexcept;
// The same for the ULT that stays on that KLT meanwhile; null: it has no identity. By its thread.
void program_mask_note(Klt& klt, Identity* identity, uint64_t mask) noexcept;

}  // namespace weft::rt
