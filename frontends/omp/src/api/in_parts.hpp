// in_parts.hpp: calls that write. A pipe, a socket or a terminal that has no room makes them wait, and the kernel ends one that a signal interrupts
// then with what it has written so far, also where calls are restarted. A program in which no handler runs does not know that, and takes it for an
// error, or for all. What no handler of the program's has cut short goes on; what one has ends as ever, and so does what the file ends itself.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>

#include "front/front.hpp"

namespace weft::omp {

// From before the first call.
class InParts {
 public:
  explicit InParts(int fd) : fd_(fd) {}

  // After a call that has written `done` of `bytes`.
  bool go_on(ssize_t done, size_t bytes) const {
    return __builtin_expect(done > 0 && static_cast<size_t>(done) < bytes, 0) && ended_by_none();
  }
  // Adds what `write` writes of these; false: not all. What has ended it otherwise the program's next call is told of.
  template <class Write>
  bool rest(const char* from, size_t bytes, ssize_t& done, Write write) const {
    const int error = errno;
    while (bytes > 0) {
      const ssize_t more = write(from, bytes);
      errno = error;
      if (more <= 0) return false;
      done += more;
      from += more;
      bytes -= static_cast<size_t>(more);
      if (bytes > 0 && !ended_by_none()) return false;
    }
    return true;
  }
  // Of which the first call has written `done`.
  template <class Write>
  ssize_t all(const void* from, size_t bytes, ssize_t done, Write write) const {
    if (go_on(done, bytes)) rest(static_cast<const char*>(from) + done, bytes - static_cast<size_t>(done), done, write);
    return done;
  }

 private:
  bool ended_by_none() const;

  const int fd_;
  const front::HandlersMark mark_ = front::handlers_mark();
};

}  // namespace weft::omp
