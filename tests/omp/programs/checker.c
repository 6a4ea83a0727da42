// checker.c: a tool (OMPT) that looks whether what it is told can be true, whatever the program does: that begins and ends belong
// together, on one thread, in one order, and that each task ends once. A library for OMP_TOOL_LIBRARIES. At the end of the process
// it says what was wrong, and makes the status 9.
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static ompt_set_callback_t set_callback;
static ompt_get_thread_data_t get_thread_data;
static ompt_get_task_info_t get_task_info;
static ompt_get_parallel_info_t get_parallel_info;
static ompt_get_state_t get_state;

static pid_t process;
static atomic_int failed;
static atomic_int threads_begun, threads_ended, regions_begun, regions_ended, tasks_made, tasks_ended, taken, left;

#define WRONG(...) wrong(__func__, __VA_ARGS__)
static void wrong(const char* where, const char* what) {
  if (atomic_fetch_add(&failed, 1) < 20) fprintf(stderr, "checker: %s: %s\n", where, what);
}

// What a task is in.
enum { kDeepest = 64 };
typedef enum { kSync, kWait, kWork, kMasked, kReduction } scope_t;

typedef enum { kMade, kRuns, kWaits, kDetached, kEnded } state_t;
typedef struct task {
  _Atomic state_t state;
  int implicit;
  int depth;
  int scopes[kDeepest];
  struct task* before;  // of the thread, when it began
} task_t;

typedef struct {
  task_t* current;
  int ended;
} thread_t;

typedef struct {
  atomic_int members;
  int ended;
} region_t;

static void* fresh(size_t bytes) {
  void* memory = calloc(1, bytes);
  if (memory == NULL) abort();
  return memory;
}

static thread_t* me(const char* where) {
  ompt_data_t* data = get_thread_data();
  if (data == NULL || data->ptr == NULL) {
    wrong(where, "a thread that has not begun");
    exit(1);
  }
  thread_t* thread = data->ptr;
  if (thread->ended) wrong(where, "a thread that has ended");
  return thread;
}

static task_t* task_of(const char* where, ompt_data_t* data) {
  if (data == NULL || data->ptr == NULL) {
    wrong(where, "a task that nobody has made");
    exit(1);
  }
  return data->ptr;
}

static void is_current(const char* where, thread_t* thread, ompt_data_t* data) {
  if (task_of(where, data) != thread->current) wrong(where, "not the current task");
  ompt_data_t *task_data = NULL, *region_data = NULL;
  ompt_frame_t* frame = NULL;
  int flags = 0, number = -1;
  if (get_task_info(0, &flags, &task_data, &frame, &region_data, &number) != 2) wrong(where, "no current task");
  if (task_data != data) wrong(where, "the current task is another one");
  if (frame == NULL || flags == 0 || number < 0) wrong(where, "the current task is not described");
}

static void enter(const char* where, task_t* task, scope_t scope, int kind) {
  if (task->depth == kDeepest) {
    wrong(where, "too deep");
    return;
  }
  task->scopes[task->depth++] = kind << 3 | (int)scope;
}

static void leave(const char* where, task_t* task, scope_t scope, int kind) {
  if (task->depth == 0 || task->scopes[task->depth - 1] != (kind << 3 | (int)scope)) {
    wrong(where, "ends what has not begun last");
    return;
  }
  --task->depth;
}

static void enter_or_leave(const char* where, task_t* task, ompt_scope_endpoint_t endpoint, scope_t scope, int kind) {
  (endpoint == ompt_scope_begin ? enter : leave)(where, task, scope, kind);
}

// ---- threads, regions

static void thread_begin(ompt_thread_t type, ompt_data_t* data) {
  if (data->ptr != NULL) WRONG("its data are not clear");
  if (type != ompt_thread_initial && type != ompt_thread_worker) WRONG("its type");
  if (get_thread_data() != data) WRONG("the data are not the current thread's");
  data->ptr = fresh(sizeof(thread_t));
  atomic_fetch_add(&threads_begun, 1);
}

static void thread_end(ompt_data_t* data) {
  thread_t* thread = me(__func__);
  if (data->ptr != thread) WRONG("another thread");
  if (thread->current != NULL) WRONG("in a task");
  thread->ended = 1;
  atomic_fetch_add(&threads_ended, 1);
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* region_data, ompt_data_t* data, unsigned threads,
                          unsigned number, int flags) {
  thread_t* thread = me(__func__);
  const int initial = (flags & ompt_task_initial) != 0;
  if (!initial && (flags & ompt_task_implicit) == 0) WRONG("neither initial nor implicit");
  if (!initial && number >= threads) WRONG("its number");
  if (endpoint == ompt_scope_begin) {
    if (data->ptr != NULL) WRONG("its data are not clear");
    task_t* task = data->ptr = fresh(sizeof *task);
    task->implicit = 1;
    task->state = kRuns;
    task->before = thread->current;
    thread->current = task;
    is_current(__func__, thread, data);
    if (region_data == NULL) WRONG("no region");
    else if (!initial && region_data->ptr == NULL) WRONG("a region that has not begun");
    ompt_data_t* of = NULL;
    int size = 0;
    if (get_parallel_info(0, &of, &size) != 2 || of != region_data) WRONG("the region is not the current one");
    if (!initial && size != (int)threads) WRONG("the region has another size");
  } else {
    task_t* task = task_of(__func__, data);
    if (task != thread->current) WRONG("not the current task");
    if (task->depth != 0) WRONG("it ends in something");
    task->state = kEnded;
    thread->current = task->before;
  }
}

