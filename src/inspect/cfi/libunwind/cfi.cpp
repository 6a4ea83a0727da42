// cfi.cpp: by libunwind, used as perf does it: its "remote" half, with memory, registers and tables handed
// to it by functions of ours. So no access of its own can fault, and it never asks the loader for anything.
//
// It is loaded when the runtime starts, under names that nobody else sees. Rejected: linking with it. Its
// libunwind.so brings functions by the same names as the compiler's own unwinder (_Unwind_...), and in a program
// that is linked statically these would take the place of those under every C++ exception.
#include "inspect/cfi/cfi.hpp"

#include <dlfcn.h>
#include <libunwind.h>
#include <sys/auxv.h>

#include <cstring>

#include "inspect/modules.hpp"
#include "os/peek.hpp"

#define WEFT_TEXT_OF(x) #x
#define WEFT_TEXT(x) WEFT_TEXT_OF(x)

extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                   unw_proc_info_t*, int, void*);

namespace weft::rt {
namespace {

constexpr char kLibrary[] = "libunwind-" WEFT_TEXT(UNW_TARGET) ".so.8";

struct Library {
  decltype(&unw_create_addr_space) create_addr_space;
  decltype(&unw_init_remote) init_remote;
  decltype(&unw_step) step;
  decltype(&unw_get_reg) get_reg;
  decltype(&UNW_OBJ(dwarf_search_unwind_table)) search_unwind_table;
};
Library library;
unw_addr_space_t space;

// ---- memory -------------------------------------------------------------------------------------

// Memory is asked for word by word, in the same few places.
class Lines {
 public:
  void forget() noexcept {
    for (Line& line : lines_) line.address = 0;
  }
  bool read(uintptr_t from, void* to, size_t bytes) noexcept {
    auto* out = static_cast<unsigned char*>(to);
    while (bytes > 0) {
      const Line* line = line_of(from);
      if (line == nullptr) return false;
      const size_t at = from % kBytes;
      const size_t n = bytes < kBytes - at ? bytes : kBytes - at;
      std::memcpy(out, line->bytes + at, n);
      out += n;
      from += n;
      bytes -= n;
    }
    return true;
  }

 private:
  static constexpr size_t kBytes = 256;  // divides a page
  static constexpr size_t kCount = 64;
  struct Line {
    uintptr_t address = 0;
    unsigned char bytes[kBytes];
  };

  const Line* line_of(uintptr_t address) noexcept {
    const uintptr_t start = address - address % kBytes;
    Line& line = lines_[start / kBytes % kCount];
    if (start == 0) return nullptr;
    if (line.address != start) {
      line.address = 0;
      if (!peek(reinterpret_cast<const void*>(start), line.bytes, kBytes)) return nullptr;
      line.address = start;
    }
    return &line;
  }

