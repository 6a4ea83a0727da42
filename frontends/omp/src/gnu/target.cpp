// target.cpp: target regions. There are no devices: they run on the host, as initial threads of their own, and data is where
// it is.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "api/device.hpp"
#include "export.hpp"
#include "gnu/depend.hpp"
#include "gnu/make_task.hpp"
#include "gnu/message.hpp"
#include "region.hpp"
#include "task.hpp"
#include "team.hpp"

namespace weft::omp::gnu {
namespace {

// The compiler's.
constexpr unsigned kNowait = 1;
// The low byte of a kind; the high one: log2 of the alignment.
constexpr unsigned kMapFirstprivate = 12;
constexpr unsigned kMapAttach = 80;  // behind it: an array's descriptor, in which the address is to be the copy's
// Device numbers in the compiler's calls.
constexpr int kDefault = -1;
constexpr int kHostFallback = -2;  // if(0), omp_initial_device

// What is mapped; those firstprivate are copied.
struct Mapping {
  size_t n;
  void** addresses;
  const size_t* sizes;
  const unsigned short* kinds;

  bool is(size_t i, unsigned kind) const { return kinds && (kinds[i] & 0xff) == kind; }
  bool is_firstprivate(size_t i) const { return is(i, kMapFirstprivate) && addresses[i]; }
  size_t align(size_t i) const { return size_t{1} << (kinds[i] >> 8); }
};

size_t round_up(size_t n, size_t align) { return (n + align - 1) & ~(align - 1); }

// Bytes that the copies take, from an address that is a multiple of *align.
size_t copies_size(const Mapping& map, size_t* align) {
  size_t bytes = 0;
  *align = alignof(void*);
  for (size_t i = 0; i < map.n; i++) {
    if (!map.is_firstprivate(i)) continue;
    *align = std::max(*align, map.align(i));
    bytes = round_up(bytes, map.align(i)) + map.sizes[i];
  }
  return bytes;
}

// Copies to `memory`, and has `addresses` point there.
void make_copies(const Mapping& map, char* memory, void** addresses) {
  size_t at = 0;
  for (size_t i = 0; i < map.n; i++) {
    if (!map.is_firstprivate(i)) continue;
    at = round_up(at, map.align(i));
    memcpy(memory + at, map.addresses[i], map.sizes[i]);
    char* copy = memory + at;
    addresses[i] = copy;
    at += map.sizes[i];
    if (i + 1 == map.n || !map.is(i + 1, kMapAttach)) continue;
    ++i;
    // The descriptor's address, which may be a copy's; where in it, in words.
    (*static_cast<char***>(addresses[i]))[map.sizes[i]] = copy;
  }
}

// thread_limit of the compiler's list: words of an identifier (bits 8 to 15) for some device (0 to 6; 0: any) with a value
// in bits 16 and up, or, where bit 7 is set, in the next word. 0: none.
int thread_limit_of(void** args) {
  if (!args) return 0;
  while (*args) {
    const auto word = reinterpret_cast<intptr_t>(*args++);
    const intptr_t value = word & 128 ? reinterpret_cast<intptr_t>(*args++) : word >> 16;
    if ((word & 127) == 0 && (word & 0xff00) == 0x200) return static_cast<int>(std::min<intptr_t>(value, 0x7fffffff));
  }
  return 0;
}

// Ends the program where a region or data is for no device, or for one that is not there.
void check_device(int number) {
  if (number == kHostFallback) return;
  if (number == kDefault || number == kDefaultDevice) {
    number = icvs_of(this_member()).default_device;
    if (number == kInitialDevice) return;
  }
  const bool mandatory = device().offload == Offload::kMandatory;
  if (mandatory && number < 0) fail("OMP_TARGET_OFFLOAD is set to MANDATORY, but only the host device is available");
  if (number == kInvalidDevice) fail("omp_invalid_device encountered");
  if (mandatory && number != kHostDevice) fail("OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found");
}

// A target region is the device's: its task begins with what the environment says, not with what the program has set.
struct Region {
  Function fn;
  void** addresses;
  int limit;
};

void run_region(void* arg) {
  const Region& region = *static_cast<Region*>(arg);
  Icvs& icvs = own_icvs(this_member());
  icvs = device().initial;
  if (region.limit) icvs.thread_limit = region.limit;
  if (tool::there()) {
    tool::call(this_member().implicit, [&region] { region.fn(region.addresses); });
  } else {
    region.fn(region.addresses);
  }
}

void run_on_host(Function fn, void** addresses, int limit) {
  Region region{fn, addresses, limit};
  league(1, 0, run_region, &region);
}

// A target region that a task runs: this, the addresses, the copies.
struct Deferred {
  Function fn;
  int limit;
  void** addresses() { return reinterpret_cast<void**>(this + 1); }
};

void run_deferred(void* data) {
  auto* deferred = static_cast<Deferred*>(data);
  run_on_host(deferred->fn, deferred->addresses(), deferred->limit);
}

void run_as_task(Member& member, Function fn, const Mapping& map, int limit, const Depends& depends) {
  size_t align;
  const size_t bytes = copies_size(map, &align);
  const size_t head = sizeof(Deferred) + map.n * sizeof(void*);
  const size_t at = round_up(head, align);
  void* own;
  Task* task = make_task_uncopied(member, make_wish(member, 0, 0), run_deferred, at + bytes,
                                  std::max(align, alignof(Deferred)), &own);
  auto* deferred = new (own) Deferred{fn, limit};
  std::copy_n(map.addresses, map.n, deferred->addresses());
  make_copies(map, static_cast<char*>(own) + at, deferred->addresses());
  task_start(member, task, depends.count(), depends.items());
}

void run_now(Member& member, Function fn, const Mapping& map, int limit, const Depends& depends) {
  size_t align;
  const size_t bytes = copies_size(map, &align);
  const std::unique_ptr<char[]> memory(bytes ? new char[bytes + align] : nullptr);
  if (bytes) {
    const uintptr_t at = round_up(reinterpret_cast<uintptr_t>(memory.get()), align);
    make_copies(map, reinterpret_cast<char*>(at), map.addresses);
  }
  if (depends.count()) task_wait_depend(member, depends.count(), depends.items());
  run_on_host(fn, map.addresses, limit);
}

// What only moves data has nothing to do but to wait for its turn.
void moved(int device_number, unsigned flags, void** depend) {
  check_device(device_number);
  if (!depend) return;
  const Depends depends(depend);
  task_wait_depend(this_member(), depends.count(), depends.items(), (flags & kNowait) != 0);
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;

WEFT_OMP_API void GOMP_target_ext(int number, gnu::Function fn, size_t n, void** addresses, size_t* sizes,
                                  unsigned short* kinds, unsigned flags, void** depend, void** args) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::check_device(number);
  Member& member = this_member();
  const gnu::Mapping map{n, addresses, sizes, kinds};
  const gnu::Depends depends(depend);
  const int limit = gnu::thread_limit_of(args);
  if ((flags & gnu::kNowait) && !tasks_are_included(member)) {
    gnu::run_as_task(member, fn, map, limit, depends);
  } else {
    gnu::run_now(member, fn, map, limit, depends);
  }
}
WEFT_OMP_GNU(GOMP_target_ext, "GOMP_4.5")

WEFT_OMP_API void GOMP_target_data_ext(int number, size_t, void**, size_t*, unsigned short*) { gnu::check_device(number); }
WEFT_OMP_GNU(GOMP_target_data_ext, "GOMP_4.5")

WEFT_OMP_API void GOMP_target_end_data() {}
WEFT_OMP_GNU(GOMP_target_end_data, "GOMP_4.0")

WEFT_OMP_API void GOMP_target_update_ext(int number, size_t, void**, size_t*, unsigned short*, unsigned flags, void** depend) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::moved(number, flags, depend);
}
WEFT_OMP_GNU(GOMP_target_update_ext, "GOMP_4.5")

WEFT_OMP_API void GOMP_target_enter_exit_data(int number, size_t, void**, size_t*, unsigned short*, unsigned flags,
                                              void** depend) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::moved(number, flags, depend);
}
WEFT_OMP_GNU(GOMP_target_enter_exit_data, "GOMP_4.5")

