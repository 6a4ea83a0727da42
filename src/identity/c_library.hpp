// c_library.hpp: what must be known of the C library's threads to use their control blocks again.
//
// glibc describes its own records for debuggers, by symbols (_thread_db_...): where they are is read from there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::rt {

// One entry of the loader's table of modules with thread-local variables. Read while others may write it.
struct TlsSlot {
  uint64_t generation = 0;
  const void* module = nullptr;  // its link_map
  // A free one keeps the generation of whoever was there.
  bool same(const TlsSlot& other) const noexcept {
    return module == other.module && (module == nullptr || generation == other.generation);
  }
};

// What pthread_getattr_np() tells of a thread's stack.
struct StackWords {
  uintptr_t low = 0;
  size_t size = 0;
  size_t guard = 0;
};

struct CLibrary {
  // Of the program's, or of glibc's for debuggers: whatever this one lacks; null: all is there.
  const char* lacks = "it has not been looked at";

  void (*run_tls_destructors)() = nullptr;
  ptrdiff_t tls_destructors = 0;  // from the thread pointer: where the list of them begins
  ptrdiff_t on_klt = 0;           // from the thread pointer: weft_rt_on_klt
  ptrdiff_t error = 0;            // from the thread pointer: errno
  size_t tid = 0;                 // from the thread pointer: the thread's number in owners of mutexes
  size_t dtv = 0;                 // from the thread pointer: its dynamic thread vector
  size_t stack = 0;               // from the thread pointer: its StackWords; 0: not found, and none of what has to be there
  size_t above_frames = 0;        // what of a thread's stack is no frame: its variables, and a few frames after all

  // Keys: from the thread pointer, an array of pointers to blocks of values, the first of which lies behind it.
  size_t key_blocks = 0;
  size_t key_block_count = 0, keys_per_block = 0;
  const char* keys = nullptr;  // their own records, of KeyRecord
  const char* modules = nullptr;  // where the loader's pointer to its table is
  size_t module_offset = 0;       // in a link_map: where in a thread its variables are
};

struct KeyValue {
  uintptr_t sequence;
  void* value;
};
struct KeyRecord {
  uintptr_t sequence;
  void (*destructor)(void*);
};
struct DtvEntry {
  union {
    uintptr_t counter;
    void* block;
  };
  void* to_free;
};
inline void* const kNoBlock = reinterpret_cast<void*>(-1);

// Finds all that out, at the first call. One thread at a time; it may allocate. What the loader is asked for has been found when the
// library was loaded: this takes no lock of the loader's.
const CLibrary& c_library_find() noexcept;
// What has been found.
extern CLibrary c_library;
// What was found to be lacking when this library was loaded; null: nothing so far.
const char* c_library_lacked() noexcept;

// The slot of a module; an empty one if there is none of that number.
TlsSlot tls_slot(size_t module) noexcept;
// From the thread pointer; 0: the module's variables have no fixed place in a thread.
ptrdiff_t tls_offset(const TlsSlot& slot) noexcept;

}  // namespace weft::rt
