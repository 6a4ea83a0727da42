// plugin.cpp: see plugin.h.
#include "block/bpf/plugin.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "block/bpf/slots.h"
#include "weft_switches.skel.h"

namespace {

weft_switches* loaded = nullptr;  // constant once it is open

const uint64_t* map_states(const weft_switches* switches) {
  void* states = mmap(nullptr, WEFT_BPF_SLOTS * sizeof(uint64_t), PROT_READ, MAP_SHARED,
                      bpf_map__fd(switches->maps.states), 0);
  return states == MAP_FAILED ? nullptr : static_cast<const uint64_t*>(states);
}

int say_nothing(libbpf_print_level, const char*, va_list) { return 0; }

}  // namespace

extern "C" {

const uint64_t* weft_bpf_open() {
  libbpf_set_print(say_nothing);  // the caller says what is used in its place
  weft_switches* opened = weft_switches__open();
  if (opened == nullptr) return nullptr;
  opened->rodata->process = getpid();
  const bool runs = weft_switches__load(opened) == 0 && weft_switches__attach(opened) == 0;
  const uint64_t* states = runs ? map_states(opened) : nullptr;
  if (states == nullptr) {
    weft_switches__destroy(opened);
    return nullptr;
  }
  loaded = opened;
  return states;
}

int weft_bpf_watch(uint32_t thread, uint32_t slot) {
  const uint64_t runs = 0;
  if (bpf_map_update_elem(bpf_map__fd(loaded->maps.states), &slot, &runs, BPF_ANY) != 0) return -1;
  return bpf_map_update_elem(bpf_map__fd(loaded->maps.slots), &thread, &slot, BPF_ANY);
}

void weft_bpf_forget(uint32_t thread) { bpf_map_delete_elem(bpf_map__fd(loaded->maps.slots), &thread); }

}  // extern "C"
