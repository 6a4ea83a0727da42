// par.hpp: Weft, as the tests of this folder name it.
#pragma once

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace par = weft;

using ParTest = weft_test::WorkersTest;
inline const auto kParWorkers = weft_test::kWorkerCounts;
