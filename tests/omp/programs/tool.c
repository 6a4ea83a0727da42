// tool.c: a tool (OMPT) in the program itself: what it is told of regions, tasks, worksharing and locks, in which order, and what
// it can ask meanwhile. With "off": what there is without a tool; with "stop" the program ends it.
#include <omp-tools.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

// libgomp has none to link with.
extern int omp_control_tool(int command, int modifier, void* arg) __attribute__((weak));

static ompt_function_lookup_t look_up;
static ompt_set_callback_t set_callback;
static ompt_get_callback_t get_callback;
static ompt_get_thread_data_t get_thread_data;
static ompt_get_task_info_t get_task_info;
static ompt_get_parallel_info_t get_parallel_info;
static ompt_get_state_t get_state;
static ompt_get_unique_id_t get_unique_id;
static ompt_get_task_memory_t get_task_memory;
static ompt_get_proc_id_t get_proc_id;
static ompt_get_num_procs_t get_num_procs;
static ompt_enumerate_states_t enumerate_states;
static ompt_enumerate_mutex_impls_t enumerate_mutex_impls;

// ---- what has happened, a letter each, of the initial thread

static char trail[4096];
static uint64_t initial_thread;
static void note(const char* what) {
  ompt_data_t* data = get_thread_data();
  if (data == NULL || data->value != initial_thread) return;
  CHECK(strlen(trail) + strlen(what) < sizeof trail - 1);
  strcat(trail, what);
}

static atomic_int ended_workers, regions, tasks, discarded;
static const void* last_caller;
static uint64_t last_count;
static int last_flags, last_dependences;

static void on_thread_begin(ompt_thread_t type, ompt_data_t* data) {
  data->value = get_unique_id();
  if (type == ompt_thread_initial && initial_thread == 0) initial_thread = data->value;
}
static void on_thread_end(ompt_data_t* data) {
  if (data->value != initial_thread) atomic_fetch_add(&ended_workers, 1);
  note(".");
}
static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* task, unsigned threads,
                             unsigned number, int flags) {
  (void)region, (void)threads, (void)number;
  if (endpoint == ompt_scope_begin) task->value = get_unique_id();
  note((flags & ompt_task_initial) != 0 ? (endpoint == ompt_scope_begin ? "<" : ">") : endpoint == ompt_scope_begin ? "(" : ")");
}
static void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* region, unsigned wanted, int flags,
                              const void* from) {
  CHECK(task->value != 0 && frame->enter_frame.ptr != NULL && from != NULL && flags != 0);
  region->value = get_unique_id();
  last_caller = from;
  last_count = wanted;
  atomic_fetch_add(&regions, 1);
  note("P");
}
static void on_parallel_end(ompt_data_t* region, ompt_data_t* task, int flags, const void* from) {
  (void)flags;
  CHECK(task->value != 0 && (region->value == 0 || from == last_caller));
  note("p");
}
static void on_task_create(ompt_data_t* from_task, const ompt_frame_t* frame, ompt_data_t* task, int flags, int dependences,
                           const void* from) {
  CHECK(from_task->value != 0 && task->value == 0 && frame->enter_frame.ptr != NULL && from != NULL);
  task->value = get_unique_id();
  last_flags = flags;
  last_dependences = dependences;
  atomic_fetch_add(&tasks, 1);
  note("T");
}
static void on_task_schedule(ompt_data_t* from, ompt_task_status_t status, ompt_data_t* to) {
  static const char* const kLetters[] = {"", "c", "y", "x", "d", "e", "l", "s", "w"};
  CHECK(from->value != 0 && (to == NULL || to->value != 0));
  note(kLetters[status]);
}
static void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* task,
                           const void* from) {
  (void)region, (void)task, (void)from;
  const int begins = endpoint == ompt_scope_begin;
  switch (kind) {
    case ompt_sync_region_taskwait: note(begins ? "W" : "w"); break;
    case ompt_sync_region_taskgroup: note(begins ? "G" : "g"); break;
    default: note(begins ? "B" : "b");
  }
}
static void on_work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* task, uint64_t count,
                    const void* from) {
  (void)region, (void)task, (void)from, (void)kind;
  last_count = count;
  note(endpoint == ompt_scope_begin ? "{" : "}");
}
static void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t id, const void* from) {
  (void)kind, (void)hint, (void)impl, (void)from;
  CHECK(id != 0);
  note("M");
}
static void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void* from) {
  (void)kind, (void)id, (void)from;
  note("m");
}
static void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void* from) {
  (void)kind, (void)id, (void)from;
  note("r");
}
static void on_cancel(ompt_data_t* task, int flags, const void* from) {
  (void)task, (void)from;
  if ((flags & ompt_cancel_discarded_task) != 0) atomic_fetch_add(&discarded, 1);
}
static void* controlled;
static int on_control_tool(uint64_t command, uint64_t modifier, void* arg, const void* from) {
  CHECK(command == omp_control_tool_flush && modifier == 5 && from != NULL);
  controlled = arg;
  return 42;
}

