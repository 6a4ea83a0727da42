// loader_work.hpp: what threads of ours do that asks the loader, and what a fork() meanwhile would leave half done in the child.
#pragma once

namespace weft::rt {

// One at a time; no fork() while it lives.
class LoaderWork {
 public:
  LoaderWork() noexcept;
  ~LoaderWork();
  LoaderWork(const LoaderWork&) = delete;
  LoaderWork& operator=(const LoaderWork&) = delete;
};

// Round a fork(): nobody is at it meanwhile, since the child would have the loader's lock for ever. But for somebody who takes longer than
// a second: then he waits for that lock, which the caller has (a library's constructor forks).
void loader_work_fork_begins() noexcept;
void loader_work_fork_ends() noexcept;
void loader_work_fork_ends_in_child() noexcept;

}  // namespace weft::rt