static void parallel_begin(ompt_data_t* task_data, const ompt_frame_t* frame, ompt_data_t* data, unsigned wanted, int flags,
                           const void* from) {
  thread_t* thread = me(__func__);
  is_current(__func__, thread, task_data);
  if (data->ptr != NULL) WRONG("its data are not clear");
  if (wanted < 1) WRONG("for nobody");
  // A target region that a task runs is a league of the runtime's.
  const int called = (flags & ompt_parallel_league) == 0;
  if (called && from == NULL) WRONG("called from nowhere");
  if (called && frame->enter_frame.ptr == NULL) WRONG("the runtime has not been entered");
  if ((flags & (ompt_parallel_team | ompt_parallel_league)) == 0) WRONG("neither a team nor a league");
  data->ptr = fresh(sizeof(region_t));
  atomic_fetch_add(&regions_begun, 1);
}

static void parallel_end(ompt_data_t* data, ompt_data_t* task_data, int flags, const void* from) {
  thread_t* thread = me(__func__);
  is_current(__func__, thread, task_data);
  region_t* region = data->ptr;
  if (region == NULL || region->ended) WRONG("a region that is not there");
  else region->ended = 1;
  if ((flags & ompt_parallel_league) == 0 && from == NULL) WRONG("called from nowhere");
  atomic_fetch_add(&regions_ended, 1);
}

// ---- tasks

static void task_create(ompt_data_t* from_data, const ompt_frame_t* frame, ompt_data_t* data, int flags, int has_dependences,
                        const void* from) {
  (void)has_dependences;
  thread_t* thread = me(__func__);
  is_current(__func__, thread, from_data);
  if (data->ptr != NULL) WRONG("its data are not clear");
  if ((flags & (ompt_task_explicit | ompt_task_taskwait)) == 0) WRONG("it is not explicit");
  if (from == NULL) WRONG("called from nowhere");
  if (frame->enter_frame.ptr == NULL) WRONG("the runtime has not been entered");
  data->ptr = fresh(sizeof(task_t));
  atomic_fetch_add(&tasks_made, 1);
}

static void ends(const char* where, task_t* task, state_t from) {
  if (atomic_exchange(&task->state, kEnded) != from) wrong(where, "a task ends that does not run");
  if (task->depth != 0) wrong(where, "it ends in something");
  atomic_fetch_add(&tasks_ended, 1);
}

static void task_schedule(ompt_data_t* data, ompt_task_status_t status, ompt_data_t* next_data) {
  task_t* task = task_of(__func__, data);
  if (next_data == NULL) {  // told by whomever, also by threads that are none of OpenMP's
    switch (status) {
      case ompt_taskwait_complete: ends(__func__, task, kMade); break;
      case ompt_task_late_fulfill: ends(__func__, task, kDetached); break;
      case ompt_task_early_fulfill: break;
      default: WRONG("from a task to none");
    }
    return;
  }
  thread_t* thread = me(__func__);
  task_t* next = task_of(__func__, next_data);
  if (task != thread->current) WRONG("not from the current task");
  thread->current = next;
  if (status == ompt_task_switch || status == ompt_task_yield) {
    if (atomic_exchange(&next->state, kRuns) != kMade) WRONG("a task begins twice");
    task->state = kWaits;
    next->before = task;
    return;
  }
  if (task->before != next) WRONG("back to another task than was left");
  next->state = kRuns;
  switch (status) {
    case ompt_task_complete:
    case ompt_task_cancel: ends(__func__, task, kRuns); break;
    case ompt_task_detach: task->state = kDetached; break;
    default: WRONG("its status");
  }
}

static void dependences(ompt_data_t* data, const ompt_dependence_t* list, int count) {
  task_of(__func__, data);
  if (list == NULL || count < 1) WRONG("none");
  for (int i = 0; i < count; ++i) {
    const int type = list[i].dependence_type;
    if (type < ompt_dependence_type_in || (type > ompt_dependence_type_inoutset && type < ompt_dependence_type_out_all_memory))
      WRONG("its type");
  }
}

static void task_dependence(ompt_data_t* before, ompt_data_t* after) {
  if (task_of(__func__, before) == task_of(__func__, after)) WRONG("on itself");
}

static void cancel(ompt_data_t* data, int flags, const void* from) {
  (void)from;
  task_t* task = task_of(__func__, data);
  if ((flags & (ompt_cancel_activated | ompt_cancel_detected | ompt_cancel_discarded_task)) == 0) WRONG("its flags");
  if ((flags & ompt_cancel_discarded_task) != 0) ends(__func__, task, kMade);
}

// ---- what a task is in