#define ASK(name) CHECK((name = (ompt_##name##_t)look_up("ompt_" #name)) != NULL)
#define SET(event) CHECK(set_callback(ompt_callback_##event, (ompt_callback_t)&on_##event) >= ompt_set_sometimes)

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  look_up = lookup;
  CHECK(device == omp_get_initial_device() && data->value == 99);
  ASK(set_callback);
  ASK(get_callback);
  ASK(get_thread_data);
  ASK(get_task_info);
  ASK(get_parallel_info);
  ASK(get_state);
  ASK(get_unique_id);
  ASK(get_task_memory);
  ASK(get_proc_id);
  ASK(get_num_procs);
  ASK(enumerate_states);
  ASK(enumerate_mutex_impls);
  CHECK(look_up("ompt_no_such_thing") == NULL);
  SET(thread_begin);
  SET(thread_end);
  SET(implicit_task);
  SET(parallel_begin);
  SET(parallel_end);
  SET(task_create);
  SET(task_schedule);
  SET(sync_region);
  SET(work);
  SET(mutex_acquire);
  set_callback(ompt_callback_mutex_acquired, (ompt_callback_t)&on_mutex_acquired);
  set_callback(ompt_callback_mutex_released, (ompt_callback_t)&on_mutex_released);
  SET(cancel);
  SET(control_tool);
  CHECK(set_callback(ompt_callback_target, (ompt_callback_t)&on_cancel) == ompt_set_never);
  CHECK(set_callback((ompt_callbacks_t)99, (ompt_callback_t)&on_cancel) == ompt_set_error);
  return 1;
}

static int finalized;
static void finalize(ompt_data_t* data) {
  ++finalized;
  CHECK(data->value == 99);
  // Everybody has been heard of before: the initial thread last.
  CHECK(strcmp(trail + strlen(trail) - 2, ">.") == 0);
  CHECK(ended_workers > 0);
  if (check_failures != 0) _exit(1);  // after main()
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* name) {
  static ompt_start_tool_result_t result = {&initialize, &finalize, {99}};
  CHECK(version >= 201511 && strcmp(name, "Weft") == 0);
  return &result;
}

// ---- the program

// What the initial thread has gone through since.
static void expect(int line, const char* wanted) {
  if (strcmp(trail, wanted) != 0) {
    fprintf(stderr, "tool.c:%d: %s, not %s\n", line, trail, wanted);
    _exit(1);
  }
  trail[0] = '\0';
}
#define EXPECT(wanted) expect(__LINE__, wanted)

