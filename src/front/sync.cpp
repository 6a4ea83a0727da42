#include "front/front.hpp"
#include "sync/mutex.hpp"

namespace weft::front {

void mutex_open(weft_mutex_t* mutex, unsigned mark) { rt::mutex_open(rt::mutex_of(mutex), mark); }

int cond_wait(weft_cond_t* cond, weft_mutex_t* mutex, uint64_t deadline, unsigned mark, bool& locked) {
  return rt::cond_wait_leaving(cond, mutex, deadline, mark, locked);
}

unsigned cond_mark(const weft_cond_t* cond) { return rt::cond_front(cond); }

bool cond_has_waiters(weft_cond_t* cond) { return rt::cond_has_waiters(cond); }

unsigned mutex_mark(const weft_mutex_t* mutex) {
  return rt::mutex_front(rt::mutex_of(const_cast<weft_mutex_t*>(mutex)));
}

}  // namespace weft::front