// A function's address is the same on both sides.
WEFT_OMP_API void* GOMP_target_map_indirect_ptr(void* pointer) { return pointer; }
WEFT_OMP_GNU(GOMP_target_map_indirect_ptr, "GOMP_5.1.2")

// No interoperability object but omp_interop_none: those to be made and those to be destroyed become that. What is waited for before, and
// with nowait by a task, is waited for here.
WEFT_OMP_API void GOMP_interop(int number, int n_init, void*** init, const void*, const void*, int, void**, int n_destroy, void*** destroy,
                               unsigned, void** depend) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::moved(number, 0, depend);
  for (int i = 0; i < n_init; ++i) *init[i] = nullptr;
  for (int i = 0; i < n_destroy; ++i) *destroy[i] = nullptr;
}
WEFT_OMP_GNU(GOMP_interop, "GOMP_5.1.3")

// ---- of gcc 4.9: kinds of one byte, nothing firstprivate

WEFT_OMP_API void GOMP_target(int number, gnu::Function fn, const void*, size_t, void** addresses, size_t*,
                              unsigned char*) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::check_device(number);
  gnu::run_on_host(fn, addresses, 0);
}
WEFT_OMP_GNU(GOMP_target, "GOMP_4.0")

WEFT_OMP_API void GOMP_target_data(int number, const void*, size_t, void**, size_t*, unsigned char*) {
  gnu::check_device(number);
}
WEFT_OMP_GNU(GOMP_target_data, "GOMP_4.0")

WEFT_OMP_API void GOMP_target_update(int number, const void*, size_t, void**, size_t*, unsigned char*) {
  gnu::check_device(number);
}
WEFT_OMP_GNU(GOMP_target_update, "GOMP_4.0")
