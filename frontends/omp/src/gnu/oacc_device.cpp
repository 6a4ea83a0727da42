// oacc_device.cpp: OpenACC's functions about devices, queues and profiles. There is one device, the host, as in a libgomp
// without plugins: all is done when a call returns.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <sys/sysinfo.h>

#include "export.hpp"
#include "gnu/message.hpp"

namespace weft::omp::gnu {
namespace {

// acc_device_t
enum : int { kCurrent = -1, kNone = 0, kDefault = 1, kHost = 2, kNotHost = 4, kNvidia = 5, kRadeon = 8 };

// acc_device_property_t
enum : int { kMemory = 1, kFreeMemory = 2, kName = 0x10001, kVendor = 0x10002, kDriver = 0x10003 };

bool is_host(int type) { return type == kCurrent || type == kDefault || type == kHost; }

const char* name_of(int type) {
  switch (type) {
    case kNone: return "none";
    case kNotHost: return "not_host";
    case kNvidia: return "nvidia";
    case kRadeon: return "radeon";
    default: return nullptr;
  }
}

void check_device(int type) {
  if (is_host(type)) return;
  if (const char* name = name_of(type)) fail("device type %s not supported", name);
  fail("unknown device type %u", static_cast<unsigned>(type));
}

void check_device(int number, int type) {
  check_device(type);
  if (number > 0) fail("device %d out of range", number);
}

const char* property_string(int number, int type, int property) {
  check_device(number, type);
  switch (property) {
    case kName:
    case kVendor: return property == kName ? "GOMP" : "GNU";
    case kDriver: return "1.0";
    default: return nullptr;
  }
}

size_t property(int number, int type, int which) {
  check_device(number, type);
  struct sysinfo info;
  if ((which != kMemory && which != kFreeMemory) || sysinfo(&info)) return 0;
  return (which == kMemory ? info.totalram : info.freeram) * info.mem_unit;
}

int count(int type) {
  if (!is_host(type) && !name_of(type)) check_device(type);
  return is_host(type) ? 1 : 0;
}

int current_number(int type) {
  check_device(type);
  return 0;
}

// Filled up with blanks.
void fortran_string(const char* string, char* text, size_t length) {
  const size_t own = string ? strlen(string) : 0;
  for (size_t i = 0; i < length; i++) text[i] = i < own ? string[i] : ' ';
}

int on_device(int type) { return type == kHost || type == kNone; }

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;

// _h_: Fortran's, by reference.
#define WEFT_ACC(type, name, parameters, body, version) \
  WEFT_OMP_API type name parameters body                \
  WEFT_OMP_GNU(name, version)

WEFT_ACC(int, acc_get_num_devices, (int type), { return gnu::count(type); }, "OACC_2.0")
WEFT_ACC(int, acc_get_num_devices_h_, (int* type), { return gnu::count(*type); }, "OACC_2.0")
WEFT_ACC(void, acc_set_device_type, (int type), { gnu::check_device(type); }, "OACC_2.0")
WEFT_ACC(void, acc_set_device_type_h_, (int* type), { gnu::check_device(*type); }, "OACC_2.0")
WEFT_ACC(int, acc_get_device_type, (), { return gnu::kHost; }, "OACC_2.0")
WEFT_ACC(int, acc_get_device_type_h_, (), { return gnu::kHost; }, "OACC_2.0")
WEFT_ACC(void, acc_set_device_num, (int number, int type), { gnu::check_device(number, type ? type : gnu::kHost); }, "OACC_2.0")
WEFT_ACC(void, acc_set_device_num_h_, (int* number, int* type),
         { gnu::check_device(*number, *type ? *type : gnu::kHost); }, "OACC_2.0")
WEFT_ACC(int, acc_get_device_num, (int type), { return gnu::current_number(type); }, "OACC_2.0")
WEFT_ACC(int, acc_get_device_num_h_, (int* type), { return gnu::current_number(*type); }, "OACC_2.0")
WEFT_ACC(size_t, acc_get_property, (int number, int type, int which), { return gnu::property(number, type, which); }, "OACC_2.6")
WEFT_ACC(size_t, acc_get_property_h_, (int* number, int* type, int* which),
         { return gnu::property(*number, *type, *which); }, "OACC_2.6")
WEFT_ACC(const char*, acc_get_property_string, (int number, int type, int which),
         { return gnu::property_string(number, type, which); }, "OACC_2.6")
WEFT_ACC(void, acc_get_property_string_h_, (int* number, int* type, int* which, char* text, size_t length),
         { gnu::fortran_string(gnu::property_string(*number, *type, *which), text, length); }, "OACC_2.6")
WEFT_ACC(void, acc_init, (int type), { gnu::check_device(type); }, "OACC_2.0")
WEFT_ACC(void, acc_init_h_, (int* type), { gnu::check_device(*type); }, "OACC_2.0")
WEFT_ACC(void, acc_shutdown, (int type), { gnu::check_device(type); }, "OACC_2.0")
WEFT_ACC(void, acc_shutdown_h_, (int* type), { gnu::check_device(*type); }, "OACC_2.0")
WEFT_ACC(int, acc_on_device, (int type), { return gnu::on_device(type); }, "OACC_2.0")
WEFT_ACC(int, acc_on_device_h_, (int* type), { return gnu::on_device(*type); }, "OACC_2.0")

WEFT_ACC(int, acc_async_test, (int), { return 1; }, "OACC_2.0")
WEFT_ACC(int, acc_async_test_h_, (int*), { return 1; }, "OACC_2.0")
WEFT_ACC(int, acc_async_test_all, (), { return 1; }, "OACC_2.0")
WEFT_ACC(int, acc_async_test_all_h_, (), { return 1; }, "OACC_2.0")
WEFT_ACC(void, acc_wait, (int), {}, "OACC_2.0")
WEFT_ACC(void, acc_wait_h_, (int*), {}, "OACC_2.0")
WEFT_ACC(void, acc_async_wait, (int), {}, "OACC_2.0.1")
WEFT_ACC(void, acc_wait_async, (int, int), {}, "OACC_2.0")
WEFT_ACC(void, acc_wait_async_h_, (int*, int*), {}, "OACC_2.0")
WEFT_ACC(void, acc_wait_all, (), {}, "OACC_2.0")
WEFT_ACC(void, acc_wait_all_h_, (), {}, "OACC_2.0")
WEFT_ACC(void, acc_async_wait_all, (), {}, "OACC_2.0.1")
WEFT_ACC(void, acc_wait_all_async, (int), {}, "OACC_2.0")
WEFT_ACC(void, acc_wait_all_async_h_, (int*), {}, "OACC_2.0")

WEFT_ACC(void*, acc_get_current_cuda_device, (), { return nullptr; }, "OACC_2.0")
WEFT_ACC(void*, acc_get_current_cuda_context, (), { return nullptr; }, "OACC_2.0")
WEFT_ACC(void*, acc_get_cuda_stream, (int), { return nullptr; }, "OACC_2.0")
WEFT_ACC(int, acc_set_cuda_stream, (int, void*), { return -1; }, "OACC_2.0")

// Nothing is profiled. Whoever asks for it shall know.
WEFT_ACC(void, acc_prof_register, (int event, void*, int),
         { gnu::say("acc_prof_register: event %d will not be reported: there is no profiling of OpenACC here", event); },
         "OACC_2.5.1")
WEFT_ACC(void, acc_prof_unregister, (int, void*, int), {}, "OACC_2.5.1")
WEFT_ACC(void*, acc_prof_lookup, (const char*), { return nullptr; }, "OACC_2.5.1")
// A tool's, which the library calls if the program has one.
WEFT_ACC(void, acc_register_library, (void*, void*, void*), {}, "OACC_2.5.1")
