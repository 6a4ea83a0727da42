// target.cpp: devices. There is the host only, which is device number 0, as there are no others.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "api/device.hpp"
#include "api/fortran.hpp"

using namespace weft::omp;

WEFT_OMP_API int omp_get_num_devices() { return 0; }
WEFT_OMP_PLAIN(omp_get_num_devices, "OMP_4.0")
WEFT_OMP_API int omp_get_initial_device() { return 0; }
WEFT_OMP_PLAIN(omp_get_initial_device, "OMP_4.5")
WEFT_OMP_API int omp_get_device_num() { return 0; }
WEFT_OMP_PLAIN(omp_get_device_num, "OMP_5.0.2")
WEFT_OMP_API int omp_is_initial_device() { return 1; }
WEFT_OMP_PLAIN(omp_is_initial_device, "OMP_4.0")

WEFT_OMP_API int omp_get_default_device() { return callers_icvs().default_device; }
WEFT_OMP_PLAIN(omp_get_default_device, "OMP_4.0")
WEFT_OMP_API void omp_set_default_device(int number) {
  if (number != kDefaultDevice) callers_own_icvs().default_device = number;
}
WEFT_OMP_NUMBER(omp_set_default_device, "OMP_4.0")

namespace {

// The only device that has a name.
constexpr char kHostName[] = "OMP_INITIAL_DEVICE";
bool is_host_name(const char* name) { return name != nullptr && std::strcmp(name, kHostName) == 0; }
bool is_host_name(const char* name, size_t length) {
  return length == sizeof kHostName - 1 && std::memcmp(name, kHostName, length) == 0;
}
// omp_initial_device, and omp_invalid_device of gcc's header; clang's has another number for the latter.
constexpr int kHostOfGcc = -1, kInvalidOfGcc = -4, kInvalidOfClang = -2;

// A part of an array of several dimensions.
struct Box {
  size_t element;
  const size_t* volume;  // of each dimension
  const size_t* to_offsets;
  const size_t* from_offsets;
  const size_t* to_dimensions;
  const size_t* from_dimensions;
};

bool scale(size_t& number, size_t by) { return !__builtin_mul_overflow(number, by, &number); }

size_t slice(size_t element, int dims, const size_t* dimensions) {
  size_t size = element;
  for (int i = 1; i < dims; ++i) size *= dimensions[i];
  return size;
}

int copy_box(char* to, const char* from, int dims, const Box& box) {
  size_t to_step = slice(box.element, dims, box.to_dimensions);
  size_t from_step = slice(box.element, dims, box.from_dimensions);
  to += box.to_offsets[0] * to_step;
  from += box.from_offsets[0] * from_step;
  if (dims == 1) {
    size_t bytes = box.element;
    if (!scale(bytes, box.volume[0])) return EINVAL;
    std::memcpy(to, from, bytes);
    return 0;
  }
  const Box inner{box.element, box.volume + 1, box.to_offsets + 1, box.from_offsets + 1, box.to_dimensions + 1,
                  box.from_dimensions + 1};
  for (size_t i = 0; i < box.volume[0]; ++i) {
    if (const int error = copy_box(to + i * to_step, from + i * from_step, dims - 1, inner); error != 0) return error;
  }
  return 0;
}

// omp_depend_t of gcc's; clang's programs come with functions of their own for all this.
struct DependObject {
  void* address;
  uintptr_t kind;  // 1 in, 2 out, 3 inout, 4 mutexinoutset, 5 inoutset
};

std::vector<Depend> depends_of(int n, const DependObject* objects) {
  static constexpr DepKind kKinds[] = {DepKind::kOut,  DepKind::kIn,            DepKind::kOut,
                                       DepKind::kOut,  DepKind::kMutexInOutSet, DepKind::kInOutSet};
  std::vector<Depend> depends;
  for (int i = 0; i < n && objects != nullptr; ++i) {
    const uintptr_t kind = objects[i].kind;
    depends.push_back({objects[i].address, kind < std::size(kKinds) ? kKinds[kind] : DepKind::kOut});
  }
  return depends;
}

// The caller goes on, and may be the one that what is waited for waits for.
template <class Work>
void as_task(Work work, int n, const DependObject* objects) {
  Member& member = this_member();
  const std::vector<Depend> depends = depends_of(n, objects);
  if (tasks_are_included(member)) {
    if (!depends.empty()) task_wait_depend(member, depends.size(), depends.data());
    work();
    return;
  }
  TaskWish wish;
  wish.flags = task_flag::kNoCancel;  // it ends what is in its payload
  wish.run = [](Task* task) {
    Work& own = *static_cast<Work*>(payload(task));
    if (tool::there()) {
      tool::call(*task, [&own] { own(); });
    } else {
      own();
    }
    own.~Work();
  };
  Task* task = task_create(member, wish, sizeof(Work));
  new (payload(task)) Work(std::move(work));
  task_start(member, task, depends.size(), depends.data());
}

}  // namespace