static void regions_and_frames(void) {
  CHECK(get_state(NULL) == ompt_state_work_serial);
  ompt_frame_t *inner = NULL, *outer = NULL;
  int flags = 0, number = -1, size = 0;
  ompt_data_t *task = NULL, *region = NULL;
#pragma omp parallel num_threads(2)
#pragma omp master
  {
    char here;
    CHECK(get_state(NULL) == ompt_state_work_parallel);
    CHECK(get_task_info(0, &flags, &task, &inner, &region, &number) == 2);
    CHECK(flags == ompt_task_implicit && task->value != 0 && region->value != 0 && number == 0);
    // Below its code the runtime, and below that the code that has opened the region. Stacks grow down.
    CHECK((char*)inner->exit_frame.ptr > &here && inner->enter_frame.ptr == NULL);
    CHECK(get_task_info(1, &flags, &task, &outer, &region, NULL) == 2);
    CHECK(flags == ompt_task_initial && outer->enter_frame.ptr > inner->exit_frame.ptr && outer->exit_frame.ptr == NULL);
    CHECK(get_task_info(2, NULL, NULL, NULL, NULL, NULL) == 0);
    CHECK(get_parallel_info(0, NULL, &size) == 2 && size == 2);
    CHECK(get_parallel_info(1, NULL, &size) == 2 && size == 1);
    CHECK(get_parallel_info(2, NULL, NULL) == 0);
    CHECK(get_proc_id() >= 0 && get_num_procs() == omp_get_num_procs());
  }
  CHECK(outer->enter_frame.ptr == NULL && get_state(NULL) == ompt_state_work_serial);
  CHECK(last_count == 2);
  EXPECT("P(Bb)p");
#pragma omp parallel num_threads(3) if (0)
  CHECK(omp_get_num_threads() == 1);
  EXPECT("P()p");
}

static void tasks_in_order(void) {
  int x = 0;
#pragma omp task shared(x) if (0)
  {
    ompt_frame_t *mine = NULL, *makers = NULL;
    int flags = 0;
    CHECK(get_task_info(0, &flags, NULL, &mine, NULL, NULL) == 2);
    CHECK((flags & (ompt_task_explicit | ompt_task_undeferred)) == (ompt_task_explicit | ompt_task_undeferred));
    CHECK(get_task_info(1, NULL, NULL, &makers, NULL, NULL) == 2);
    CHECK(mine->exit_frame.ptr != NULL && makers->enter_frame.ptr != NULL);
    void* memory = &x;
    size_t size = 1;
    CHECK(get_task_memory(&memory, &size, 0) == 0 && (memory == NULL) == (size == 0));
    x = 1;
  }
  EXPECT("Tsc");
#pragma omp taskwait
  EXPECT("Ww");
#pragma omp taskgroup
  {
#pragma omp task shared(x) depend(inout : x) final(1)
    x = 2;
  }
  CHECK(last_dependences == 1 && (last_flags & ompt_task_final) != 0);
  EXPECT("GTscg");
#pragma omp task shared(x) depend(out : x)
  x = 3;
#pragma omp taskwait depend(in : x)
  CHECK((last_flags & ompt_task_taskwait) != 0);
  EXPECT("TscTw");
#pragma omp taskloop grainsize(5) shared(x)
  for (int i = 0; i < 10; ++i) {
#pragma omp atomic
    x += 1;
  }
  CHECK(last_count == 10);
  CHECK(x == 13);
  trail[0] = '\0';  // the order of tasks and group is the compiler's
}

static void events(void) {
  omp_event_handle_t event = (omp_event_handle_t)0;
  int first = tasks;
  // Fulfilled before its end, and after it.
#pragma omp task detach(event)
  omp_fulfill_event(event);
#pragma omp taskwait
  EXPECT("TsecWw");
  omp_event_handle_t late = (omp_event_handle_t)0;
  omp_event_handle_t kept = (omp_event_handle_t)0;
#pragma omp task detach(late) shared(kept)
  kept = late;
  omp_fulfill_event(kept);
#pragma omp taskwait
  EXPECT("TsdlWw");
  CHECK(tasks - first == 2);
}

static void shared_out(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  omp_set_lock(&lock);
  CHECK(!omp_test_lock(&lock));
  omp_unset_lock(&lock);
  EXPECT("MmMr");
  omp_set_nest_lock(&nest);
  CHECK(omp_test_nest_lock(&nest) == 2);
  omp_unset_nest_lock(&nest);
  omp_unset_nest_lock(&nest);
  EXPECT("MmMr");  // what is not the first or the last time is none of these
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
#pragma omp critical
  CHECK(get_state(NULL) == ompt_state_work_serial);
  EXPECT("Mmr");
  int sum = 0;
#pragma omp parallel for schedule(dynamic, 3) num_threads(2) ordered
  for (int i = 0; i < 9; ++i) {
#pragma omp ordered
    sum += i;
  }
  CHECK(sum == 36);
  CHECK(strncmp(trail, "P({", 3) == 0 && strstr(trail, "}") != NULL);
  trail[0] = '\0';
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    CHECK(omp_get_num_threads() == 2);
#pragma omp section
    CHECK(omp_get_num_threads() == 2);
  }
  CHECK(strncmp(trail, "P({}", 4) == 0);
  trail[0] = '\0';
  // Of gcc's nobody says where it ends: at the barrier.
