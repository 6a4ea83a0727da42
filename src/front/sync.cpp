#include "front/front.hpp"
#include "sync/list_lock.hpp"
#include "sync/mutex.hpp"

namespace weft::front {

static_assert(kCondMark == rt::kNobodysOwn);

void mutex_open(weft_mutex_t* mutex, unsigned mark) { rt::mutex_open(rt::mutex_of(mutex), mark); }

unsigned mutex_mark(const weft_mutex_t* mutex) {
  return rt::mutex_front(rt::mutex_of(const_cast<weft_mutex_t*>(mutex)));
}

}  // namespace weft::front
