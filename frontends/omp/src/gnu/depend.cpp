#include "gnu/depend.hpp"

#include <cstdint>

namespace weft::omp::gnu {
namespace {

size_t number(void* word) { return reinterpret_cast<uintptr_t>(word); }

// omp_depend_t of gcc's.
struct Object {
  void* address;
  uintptr_t kind;  // 1 in, 2 out, 3 inout, 4 mutexinoutset, 5 inoutset
};

Depend of_object(const Object& object) {
  switch (object.kind) {
    case 1: return {object.address, DepKind::kIn};
    case 4: return {object.address, DepKind::kMutexInOutSet};
    case 5: return {object.address, DepKind::kInOutSet};
    default: return {object.address, DepKind::kOut};
  }
}

}  // namespace

Depends::Depends(void** list) {
  if (!list) return;
  const bool objects = !list[0];
  x_count = number(list[objects ? 1 : 0]);
  const size_t outs = number(list[objects ? 2 : 1]);
  const size_t mutexes = objects ? number(list[3]) : 0;
  const size_t ins = objects ? number(list[4]) : x_count - outs;
  void** address = list + (objects ? 5 : 2);
  if (x_count > kFew) {
    x_many.reset(new Depend[x_count]);
    x_items = x_many.get();
  }
  for (size_t i = 0; i < x_count; i++) {
    if (i < outs) {
      x_items[i] = {address[i], DepKind::kOut};
    } else if (i < outs + mutexes) {
      x_items[i] = {address[i], DepKind::kMutexInOutSet};
    } else if (i < outs + mutexes + ins) {
      x_items[i] = {address[i], DepKind::kIn};
    } else {
      x_items[i] = of_object(*static_cast<Object*>(address[i]));
    }
  }
}

}  // namespace weft::omp::gnu