  Line lines_[kCount];
};

// What one stack is unwound with. Static, because alternate signal stacks are small.
struct Work {
  Registers from;
  Module module;  // of the frame that is being looked at
  Lines tables;   // of modules: good for all stacks
  Lines stack;    // good for one
  unw_cursor_t cursor;
};
Work work;

bool in_module(uintptr_t address) noexcept {
  return address >= work.module.low && address < work.module.high;
}

int access_mem(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void*) {
  if (write != 0) return -UNW_EINVAL;
  Lines& lines = in_module(address) ? work.tables : work.stack;
  return lines.read(address, value, sizeof *value) ? 0 : -UNW_EINVAL;
}

int access_reg(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void*) {
  if (write != 0 || number < 0 || !work.from.has(static_cast<unsigned>(number))) return -UNW_EBADREG;
  *value = work.from.value[number];
  return 0;
}

int access_fpreg(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EBADREG; }

// ---- tables -------------------------------------------------------------------------------------

// .eh_frame_hdr (Linux Standard Base, "Exception Frames"), as all linkers write it: behind these bytes lies a
// table sorted by address, of offsets from the header.
struct [[gnu::packed]] UnwindTable {
  uint8_t version;
  uint8_t frame_encoding;
  uint8_t count_encoding;
  uint8_t table_encoding;
  int32_t frame;
  uint32_t count;
};
constexpr uint8_t kFourBytes = 0x0b;                   // DW_EH_PE_sdata4, whatever it is relative to
constexpr uint8_t kUnsignedFourBytes = 0x03;           // DW_EH_PE_udata4
constexpr uint8_t kFromHeaderFourBytes = 0x30 | 0x0b;  // DW_EH_PE_datarel | DW_EH_PE_sdata4

int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t* info, int need_unwind_info,
                   void* arg) {
  Module module;
  if (!module_at(ip, module) || module.unwind_table == 0) return -UNW_ENOINFO;
  work.module = module;
  UnwindTable table;
  if (!work.tables.read(module.unwind_table, &table, sizeof table)) return -UNW_ENOINFO;
  if (table.version != 1 || table.count_encoding != kUnsignedFourBytes ||
      (table.frame_encoding & 0x0f) != kFourBytes || table.table_encoding != kFromHeaderFourBytes) {
    return -UNW_ENOINFO;
  }
  unw_dyn_info_t dynamic{};
  dynamic.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  dynamic.start_ip = module.low;
  dynamic.end_ip = module.high;
  dynamic.u.rti.segbase = module.unwind_table;
  dynamic.u.rti.table_data = module.unwind_table + sizeof table;
  dynamic.u.rti.table_len = table.count * 2 * sizeof(uint32_t) / sizeof(unw_word_t);
  return library.search_unwind_table(as, ip, &dynamic, info, need_unwind_info, arg);
}

void put_unwind_info(unw_addr_space_t, unw_proc_info_t*, void*) {}
int no_dynamic_info(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }
int no_resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int no_name(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

unw_accessors_t accessors() noexcept {
  unw_accessors_t ours{};
  ours.find_proc_info = find_proc_info;
  ours.put_unwind_info = put_unwind_info;
  ours.get_dyn_info_list_addr = no_dynamic_info;
  ours.access_mem = access_mem;
  ours.access_reg = access_reg;
  ours.access_fpreg = access_fpreg;
  ours.resume = no_resume;
  ours.get_proc_name = no_name;
  return ours;
}

template <class F>
bool load(void* from, const char* name, F& function) noexcept {
  function = reinterpret_cast<F>(dlsym(from, name));
  return function != nullptr;
}

bool load_all(void* from) noexcept {
  return load(from, WEFT_TEXT(unw_create_addr_space), library.create_addr_space) &&
         load(from, WEFT_TEXT(unw_init_remote), library.init_remote) &&
         load(from, WEFT_TEXT(unw_step), library.step) &&
         load(from, WEFT_TEXT(unw_get_reg), library.get_reg) &&
         load(from, WEFT_TEXT(UNW_OBJ(dwarf_search_unwind_table)), library.search_unwind_table);
}

bool next_ip(uintptr_t& ip) noexcept {
  unw_word_t word = 0;
  if (library.get_reg(&work.cursor, UNW_REG_IP, &word) < 0) return false;
  ip = word;
  return word != 0;
}

void unwind_at_most(unsigned most, const Registers& from, Frames& to) noexcept {
  work.from = from;
  work.module = Module{};
  work.stack.forget();
  to.count = 0;
  to.cut = false;
  if (library.init_remote(&work.cursor, space, nullptr) < 0) return;
  uintptr_t ip = 0;
  while (next_ip(ip)) {
    if (to.count == most) {
      to.cut = true;
      return;
    }
    to.at[to.count++] = ip;
    if (library.step(&work.cursor) <= 0) return;
  }
}

}  // namespace

const char* cfi_open() noexcept {
  // A program that is linked statically would get a second C library with it.
  if (getauxval(AT_BASE) == 0) return "a program that is linked statically cannot load libunwind";
  void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return "libunwind cannot be loaded (install the package libunwind8)";
  if (!load_all(handle)) return "this libunwind lacks functions that are needed (version 1.6 has them)";
  unw_accessors_t ours = accessors();
  space = library.create_addr_space(&ours, 0);
  if (space == nullptr) return "libunwind found no memory when the runtime was started";
  // Its first use sets up tables of its own, under a lock: one step is that.
  Frames frames;
  unwind_at_most(2, registers_here(), frames);
  return nullptr;
}

void cfi_forget() noexcept { work.tables.forget(); }

void cfi_unwind(const Registers& from, Frames& to) noexcept { unwind_at_most(Frames::kMost, from, to); }

}  // namespace weft::rt
