// bpf_rung.cpp: see bpf_rung.hpp.
#include "block/bpf_rung.hpp"

#include <dlfcn.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>

#include "block/bpf/plugin.h"
#include "block/bpf/slots.h"

namespace weft::rt {
namespace {

struct Plugin {
  decltype(&weft_bpf_watch) watch = nullptr;
  decltype(&weft_bpf_forget) forget = nullptr;
  const std::atomic<uint64_t>* states = nullptr;
  pid_t process = 0;  // whose threads it watches
};
// Written under runtime.setup, before a thread is watched.
constinit Plugin plugin;
constinit std::atomic<bool> taken[WEFT_BPF_SLOTS];

bool has_capabilities() noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  const auto has = [&](unsigned which) { return (data[which / 32].effective >> which % 32 & 1) != 0; };
  return has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON));
}

// The program sees the kernel's own numbers of threads, which are those of this process in the first namespace only.
bool in_first_pid_namespace() noexcept {
  constexpr ino_t kFirst = 0xEFFFFFFC;  // PROC_PID_INIT_INO
  struct stat status{};
  return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == kFirst;
}

// Beside this library, which may lie where nobody else looks; else where libraries are looked for.
void* open_plugin() noexcept {
  Dl_info self{};
  char path[PATH_MAX];
  if (dladdr(&plugin, &self) != 0 && self.dli_fname != nullptr && self.dli_fname[0] == '/') {
    const auto folder = static_cast<int>(std::strrchr(self.dli_fname, '/') + 1 - self.dli_fname);
    const int length = std::snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, WEFT_BPF_PLUGIN);
    void* library = length < PATH_MAX ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (library != nullptr) return library;
  }
  return dlopen(WEFT_BPF_PLUGIN, RTLD_NOW | RTLD_LOCAL);
}

void load() noexcept {
  void* library = open_plugin();
  if (library == nullptr) return;
  const auto open = reinterpret_cast<decltype(&weft_bpf_open)>(dlsym(library, "weft_bpf_open"));
  plugin.watch = reinterpret_cast<decltype(&weft_bpf_watch)>(dlsym(library, "weft_bpf_watch"));
  plugin.forget = reinterpret_cast<decltype(&weft_bpf_forget)>(dlsym(library, "weft_bpf_forget"));
  const bool whole = open != nullptr && plugin.watch != nullptr && plugin.forget != nullptr;
  plugin.states = whole ? reinterpret_cast<const std::atomic<uint64_t>*>(open()) : nullptr;
  if (plugin.states == nullptr) dlclose(library);
}

int acquire_slot() noexcept {
  for (int slot = 0; slot < WEFT_BPF_SLOTS; ++slot) {
    if (!taken[slot].load(std::memory_order_relaxed) && !taken[slot].exchange(true, std::memory_order_relaxed)) {
      return slot;
    }
  }
  return -1;
}

}  // namespace

bool bpf_granted() noexcept {
  if (plugin.process == 0 && has_capabilities() && in_first_pid_namespace()) {
    plugin.process = getpid();
    load();
  }
  return plugin.states != nullptr && plugin.process == getpid();
}

bool bpf_watch(KltWatch& watch, int tid) noexcept {
  if (plugin.process != getpid()) return false;
  const int slot = watch.slot >= 0 ? watch.slot : acquire_slot();
  if (slot < 0) return false;
  watch.slot = slot;
  watch.thread = tid;
  if (plugin.watch(static_cast<uint32_t>(tid), static_cast<uint32_t>(slot)) != 0) {
    bpf_forget(watch);
    return false;
  }
  watch.state.store(&plugin.states[slot], std::memory_order_release);
  return true;
}

void bpf_thread_ends(KltWatch& watch) noexcept {
  if (watch.thread == 0) return;
  // A forked child's record: the thread, and the map, are the parent's.
  if (plugin.process == getpid()) plugin.forget(static_cast<uint32_t>(watch.thread));
  watch.thread = 0;
}

void bpf_forget(KltWatch& watch) noexcept {
  watch.state.store(nullptr, std::memory_order_relaxed);
  if (watch.slot < 0) return;
  bpf_thread_ends(watch);
  if (plugin.process == getpid()) taken[watch.slot].store(false, std::memory_order_relaxed);
  watch.slot = -1;
}

Sight bpf_look(const std::atomic<uint64_t>& state) noexcept {
  // Times two; plus one: it sleeps.
  const uint64_t now = state.load(std::memory_order_relaxed);
  return {(now & 1) != 0, now >> 1, now};
}

}  // namespace weft::rt