static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* data,
                        const void* from) {
  (void)region, (void)from;
  thread_t* thread = me(__func__);
  is_current(__func__, thread, data);
  enter_or_leave(__func__, thread->current, endpoint, kSync, kind);
}

static void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* data,
                             const void* from) {
  (void)region, (void)from;
  thread_t* thread = me(__func__);
  is_current(__func__, thread, data);
  enter_or_leave(__func__, thread->current, endpoint, kWait, kind);
}

static void work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* data, uint64_t count,
                 const void* from) {
  (void)region, (void)count, (void)from;
  thread_t* thread = me(__func__);
  is_current(__func__, thread, data);
  enter_or_leave(__func__, thread->current, endpoint, kWork, kind);
}

static void dispatch(ompt_data_t* region, ompt_data_t* data, ompt_dispatch_t kind, ompt_data_t instance) {
  (void)region;
  thread_t* thread = me(__func__);
  task_t* task = task_of(__func__, data);
  if (task != thread->current) WRONG("not the current task");
  if (instance.ptr == NULL) WRONG("nothing");
  if (kind == ompt_dispatch_section || kind == ompt_dispatch_taskloop_chunk) return;
  if (((ompt_dispatch_chunk_t*)instance.ptr)->iterations == 0) WRONG("no iterations");
  if (task->depth == 0 || (task->scopes[task->depth - 1] & 7) != kWork) WRONG("in no loop");
}

static void masked(ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* data, const void* from) {
  (void)region, (void)from;
  thread_t* thread = me(__func__);
  is_current(__func__, thread, data);
  enter_or_leave(__func__, thread->current, endpoint, kMasked, 0);
}

static void reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region, ompt_data_t* data,
                      const void* from) {
  (void)region, (void)from;
  thread_t* thread = me(__func__);
  is_current(__func__, thread, data);
  enter_or_leave(__func__, thread->current, endpoint, kReduction, kind);
}

// ---- locks

static void mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t id, const void* from) {
  (void)hint, (void)impl, (void)from;
  me(__func__);
  if (kind < ompt_mutex_lock || kind > ompt_mutex_ordered || id == 0) WRONG("which one");
}

static void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void* from) {
  (void)kind, (void)id, (void)from;
  me(__func__);
  ompt_wait_id_t waits = 0;
  const int state = get_state(&waits);
  if (state == ompt_state_wait_lock || state == ompt_state_wait_critical || state == ompt_state_wait_ordered) WRONG("it still waits");
  atomic_fetch_add(&taken, 1);
}

static void mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void* from) {
  (void)kind, (void)id, (void)from;
  me(__func__);
  atomic_fetch_add(&left, 1);
}

// ---- the tool

static void set(ompt_callbacks_t event, ompt_callback_t callback) {
  const ompt_set_result_t result = set_callback(event, callback);
  if (result != ompt_set_always && result != ompt_set_sometimes) WRONG("a callback is refused");
}
#define SET(event) set(ompt_callback_##event, (ompt_callback_t)&event)

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device, (void)data;
  process = getpid();
  usleep(20000); /* so that others come meanwhile */
  set_callback = (ompt_set_callback_t)lookup("ompt_set_callback");
  get_thread_data = (ompt_get_thread_data_t)lookup("ompt_get_thread_data");
  get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
  get_parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
  get_state = (ompt_get_state_t)lookup("ompt_get_state");
  SET(thread_begin);
  SET(thread_end);
  SET(implicit_task);
  SET(parallel_begin);
  SET(parallel_end);
  SET(task_create);
  SET(task_schedule);
  SET(dependences);
  SET(task_dependence);
  SET(cancel);
  SET(sync_region);
  SET(sync_region_wait);
  SET(work);
  SET(dispatch);
  SET(masked);
  SET(reduction);
  SET(mutex_acquire);
  SET(mutex_acquired);
  SET(mutex_released);
  return 1;
}

static void same(const char* what, int begun, int ended) {
  if (begun == ended) return;
  fprintf(stderr, "checker: %s: %d begun, %d ended\n", what, begun, ended);
  atomic_fetch_add(&failed, 1);
}

static void finalize(ompt_data_t* data) {
  (void)data;
  // Of a child of fork() the others' threads are gone, and what they were in; so they are where the process ends in a region.
  const ompt_data_t* own = get_thread_data();
  const int all_have_ended = own == NULL || own->ptr == NULL || ((const thread_t*)own->ptr)->ended;
  if (getpid() == process && all_have_ended) {
    same("threads", threads_begun, threads_ended);
    same("regions", regions_begun, regions_ended);
    same("tasks", tasks_made, tasks_ended);
    same("locks", taken, left);
  }
  if (getenv("CHECKER_VERBOSE") != NULL) {
    fprintf(stderr, "checker: %d threads, %d regions, %d tasks, %d locks\n", threads_begun, regions_begun, tasks_made, taken);
  }
  if (failed != 0) _exit(9);
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* name) {
  static ompt_start_tool_result_t result = {&initialize, &finalize, {0}};
  return version >= 201511 && name != NULL ? &result : NULL;
}
