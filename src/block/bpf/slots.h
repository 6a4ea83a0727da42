// slots.h: how many threads can be watched by way of eBPF; for both sides.
#ifndef WEFT_BLOCK_BPF_SLOTS_H
#define WEFT_BLOCK_BPF_SLOTS_H

#define WEFT_BPF_SLOTS 4096

#endif
