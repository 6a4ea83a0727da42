// switches.bpf.c: writes down which threads of one process sleep, at each of their context switches.
//
// User space maps `states` and reads it with plain loads: nobody is notified, because the scout of a core runs
// when that core has run out of work.
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "block/bpf/slots.h"

// What is read of the kernel's; where it lies there is found out when this is loaded.
struct task_struct {
  int pid;
  int tgid;
  unsigned int __state;
} __attribute__((preserve_access_index));

// Before 5.14 the state had another name.
struct task_struct___before_5_14 {
  long state;
} __attribute__((preserve_access_index));

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile int process = 0;  // set before it is loaded

// The thread's number to its slot.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, WEFT_BPF_SLOTS);
  __type(key, __u32);
  __type(value, __u32);
} slots SEC(".maps");

// When it last left or got a core, in ns of CLOCK_MONOTONIC, times two; plus one: it waits for something.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, WEFT_BPF_SLOTS);
  __type(key, __u32);
  __type(value, __u64);
} states SEC(".maps");

static __always_inline void note(struct task_struct* task, __u64 asleep) {
  if (task->tgid != process) return;
  const __u32 thread = task->pid;
  const __u32* slot = bpf_map_lookup_elem(&slots, &thread);
  if (!slot) return;
  const __u32 index = *slot;
  __u64* state = bpf_map_lookup_elem(&states, &index);
  if (state) *(volatile __u64*)state = bpf_ktime_get_ns() << 1 | asleep;
}

static __always_inline __u64 sleeps(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state)) return BPF_CORE_READ(task, __state) != 0;
  return BPF_CORE_READ((struct task_struct___before_5_14*)task, state) != 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct* prev, struct task_struct* next) {
  note(prev, !preempt && sleeps(prev));
  note(next, 0);
  return 0;
}