#pragma omp parallel num_threads(1)
  {
#pragma omp single
    sum = 0;
#pragma omp barrier
  }
  CHECK(strncmp(trail, "P({}B", 5) == 0);
  trail[0] = '\0';
}

static void cancelled(void) {
  if (!omp_get_cancellation()) return;
  atomic_int begun = 0;
#pragma omp parallel num_threads(2)
#pragma omp master
#pragma omp taskgroup
  {
    for (int i = 0; i < 20; ++i) {
#pragma omp task shared(begun)
      {
        atomic_fetch_add(&begun, 1);
#pragma omp cancel taskgroup
      }
    }
  }
  // gcc's code makes no more of them once that is cancelled.
  CHECK(begun >= 1 && begun + discarded <= 20);
  trail[0] = '\0';
}

static void questions(void) {
  ompt_callback_t callback = NULL;
  CHECK(get_callback(ompt_callback_cancel, &callback) == 1 && callback == (ompt_callback_t)&on_cancel);
  CHECK(get_callback(ompt_callback_flush, &callback) == 0);
  const char* name = NULL;
  int steps = 0, found = 0;
  for (int state = ompt_state_undefined; enumerate_states(state, &state, &name); ++steps) {
    CHECK(name != NULL && steps < 100);
    found += strcmp(name, "ompt_state_idle") == 0 && state == ompt_state_idle;
  }
  CHECK(found == 1);
  for (int impl = ompt_mutex_impl_none; enumerate_mutex_impls(impl, &impl, &name); ++steps) CHECK(name != NULL && steps < 100);
  int here;
  CHECK(omp_control_tool(omp_control_tool_flush, 5, &here) == 42 && controlled == &here);
  CHECK(set_callback(ompt_callback_control_tool, NULL) == ompt_set_always);
  CHECK(omp_control_tool(omp_control_tool_flush, 5, NULL) == omp_control_tool_nocallback);
  // Regions are still told of, but no longer that they begin.
  set_callback(ompt_callback_parallel_begin, NULL);
#pragma omp parallel num_threads(1)
  CHECK(omp_get_num_threads() == 1);
  EXPECT("()p");
}

// omp_pause_stop_tool, which gcc's headers have since version 16: it hears of nothing any more, also not that the program ends.
static void stopped(void) {
  CHECK(finalized == 0);
  CHECK(omp_pause_resource_all((omp_pause_resource_t)3) == 0);
  CHECK(finalized == 1);
  trail[0] = '\0';
#pragma omp parallel num_threads(2)
  CHECK(omp_get_num_threads() == 2);
  EXPECT("");
  CHECK(omp_control_tool(omp_control_tool_start, 0, NULL) == omp_control_tool_notool);
  CHECK(omp_pause_resource_all((omp_pause_resource_t)3) == 0);
  CHECK(finalized == 1);
}

static void without_a_tool(void) {
#pragma omp parallel num_threads(2)
  CHECK(omp_get_num_threads() == 2);
  CHECK(look_up == NULL && omp_control_tool(omp_control_tool_start, 0, NULL) == omp_control_tool_notool);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "off") == 0) {
    without_a_tool();
    return check_end();
  }
  CHECK(omp_get_num_threads() == 1);  // the first call: the tool is there
  CHECK(look_up != NULL && get_thread_data() != NULL);
  EXPECT("<");
  regions_and_frames();
  tasks_in_order();
  events();
  shared_out();
  cancelled();
  questions();
  if (strcmp(how, "stop") == 0) stopped();
  return check_end();
}
