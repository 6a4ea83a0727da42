// thread_attr.cpp: ABT_thread_attr_*.
#include "thread_attr.hpp"

#include <new>

#include "handles.hpp"
#include "runtime.hpp"

using namespace weft::abt;

extern "C" {

int ABT_thread_attr_create(ABT_thread_attr* newattr) {
  if (!running()) return fail(newattr, ABT_THREAD_ATTR_NULL, ABT_ERR_UNINITIALIZED);
  auto* attr = new (std::nothrow) ABT_thread_attr_opaque;
  if (attr == nullptr) return fail(newattr, ABT_THREAD_ATTR_NULL, ABT_ERR_MEM);
  *newattr = attr;
  return ABT_SUCCESS;
}

int ABT_thread_attr_free(ABT_thread_attr* attr) {
  if (attr == nullptr || is_null(*attr)) return ABT_ERR_INV_THREAD_ATTR;
  delete *attr;
  *attr = ABT_THREAD_ATTR_NULL;
  return ABT_SUCCESS;
}

int ABT_thread_attr_set_stack(ABT_thread_attr attr, void* stackaddr, size_t stacksize) {
  if (is_null(attr)) return ABT_ERR_INV_THREAD_ATTR;
  // What a ULT's first frames and Weft's record of the stack take.
  constexpr size_t kLeast = 2048;
  if (stackaddr != nullptr && (reinterpret_cast<uintptr_t>(stackaddr) % 8 != 0 || stacksize < kLeast)) {
    return ABT_ERR_INV_ARG;
  }
  attr->stack = stackaddr;
  attr->stack_size = stacksize;
  attr->no_stack = false;
  return ABT_SUCCESS;
}

int ABT_thread_attr_get_stack(ABT_thread_attr attr, void** stackaddr, size_t* stacksize) {
  if (is_null(attr)) return ABT_ERR_INV_THREAD_ATTR;
  *stackaddr = attr->stack;
  return ABT_thread_attr_get_stacksize(attr, stacksize);
}

int ABT_thread_attr_set_stacksize(ABT_thread_attr attr, size_t stacksize) {
  if (is_null(attr)) return ABT_ERR_INV_THREAD_ATTR;
  attr->stack_size = stacksize;
  attr->no_stack = false;
  return ABT_SUCCESS;
}

int ABT_thread_attr_get_stacksize(ABT_thread_attr attr, size_t* stacksize) {
  if (is_null(attr)) return ABT_ERR_INV_THREAD_ATTR;
  *stacksize = attr->stack_size != 0 || attr->no_stack ? attr->stack_size : weft::front::default_stack_size();
  return ABT_SUCCESS;
}

int ABT_thread_attr_set_callback(ABT_thread_attr attr, void (*cb_func)(ABT_thread, void*), void* cb_arg) {
  if (is_null(attr)) return ABT_ERR_INV_THREAD_ATTR;
  attr->moved = cb_func;
  attr->moved_arg = cb_arg;
  return ABT_SUCCESS;
}

int ABT_thread_attr_set_migratable(ABT_thread_attr attr, ABT_bool is_migratable) {
  if (is_null(attr)) return ABT_ERR_INV_THREAD_ATTR;
  attr->migratable = is_migratable != ABT_FALSE;
  return ABT_SUCCESS;
}

}  // extern "C"
