// home.hpp: where workers are not bound, each has a CPU where it is at home: so that two of them do not stay on one.
//
// The kernel wakes a thread where it was last, or, if somebody is there, where its waker is. Two workers that wake each other may
// so come to one CPU, whatever else is busy or idle; and since one of them sleeps whenever the other runs, nothing seems wrong
// there, and they stay: each region then takes what they look for each other before they sleep, some 80 µs.
// So who is at another one's home goes back to its own. But not the first worker, which has the main thread: that one runs while the others
// wait, and if it is elsewhere, then since its CPU has others to run, another process's main thread say. It is at home where it is, and the
// other worker goes to where it was.
// Nor does anybody go home while the machine has more threads to run than CPUs: beside two processes that compute, a worker that went
// home waited there for its turn, and a region of four threads took twice to ten times as long as where it stayed beside its waker.
// But where its regions are shorter than what it takes to sleep and to wake, it goes home all the same: beside its waker it waits in each,
// and at home the kernel soon lets it run, since it takes little. Beside one or two processes that compute, regions of 2 µs take half to a
// third of the time then; those of 10 µs and more as long as before.
// Rejected: to move each worker home at the start, too (that wakes it, and may wait for a busy CPU; the kernel puts new threads on idle ones,
// and who is woken beside the first worker goes home then); to judge by how long a worker has waited for CPUs since it went home
// (schedstat: each lesson takes milliseconds, and regions as long as before); to bind them (a runtime that merely has been loaded
// leaves the CPUs to the kernel, and to other programs); to yield while one looks (the CPU may go to another program, for milliseconds).
#pragma once

namespace weft::omp {

// Each worker gets its home: the first one at that CPU, where the program's first thread is (-1: unknown), the others at
// those behind it. So processes that start at the same time do not all have their main threads on one CPU. Context: the core has
// just started, its workers are not bound; later, as many as then.
void homes_give(int first);

// CPU of a worker; -1: it has none.
int home_of(unsigned worker);

// The caller's worker goes home, if it is at the home of another one that is there too, and the machine is not full; the first one changes
// homes with that one. Whoever carries it may be moved afterwards as before. Context: a ULT that `waits` (it has slept, or looks on), or
// has let others go first.
void go_home(bool waits);

}  // namespace weft::omp
