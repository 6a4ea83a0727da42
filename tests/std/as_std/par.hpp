// par.hpp: the standard library, as the tests of this folder name it.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>

namespace par = std;

// There are no workers to choose the number of.
using ParTest = testing::TestWithParam<unsigned>;
inline const auto kParWorkers = testing::Values(0u);