WEFT_OMP_API void* omp_target_alloc(size_t bytes, int number) { return is_host(number) ? std::malloc(bytes) : nullptr; }
WEFT_OMP_GNU(omp_target_alloc, "OMP_4.5")
WEFT_OMP_API void omp_target_free(void* memory, int number) {
  if (is_host(number)) std::free(memory);
}
WEFT_OMP_GNU(omp_target_free, "OMP_4.5")

WEFT_OMP_API int omp_target_is_present(const void* memory, int number) { return memory != nullptr && is_host(number); }
WEFT_OMP_GNU(omp_target_is_present, "OMP_4.5")
WEFT_OMP_API int omp_target_is_accessible(const void* memory, size_t bytes, int number) {
  return memory != nullptr && bytes != 0 && is_host(number);
}
WEFT_OMP_GNU(omp_target_is_accessible, "OMP_5.1.1")
WEFT_OMP_API void* omp_get_mapped_ptr(const void* memory, int number) {
  return is_host(number) ? const_cast<void*>(memory) : nullptr;
}
WEFT_OMP_GNU(omp_get_mapped_ptr, "OMP_5.1.1")

// What is the host's is associated with nothing else.
WEFT_OMP_API int omp_target_associate_ptr(const void*, const void*, size_t, size_t, int) { return EINVAL; }
WEFT_OMP_GNU(omp_target_associate_ptr, "OMP_4.5")
WEFT_OMP_API int omp_target_disassociate_ptr(const void*, int) { return EINVAL; }
WEFT_OMP_GNU(omp_target_disassociate_ptr, "OMP_4.5")

WEFT_OMP_API int omp_target_memcpy(void* to, const void* from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                                   int from_device) {
  if (!is_host(to_device) || !is_host(from_device)) return EINVAL;
  std::memcpy(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset, bytes);
  return 0;
}
WEFT_OMP_GNU(omp_target_memcpy, "OMP_4.5")

WEFT_OMP_API int omp_target_memcpy_rect(void* to, const void* from, size_t element, int dims, const size_t* volume,
                                        const size_t* to_offsets, const size_t* from_offsets, const size_t* to_dimensions,
                                        const size_t* from_dimensions, int to_device, int from_device) {
  if (to == nullptr && from == nullptr) return INT_MAX;  // how many dimensions there may be
  if (element < 1 || dims < 1 || !is_host(to_device) || !is_host(from_device)) return EINVAL;
  return copy_box(static_cast<char*>(to), static_cast<const char*>(from), dims,
                  {element, volume, to_offsets, from_offsets, to_dimensions, from_dimensions});
}
WEFT_OMP_GNU(omp_target_memcpy_rect, "OMP_4.5")

WEFT_OMP_API int omp_target_memcpy_async(void* to, const void* from, size_t bytes, size_t to_offset, size_t from_offset,
                                         int to_device, int from_device, int n, const DependObject* objects) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (!is_host(to_device) || !is_host(from_device)) return EINVAL;
  as_task([=] { std::memcpy(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset, bytes); }, n, objects);
  return 0;
}
WEFT_OMP_GNU(omp_target_memcpy_async, "OMP_5.1.1")

