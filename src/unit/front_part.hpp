// front_part.hpp: what a front-end keeps of a unit that it has made, in the descriptor. What it means is the
// front-end's business; the core calls the hooks.
#pragma once

#include <cstdint>

#include "weft/weft.h"

namespace weft::rt {

// Of units that have something more. Who makes it lets it live until drop(). Both are called with the guard
// down and without a current unit, in whatever worker, or thread, comes by.
struct FrontHooks {
  // The move that was requested is to be carried out: the unit is in no pool and does not run. It makes the
  // other pool its home, by front::set_home().
  void (*move)(weft_unit_t unit, FrontHooks* hooks);
  // The unit has ended, nothing uses its stack any more, its unit-local values are gone, and its descriptor is
  // given back next.
  void (*drop)(weft_unit_t unit, FrontHooks* hooks);
};

struct FrontPart {
  weft_fn fn;          // what it runs, ran or will run; see front::ult_create()
  void* arg;           // the front-end's from then on
  FrontHooks* hooks;   // null: nothing more
  uint64_t context;    // the front-end's; whoever owns the unit. Of use only while its home is a pool of the user's
  void* made;          // the same; null when the unit is dropped
};

}  // namespace weft::rt
