// thread.hpp: how threads come and go; for region.cpp and runtime.cpp.
#pragma once

#include "team.hpp"

namespace weft::omp {

// With a number, and nothing else yet; for the main thread, or another one. Null: there are too many.
Thread* thread_create(bool main = false);
// Its number may be used again.
void thread_release(Thread* thread);
// A root ends, or has ended: with what its regions have kept.
void thread_forget(Thread* thread);
// The same of who has forked, in the child: its number is kept for it.
void thread_forget_in_child(Thread* thread);
// The calling ULT, one of ours, is this thread from now on.
void thread_is(Thread* thread);
// And from now on it is none any more.
void thread_is_no_more(Thread* thread);

// A team that nobody is in: its threads are ended, then it is freed.
void team_destroy(Team* team);

// Around fork(): no number is given meanwhile; in the child only this one is left, or none.
void thread_table_lock();
void thread_table_unlock();
void threads_forget_all_but(Thread* keep);

}  // namespace weft::omp
