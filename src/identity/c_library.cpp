#include "identity/c_library.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>

#include <cstdio>
#include <cstring>

#include "arch/klt_register.hpp"
#include "arch/thread_pointer.hpp"
#include "identity/private_symbols.hpp"
#include "os/peek.hpp"

extern "C" int __cxa_thread_atexit_impl(void (*destructor)(void*), void* object, void* dso_symbol);
extern "C" void* __dso_handle;

namespace weft::rt {

constinit CLibrary c_library;

namespace {

// As glibc describes a field: its size in bits, how many there are, its offset in bytes.
struct Field {
  uint32_t bits, count, offset;
};

constinit PrivateSymbols of_threads{"libpthread.so"};

template <class T>
T find(const char* name) noexcept {
  const void* symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr) symbol = of_threads.find(name);
  T found = reinterpret_cast<T>(const_cast<void*>(symbol));
  if (found == nullptr && c_library.lacks == nullptr) c_library.lacks = name;
  return found;
}

size_t offset_of(const char* name, uint32_t bits) noexcept {
  const auto* field = find<const Field*>(name);
  if (field == nullptr) return 0;
  if (field->bits != bits && c_library.lacks == nullptr) c_library.lacks = name;
  return field->offset;
}

void expect_size(const char* name, uint32_t bytes) noexcept {
  const auto* size = find<const uint32_t*>(name);
  if (size != nullptr && *size != bytes && c_library.lacks == nullptr) c_library.lacks = name;
}

ptrdiff_t from_thread_pointer(const void* address) noexcept {
  return static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(address) - thread_pointer());
}

void find_keys() noexcept {
  const auto* blocks = find<const Field*>("_thread_db_pthread_specific");
  const auto* block = find<const Field*>("_thread_db_pthread_key_data_level2_data");
  c_library.keys = find<const char*>("__pthread_keys");
  if (c_library.lacks != nullptr) return;
  c_library.key_blocks = blocks->offset;
  c_library.key_block_count = blocks->bits / 64;
  c_library.keys_per_block = block->count;
  expect_size("_thread_db_sizeof_pthread_key_data", sizeof(KeyValue));
  expect_size("_thread_db_sizeof_pthread_key_struct", sizeof(KeyRecord));
  if (offset_of("_thread_db_pthread_key_data_seq", 64) != offsetof(KeyValue, sequence) ||
      offset_of("_thread_db_pthread_key_data_data", 64) != offsetof(KeyValue, value) ||
      offset_of("_thread_db_pthread_key_struct_seq", 64) != offsetof(KeyRecord, sequence) ||
      offset_of("_thread_db_pthread_key_struct_destr", 64) != offsetof(KeyRecord, destructor)) {
    c_library.lacks = "_thread_db_pthread_key_data";
  }
}

// struct dtv_slotinfo_list: a length, the next one, the slots.
struct ModuleList {
  size_t length;
  const ModuleList* next;
  TlsSlot slots[];
};

void find_modules() noexcept {
  const auto* loader = find<const char*>("_rtld_global");
  c_library.modules = loader + offset_of("_thread_db_rtld_global__dl_tls_dtv_slotinfo_list", 64);
  c_library.module_offset = offset_of("_thread_db_link_map_l_tls_offset", 64);
  c_library.dtv = offset_of("_thread_db_pthread_dtvp", 64);
  c_library.tid = offset_of("_thread_db_pthread_tid", 32);
  expect_size("_thread_db_sizeof_dtv_slotinfo", sizeof(TlsSlot));
  if (offset_of("_thread_db_dtv_slotinfo_list_next", 64) != offsetof(ModuleList, next) ||
      find<const Field*>("_thread_db_dtv_slotinfo_list_slotinfo")->offset != offsetof(ModuleList, slots) ||
      offset_of("_thread_db_dtv_slotinfo_gen", 64) != offsetof(TlsSlot, generation) ||
      offset_of("_thread_db_dtv_slotinfo_map", 64) != offsetof(TlsSlot, module)) {
    c_library.lacks = "_thread_db_dtv_slotinfo";
  }
}

// The C library's own thread-local variables, of the calling thread.
struct OwnVariables {
  uintptr_t* first = nullptr;
  size_t count = 0;
};

int find_block_of_errno(dl_phdr_info* object, size_t, void* found) noexcept {
  const auto here = reinterpret_cast<uintptr_t>(&errno);
  const auto block = reinterpret_cast<uintptr_t>(object->dlpi_tls_data);
  for (const auto* header = object->dlpi_phdr; header != object->dlpi_phdr + object->dlpi_phnum; ++header) {
    if (header->p_type != PT_TLS || block == 0 || here < block || here >= block + header->p_memsz) continue;
    *static_cast<OwnVariables*>(found) = {reinterpret_cast<uintptr_t*>((block + 7) & ~uintptr_t{7}), header->p_memsz / 8};
    return 1;
  }
  return 0;
}

// Registered, and does nothing: it may stay in the list.
void destroy_nothing(void*) noexcept {}
char nothing;

// The record of what has been registered has the object in it, wherever.
bool is_record_of_nothing(uintptr_t address) noexcept {
  struct Record {
    const void* words[4];
  };
  const Peek<Record> record(reinterpret_cast<const Record*>(address));
  if (!record) return false;
  for (const void* word : record->words) {
    if (word == &nothing) return true;
  }
  return false;
}

