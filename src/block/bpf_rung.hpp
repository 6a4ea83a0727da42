// bpf_rung.hpp: the rung of those who may load eBPF programs: the kernel writes the state of each thread into memory that
// is mapped here. The program, and what loads it, are in bpf/, a library of its own.
#pragma once

#include "block/watch.hpp"

namespace weft::rt {

// Whether this process may, and the library is there. Loads it, the first time. Never in a forked child: what its parent
// has loaded is its parent's.
bool bpf_granted() noexcept;

// The switches of that thread are written down from here on. False: there are too many threads, or this is a forked child.
// As watch_open().
bool bpf_watch(KltWatch& watch, int tid) noexcept;
// The thread is about to end. By itself: afterwards its number may be another one's, who is watched by it.
void bpf_thread_ends(KltWatch& watch) noexcept;
// Not any more.
void bpf_forget(KltWatch& watch) noexcept;

Sight bpf_look(const std::atomic<uint64_t>& state) noexcept;

}  // namespace weft::rt
