// tool_ask.cpp: what a tool can ask. Most of it may be asked by a signal handler, on whatever thread.
#include <atomic>
#include <cstring>
#include <string_view>

#include "icv.hpp"
#include "os/cpu_set.hpp"
#include "team.hpp"
#include "tool_inside.hpp"

namespace weft::omp::tool {

namespace {

// Null: it is none of OpenMP's.
Thread* asking_thread() {
  if (!is_there()) return nullptr;
  Thread* thread = this_thread_if_any();
  return thread != nullptr && thread->seen.speaks_for != nullptr ? thread->seen.speaks_for : thread;
}

const Member* asking() {
  const Thread* thread = asking_thread();
  return thread != nullptr ? thread->member : nullptr;
}

template <class T>
void say(T* where, T what) {
  if (where != nullptr) *where = what;
}

// A task, and the member that it runs under.
struct Place {
  const Member* member;
  const Task* task;
};

// What waits for it, or has opened its region. False: nothing.
bool climb(Place& place) {
  if ((place.task->flags & task_flag::kImplicit) == 0) {
    place.task = place.task->seen.below;
    return place.task != nullptr;
  }
  if (place.member->seen.is_over || place.member->team->opener == nullptr) return false;
  place.member = place.member->team->opener;
  place.task = place.member->task;
  return true;
}

// ---- the questions

struct Named {
  int value;
  const char* name;
};

#define WEFT_STATE(name) {name, #name}
constexpr Named kStates[] = {
    {ompt_state_undefined, "ompt_state_undefined"},
    WEFT_STATE(ompt_state_work_serial),
    WEFT_STATE(ompt_state_work_parallel),
    WEFT_STATE(ompt_state_work_reduction),
    WEFT_STATE(ompt_state_wait_barrier_implicit_parallel),
    WEFT_STATE(ompt_state_wait_barrier_implicit_workshare),
    WEFT_STATE(ompt_state_wait_barrier_explicit),
    WEFT_STATE(ompt_state_wait_barrier_implementation),
    WEFT_STATE(ompt_state_wait_taskwait),
    WEFT_STATE(ompt_state_wait_taskgroup),
    WEFT_STATE(ompt_state_wait_lock),
    WEFT_STATE(ompt_state_wait_critical),
    WEFT_STATE(ompt_state_wait_atomic),
    WEFT_STATE(ompt_state_wait_ordered),
    WEFT_STATE(ompt_state_idle),
    WEFT_STATE(ompt_state_overhead),
};
#undef WEFT_STATE
constexpr Named kMutexes[] = {{ompt_mutex_impl_none, "none"}, {kMutexImpl, "suspends"}};

template <size_t n>
int next_of(const Named (&list)[n], int current, int* next, const char** name) {
  for (size_t i = 0; i + 1 < n; ++i) {
    if (list[i].value != current) continue;
    say(next, list[i + 1].value);
    say(name, list[i + 1].name);
    return 1;
  }
  return 0;
}

int enumerate_states(int current, int* next, const char** name) { return next_of(kStates, current, next, name); }
int enumerate_mutex_impls(int current, int* next, const char** name) { return next_of(kMutexes, current, next, name); }

ompt_set_result_t set_callback(ompt_callbacks_t event, ompt_callback_t callback) { return set(event, callback); }

int get_callback(ompt_callbacks_t event, ompt_callback_t* callback) {
  const ompt_callback_t is = is_there() ? callback_of(event) : nullptr;
  if (is == nullptr) return 0;
  say(callback, is);
  return 1;
}

ompt_data_t* get_thread_data() {
  Thread* thread = asking_thread();
  return thread != nullptr ? &thread->seen.data : nullptr;
}

int get_num_procs() { return device().procs; }
int get_num_places() { return static_cast<int>(device().places.size()); }

int get_place_proc_ids(int number, int size, int* ids) {
  const auto& places = device().places;
  if (number < 0 || static_cast<size_t>(number) >= places.size()) return 0;
  const auto& place = places[static_cast<size_t>(number)];
  const auto count = static_cast<int>(place.size());
  for (int i = 0; count <= size && i < count; ++i) ids[i] = place[static_cast<size_t>(i)];
  return count;
}

int get_place_num() {
  const Member* member = asking();
  return member != nullptr ? member->place : -1;
}

int get_partition_place_nums(int size, int* numbers) {
  const Member* member = asking();
  if (member == nullptr) return 0;
  const Icvs& icvs = icvs_of(*member);
  for (int i = 0; icvs.place_count <= size && i < icvs.place_count; ++i) numbers[i] = icvs.place_first + i;
  return icvs.place_count;
}

int get_proc_id() { return asking() != nullptr ? rt::cpu_now() : -1; }

int get_state(ompt_wait_id_t* wait_id) {
  const Thread* thread = asking_thread();
  if (thread == nullptr) return ompt_state_work_serial;
  say(wait_id, thread->seen.wait_id);
  return thread->seen.state;
}

constexpr int kIsThere = 2;  // and so are all the answers

int get_parallel_info(int level, ompt_data_t** data, int* size) {
  const Member* member = asking();
  if (member == nullptr || level < 0) return 0;
  const Team* team = member->team;
  for (; level > 0 && team != nullptr; --level) team = team->outer;
  if (team == nullptr) return 0;
  say(data, const_cast<ompt_data_t*>(&team->seen.data));
  say(size, team->n);
  return kIsThere;
}

int get_task_info(int level, int* flags, ompt_data_t** data, ompt_frame_t** frame, ompt_data_t** parallel_data, int* number) {
  const Member* member = asking();
  if (member == nullptr || level < 0) return 0;
  Place place = {member, member->task};
  for (; level > 0; --level) {
    if (!climb(place)) return 0;
  }
  auto& seen = const_cast<TaskSeen&>(place.task->seen);
  say(flags, flags_of(*place.member, *place.task));
  say(data, &seen.data);
  say(frame, &seen.frame);
  say(parallel_data, const_cast<ompt_data_t*>(&place.member->team->seen.data));
  say(number, place.member->num);
  return kIsThere;
}

int get_task_memory(void** address, size_t* size, int block) {
  say(address, static_cast<void*>(nullptr));
  say(size, size_t{0});
  const Member* member = asking();
  if (member == nullptr || block != 0 || (member->task->flags & task_flag::kImplicit) != 0) return 0;
  void* const begin = payload(member->task);
  const auto before = static_cast<size_t>(static_cast<char*>(begin) - reinterpret_cast<char*>(member->task));
  if (member->task->bytes <= before) return 0;  // it has none: a call with its caller's
  say(address, begin);
  say(size, member->task->bytes - before);
  return 0;  // and no more blocks
}

int get_target_info(uint64_t*, ompt_id_t*, ompt_id_t*) { return 0; }
int get_num_devices() { return 1; }  // the host

// Each thread counts for itself, below a number of its own, as libomp's do: what tells numbers apart is not written by all, and those of a
// small program have few digits. Who is no thread, or one too many for that, counts with the others.
uint64_t get_unique_id() {
  constexpr int kNumberAt = 48;
  static std::atomic<uint64_t> others{0}, threads{0};
  Thread* const thread = asking_thread();
  if (thread == nullptr) return others.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::atomic_ref<uint64_t> last(thread->seen.last_id);
  uint64_t seen = last.load(std::memory_order_relaxed);
  if (seen == 0) {
    const uint64_t number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number >> (64 - kNumberAt) != 0) return others.fetch_add(1, std::memory_order_relaxed) + 1;
    last.compare_exchange_strong(seen, number << kNumberAt, std::memory_order_relaxed);
  }
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

template <class T, class F>
ompt_interface_fn_t as(F* function) {
  const T typed = function;
  return reinterpret_cast<ompt_interface_fn_t>(typed);
}

}  // namespace

ompt_interface_fn_t look_up(const char* name) {
  const std::string_view wish(name);
#define WEFT_QUESTION(question) \
  if (wish == "ompt_" #question) return as<ompt_##question##_t>(&question)
  WEFT_QUESTION(enumerate_states);
  WEFT_QUESTION(enumerate_mutex_impls);
  WEFT_QUESTION(set_callback);
  WEFT_QUESTION(get_callback);
  WEFT_QUESTION(get_thread_data);
  WEFT_QUESTION(get_num_procs);
  WEFT_QUESTION(get_num_places);
  WEFT_QUESTION(get_place_proc_ids);
  WEFT_QUESTION(get_place_num);
  WEFT_QUESTION(get_partition_place_nums);
  WEFT_QUESTION(get_proc_id);
  WEFT_QUESTION(get_state);
  WEFT_QUESTION(get_parallel_info);
  WEFT_QUESTION(get_task_info);
  WEFT_QUESTION(get_task_memory);
  WEFT_QUESTION(get_target_info);
  WEFT_QUESTION(get_num_devices);
  WEFT_QUESTION(get_unique_id);
#undef WEFT_QUESTION
  if (wish == "ompt_finalize_tool") return as<ompt_finalize_tool_t>(&finish);
  return nullptr;
}

}  // namespace weft::omp::tool