WEFT_OMP_API int omp_target_memcpy_rect_async(void* to, const void* from, size_t element, int dims, const size_t* volume,
                                              const size_t* to_offsets, const size_t* from_offsets, const size_t* to_dimensions,
                                              const size_t* from_dimensions, int to_device, int from_device, int n,
                                              const DependObject* objects) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (to == nullptr && from == nullptr) return INT_MAX;
  if (element < 1 || dims < 1 || !is_host(to_device) || !is_host(from_device)) return EINVAL;
  // The caller's arrays may be gone by then.
  std::vector<size_t> numbers;
  for (const size_t* array : {volume, to_offsets, from_offsets, to_dimensions, from_dimensions})
    numbers.insert(numbers.end(), array, array + dims);
  as_task(
      [=, numbers = std::move(numbers)] {
        const size_t* array = numbers.data();
        copy_box(static_cast<char*>(to), static_cast<const char*>(from), dims,
                 {element, array, array + dims, array + 2 * dims, array + 3 * dims, array + 4 * dims});
      },
      n, objects);
  return 0;
}
WEFT_OMP_GNU(omp_target_memcpy_rect_async, "OMP_5.1.1")

WEFT_OMP_API void* omp_target_memset(void* to, int byte, size_t bytes, int number) {
  return is_host(number) ? std::memset(to, byte, bytes) : nullptr;
}
WEFT_OMP_GNU(omp_target_memset, "GOMP_6.0.1")
WEFT_OMP_API void* omp_target_memset_async(void* to, int byte, size_t bytes, int number, int n, const DependObject* objects) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (!is_host(number)) return nullptr;
  as_task([=] { std::memset(to, byte, bytes); }, n, objects);
  return to;
}
WEFT_OMP_GNU(omp_target_memset_async, "GOMP_6.0.1")

// -2: libgomp's old number of the host is clang's omp_invalid_device.
WEFT_OMP_API const char* omp_get_uid_from_device(int number) { return number != -2 && is_host(number) ? kHostName : nullptr; }
WEFT_OMP_GNU(omp_get_uid_from_device, "GOMP_6.0")
WEFT_OMP_API const char* omp_get_uid_from_device_(int number) { return omp_get_uid_from_device(number); }
WEFT_OMP_API void weft_gfortran_uid_from_device(const char** result, size_t* length, int32_t number) {
  return_string(omp_get_uid_from_device(number), result, length);
}
WEFT_OMP_GNU_OTHER(omp_get_uid_from_device_, weft_gfortran_uid_from_device, "GOMP_6.0")
WEFT_OMP_API void omp_get_uid_from_device_8_(const char** result, size_t* length, int64_t number) {
  return_string(omp_get_uid_from_device(to_int(number)), result, length);
}
WEFT_OMP_GNU(omp_get_uid_from_device_8_, "GOMP_6.0")

WEFT_OMP_API int omp_get_device_from_uid(const char* name) { return is_host_name(name) ? omp_get_initial_device() : kInvalidOfClang; }
WEFT_OMP_API int weft_gnu_device_from_uid(const char* name) { return is_host_name(name) ? kHostOfGcc : kInvalidOfGcc; }
WEFT_OMP_GNU_OTHER(omp_get_device_from_uid, weft_gnu_device_from_uid, "GOMP_6.0")
WEFT_OMP_API int omp_get_device_from_uid_(const char* name) { return omp_get_device_from_uid(name); }
WEFT_OMP_API int weft_gfortran_device_from_uid(const char* name, size_t length) {
  return is_host_name(name, length) ? kHostOfGcc : kInvalidOfGcc;
}
WEFT_OMP_GNU_OTHER(omp_get_device_from_uid_, weft_gfortran_device_from_uid, "GOMP_6.0")
