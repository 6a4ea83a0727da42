// plugin.h: what libweft-bpf.so does for libweft, which loads it when that is wanted and the process may use it. So no
// program needs libbpf that does not.
#ifndef WEFT_BLOCK_BPF_PLUGIN_H
#define WEFT_BLOCK_BPF_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_BPF_PLUGIN "libweft-bpf.so.0"

// Starts to write down the switches of this process's threads. The states of all slots (see switches.bpf.c), which stay
// mapped for good; null: the kernel refuses. Call it once.
__attribute__((visibility("default"))) const uint64_t* weft_bpf_open(void);
// The switches of that thread go to that slot, or to none any more. 0: done. Any thread.
__attribute__((visibility("default"))) int weft_bpf_watch(uint32_t thread, uint32_t slot);
__attribute__((visibility("default"))) void weft_bpf_forget(uint32_t thread);

#ifdef __cplusplus
}
#endif

#endif
