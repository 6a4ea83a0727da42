// region.hpp: parallel regions.
#pragma once

#include <vector>

#include "team.hpp"

namespace weft::omp {

struct LoopSpec;

struct RegionWish {
  int threads = 0;  // num_threads(); 0: not given; 1 also for if(false)
  int bind = 0;     // proc_bind(); 0: not given
  bool bind_lasts = false;  // as of libgomp's: regions inside go by that, too, as far as the list of OMP_PROC_BIND says nothing
  const std::vector<int>* inner_threads = nullptr;  // num_threads() with a list: the numbers behind the first
  const LoopSpec* loop = nullptr;  // combined with a loop, or sections: which every member finds begun
  void* gnu = nullptr;  // for Team::gnu
};

// Runs the body in each member of a new team, the caller being member 0, and returns when all of them, and all their tasks, have
// ended. Returns the number of threads.
int parallel(const RegionWish& wish, const Body& body);

// The same in two parts: between them the caller is member 0, and does member 0's work itself.
void region_begin(const RegionWish& wish, const Body& body);
void region_end();

// A region of one thread that is not active: if(false) of clang's. The same as region_begin() with one thread.
void region_begin_serial();

// How many threads a region would get.
int threads_for(const Member& member, int wish);

// Runs body once for each team of a league, as that team's initial thread. `teams` >= 1; limit 0: none.
void league(int teams, int limit, void (*body)(void* arg), void* arg);

// cancel parallel: true: it is active, and the caller goes to the region's end.
bool cancel_region(Member& member);

// Gives back what regions keep, of the calling thread, which is in none: omp_pause_resource(). False: it is in one.
bool release_teams(bool hard);

}  // namespace weft::omp