// The word that leads to the destructors: another one after one has been registered, whose record it points to. Its name is not
// exported. The thread may be the program's, and have destructors: none of those is run. Ours stays, and does nothing when the thread ends: to run
// it now frees its record, by a function of the program's maybe, which may not be called before main() (GCL's).
void find_tls_destructors() noexcept {
  OwnVariables own;
  dl_iterate_phdr(find_block_of_errno, &own);
  constexpr size_t kMost = 512;
  uintptr_t before[kMost];
  if (c_library.lacks == nullptr) c_library.lacks = "tls_dtor_list";
  if (own.count == 0 || own.count > kMost) return;
  std::memcpy(before, own.first, own.count * sizeof *before);
  if (__cxa_thread_atexit_impl(destroy_nothing, &nothing, &__dso_handle) != 0) return;
  uintptr_t* found = nullptr;
  for (size_t i = 0; i < own.count; ++i) {
    if (own.first[i] == before[i] || !is_record_of_nothing(own.first[i])) continue;
    if (found != nullptr) return;  // two of them
    found = &own.first[i];
  }
  if (found == nullptr) return;
  c_library.tls_destructors = from_thread_pointer(found);
  c_library.lacks = nullptr;
}

StackWords told_stack() noexcept {
  pthread_attr_t attr;
  StackWords told;
  if (pthread_getattr_np(pthread_self(), &attr) != 0) return told;
  void* low = nullptr;
  pthread_attr_getstack(&attr, &low, &told.size);
  pthread_attr_destroy(&attr);
  told.low = reinterpret_cast<uintptr_t>(low);
  return told;
}

uint32_t thread_bytes = 0;  // of a thread's control block

// Three words in a row from which what is told of our stack follows; what is told then has to follow from others, too.
void find_stack() noexcept {
  const StackWords told = told_stack();
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (frame - told.low >= told.size) {
    c_library.lacks = "pthread_getattr_np";
    return;
  }
  c_library.above_frames = told.low + told.size - frame;
  size_t found = 0;
  for (size_t at = 0; at + sizeof(StackWords) <= thread_bytes; at += sizeof(uintptr_t)) {
    StackWords here;
    std::memcpy(&here, reinterpret_cast<const char*>(thread_pointer() + at), sizeof here);
    const bool fits = here.low + here.guard == told.low && here.low + here.size == told.low + told.size;
    if (!fits || told.size == 0) continue;
    if (found != 0) return;  // two of them
    found = at;
  }
  if (found == 0) return;
  auto* words = reinterpret_cast<StackWords*>(thread_pointer() + found);
  const StackWords before = *words;
  const size_t less = before.size / 2;
  *words = {before.low + less, before.size - less, 0};
  const StackWords other = told_stack();
  *words = before;
  if (other.low == before.low + less && other.size == before.size - less) c_library.stack = found;
}

// For people.
void tell_what_lacks() noexcept {
  static char text[128];
  if (c_library.lacks == nullptr) return;
  std::snprintf(text, sizeof text, "the C library lacks %s, by which debuggers know its threads", c_library.lacks);
  c_library.lacks = text;
}

bool is_asked = false;
const char* lacked = nullptr;  // constant once the library is loaded

// All that takes the loader's lock: dlsym(), and so does the registration of a destructor.
void ask_loader() noexcept {
  if (is_asked) return;
  c_library.lacks = nullptr;
  c_library.run_tls_destructors = find<void (*)()>("__call_tls_dtors");
  if (const auto* bytes = find<const uint32_t*>("_thread_db_sizeof_pthread")) thread_bytes = *bytes;
  find_keys();
  if (c_library.lacks == nullptr) find_modules();
  of_threads.forget();
  if (c_library.lacks == nullptr) find_tls_destructors();
  tell_what_lacks();
  is_asked = true;
}

// When this library is loaded: later, whoever has that lock may be waiting for an identity, for which it is asked (a region in the
// constructor of a library that is loaded by dlopen()). A program that is linked statically loads none, and has no such names.
[[gnu::constructor]] void ask_loader_early() noexcept {
  if (getauxval(AT_BASE) == 0) return;
  ask_loader();
  lacked = c_library.lacks;
}

}  // namespace

const char* c_library_lacked() noexcept { return lacked; }

const CLibrary& c_library_find() noexcept {
  static bool found = false;  // not before all is: a forked child may begin again
  if (found) return c_library;
  ask_loader();
  if (c_library.lacks == nullptr) {
    find_stack();
    tell_what_lacks();
  }
  c_library.on_klt = klt_register_flag();
  c_library.error = from_thread_pointer(&errno);
  found = true;
  return c_library;
}

TlsSlot tls_slot(size_t module) noexcept {
  const ModuleList* list;
  std::memcpy(&list, c_library.modules, sizeof list);
  for (; list != nullptr; list = __atomic_load_n(&list->next, __ATOMIC_ACQUIRE)) {
    if (module < list->length) {
      const TlsSlot& slot = list->slots[module];
      return {__atomic_load_n(&slot.generation, __ATOMIC_RELAXED), __atomic_load_n(&slot.module, __ATOMIC_ACQUIRE)};
    }
    module -= list->length;
  }
  return {};
}

ptrdiff_t tls_offset(const TlsSlot& slot) noexcept {
  ptrdiff_t offset;
  std::memcpy(&offset, static_cast<const char*>(slot.module) + c_library.module_offset, sizeof offset);
  return offset > 0 ? -offset : 0;  // -1: never anywhere fixed
}

}  // namespace weft::rt
