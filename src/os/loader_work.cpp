#include "os/loader_work.hpp"

#include <pthread.h>
#include <time.h>

#include <utility>

namespace weft::rt {
namespace {

pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;
bool is_kept_away = false;  // by the fork that is under way
constexpr time_t kLongestS = 1;

}  // namespace

LoaderWork::LoaderWork() noexcept { pthread_mutex_lock(&working); }
LoaderWork::~LoaderWork() { pthread_mutex_unlock(&working); }

void loader_work_fork_begins() noexcept {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);  // ThreadSanitizer knows pthread_mutex_timedlock() only
  until.tv_sec += kLongestS;
  is_kept_away = pthread_mutex_timedlock(&working, &until) == 0;
}
void loader_work_fork_ends() noexcept {
  if (std::exchange(is_kept_away, false)) pthread_mutex_unlock(&working);
}
void loader_work_fork_ends_in_child() noexcept {
  if (is_kept_away) return loader_work_fork_ends();
  working = PTHREAD_MUTEX_INITIALIZER;  // whoever has it has stayed behind
}

}  // namespace weft::rt
