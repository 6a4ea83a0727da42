// What a program may do with the pthread_t of a ULT, and what is refused; and that threads which are no ULTs notice nothing.
//
// usage: calls, or: calls exit PLACE, which has to abort: in a ULT of each identity, a tasklet, or main.
#include "identity/calls.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sync.h>
#include <weft/weft.h>

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (condition) break;                                                            \
    fprintf(stderr, "calls: line %d: not so: %s\n", __LINE__, #condition);           \
    abort();                                                                         \
  } while (0)

static const struct calls* made;

// ---- a handler that notes where it runs

static atomic_int handled_on, handled_value;
static _Atomic pthread_t handled_by;

static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  atomic_store(&handled_value, info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
  atomic_store(&handled_by, pthread_self());
  atomic_store(&handled_on, syscall(SYS_gettid));
}

static void set_handler(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

// Has to be delivered before the call returns.
static void signal_myself(void) {
  const union sigval value = {.sival_int = 17};
  atomic_store(&handled_on, 0);
  CHECK(made->kill(pthread_self(), SIGUSR1) == 0);
  CHECK(atomic_load(&handled_on) == syscall(SYS_gettid));
  atomic_store(&handled_on, 0);
  CHECK(made->queue(pthread_self(), SIGUSR1, value) == 0);
  CHECK(atomic_load(&handled_on) == syscall(SYS_gettid) && atomic_load(&handled_value) == 17);
  atomic_store(&handled_on, 0);
  CHECK(raise(SIGUSR1) == 0);
  CHECK(atomic_load(&handled_on) == syscall(SYS_gettid));
  atomic_store(&handled_on, 0);
  CHECK(made->number() == syscall(SYS_gettid) && made->send(made->number(), SIGUSR1) == 0);
  CHECK(atomic_load(&handled_on) == made->number());
  CHECK(made->send(made->number(), 12345) == -1 && errno == EINVAL);
  CHECK(made->kill(pthread_self(), 12345) == EINVAL);
}

// ---- mutexes

static const struct timespec kLongAgo = {1, 0};

static int lock_in_way(int way, pthread_mutex_t* mutex) {
  switch (way) {
    case 0: return made->lock(mutex);
    case 1: return made->trylock(mutex);
    case 2: return made->timedlock(mutex, &kLongAgo);
    default: return made->clocklock(mutex, CLOCK_MONOTONIC, &kLongAgo);
  }
}

static void init_mutex(pthread_mutex_t* mutex, int protocol, int type) {
  pthread_mutexattr_t attr;
  CHECK(pthread_mutexattr_init(&attr) == 0);
  CHECK(pthread_mutexattr_setprotocol(&attr, protocol) == 0);
  CHECK(pthread_mutexattr_settype(&attr, type) == 0);
  memset(mutex, 0, sizeof *mutex);
  CHECK(pthread_mutex_init(mutex, &attr) == 0);
  CHECK(pthread_mutexattr_destroy(&attr) == 0);
}

static const int kTypes[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};

static void lock_all(int protocol, int expected) {
  for (size_t type = 0; type < sizeof kTypes / sizeof kTypes[0]; ++type) {
    for (int way = 0; way < 4; ++way) {
      pthread_mutex_t mutex;
      init_mutex(&mutex, protocol, kTypes[type]);
      const pthread_mutex_t before = mutex;
      CHECK(lock_in_way(way, &mutex) == expected);
      if (expected == 0) {
        CHECK(pthread_mutex_unlock(&mutex) == 0);
      } else {
        CHECK(memcmp(&before, &mutex, sizeof mutex) == 0);
      }
      CHECK(pthread_mutex_destroy(&mutex) == 0);
    }
  }
}

// ---- threads that are none of Weft's

static atomic_int released;

static void* wait_for_release(void* arg) {
  while (!atomic_load(&released)) usleep(100);
  return arg;
}
static void count(void* counter) { atomic_fetch_add((atomic_int*)counter, 1); }
static void* leave_by_exit(void* counter) {
  pthread_cleanup_push(count, counter);
  made->exit(counter);
  pthread_cleanup_pop(0);
  return NULL;
}
static void* wait_to_be_cancelled(void* counter) {
  pthread_cleanup_push(count, counter);
  for (;;) pause();
  pthread_cleanup_pop(0);
  return NULL;
}
static void* do_with_myself(void* arg) {
  char name[16];
  signal_myself();
  CHECK(made->setname(pthread_self(), "myself") == 0);
  CHECK(made->getname(pthread_self(), name, sizeof name) == 0 && strcmp(name, "myself") == 0);
  lock_all(PTHREAD_PRIO_INHERIT, 0);
  lock_all(PTHREAD_PRIO_NONE, 0);
  return arg;
}

static pthread_t start(void* (*function)(void*), void* arg) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, function, arg) == 0);
  return thread;
}

static void threads_notice_nothing(void) {
  char name[16];
  void* result;
  atomic_int counter = 0;
  pthread_t thread = start(do_with_myself, NULL);
  CHECK(made->join(thread, &result) == 0);

  atomic_store(&released, 0);
  atomic_store(&handled_on, 0);
  thread = start(wait_for_release, &counter);
  CHECK(made->kill(thread, 0) == 0);
  CHECK(made->kill(thread, SIGUSR1) == 0);
  while (atomic_load(&handled_on) == 0) usleep(100);
  CHECK(atomic_load(&handled_on) != syscall(SYS_gettid));
  CHECK(made->setname(thread, "other") == 0);
  CHECK(made->getname(thread, name, sizeof name) == 0 && strcmp(name, "other") == 0);
  CHECK(made->tryjoin(thread, &result) == EBUSY);
  CHECK(made->timedjoin(thread, &result, &kLongAgo) == ETIMEDOUT);
  CHECK(made->clockjoin(thread, &result, CLOCK_MONOTONIC, &kLongAgo) == ETIMEDOUT);
  atomic_store(&released, 1);
  CHECK(made->join(thread, &result) == 0 && result == &counter);

  thread = start(leave_by_exit, &counter);
  CHECK(made->join(thread, &result) == 0 && result == &counter && counter == 1);
  thread = start(wait_to_be_cancelled, &counter);
  usleep(1000);
  CHECK(made->cancel(thread) == 0);
  CHECK(made->join(thread, &result) == 0 && result == PTHREAD_CANCELED && counter == 2);
  CHECK(made->detach(start(wait_for_release, NULL)) == 0);
}

// ---- ULTs

static weft_unit_t start_ult(weft_identity_t identity, weft_fn function, void* arg) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = identity;
  weft_unit_t unit = NULL;
  CHECK(weft_ult_create(function, arg, &attr, &unit) == WEFT_OK);
  return unit;
}

static void in_child(void) {
  CHECK(made->number() == getpid());
  signal_myself();
  lock_all(PTHREAD_PRIO_INHERIT, 0);  // that identity is a thread's own there
  threads_notice_nothing();
  _exit(0);
}

static void own_itself(void* arg) {
  char name[40];
  (void)arg;
  const int number = made->number();
  for (int round = 0; round < 3; ++round) {
    signal_myself();
    weft_yield();
    CHECK(made->number() == number);
  }
  CHECK(made->getname(pthread_self(), name, sizeof name) == 0 && strcmp(name, "") == 0);
  CHECK(made->setname(pthread_self(), "a ULT that names itself, so long") == ERANGE);
  CHECK(made->setname(pthread_self(), "a ULT that names itself") == 0);
  CHECK(strcmp(weft_unit_name(weft_self()), "a ULT that names itself") == 0);
  CHECK(made->getname(pthread_self(), name, sizeof name) == 0 && strcmp(name, "a ULT that names itself") == 0);
  CHECK(made->getname(pthread_self(), name, 16) == ERANGE);
  CHECK(made->setname(pthread_self(), "short") == 0);
  CHECK(made->getname(pthread_self(), name, sizeof name) == 0 && strcmp(name, "short") == 0);
  lock_all(PTHREAD_PRIO_INHERIT, ENOTSUP);
  lock_all(PTHREAD_PRIO_NONE, 0);
  CHECK(made->cancel(pthread_self()) == ENOTSUP);
  CHECK(made->detach(pthread_self()) == EINVAL);
  CHECK(made->join(pthread_self(), NULL) == EINVAL);
  const pid_t child = fork();
  if (child == 0) in_child();
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static atomic_int ready;
static pthread_t waiting;
static int waiting_number;
static atomic_int go_on;

static weft_event_t goes_on = WEFT_EVENT_INIT;

enum how { kSpins, kYields, kWaits };

static void own_that_waits(void* arg) {
  const enum how how = *(const enum how*)arg;
  waiting = pthread_self();
  waiting_number = made->number();
  atomic_store(&ready, 1);
  if (how == kWaits) weft_event_wait(&goes_on);
  while (!atomic_load(&go_on)) {
    if (how == kYields) weft_yield();
  }
}

static void from_outside(void) {
  char name[16];
  const union sigval value = {.sival_int = 17};
  void* result;
  CHECK(made->kill(waiting, 0) == 0);
  CHECK(made->kill(waiting, 12345) == EINVAL && made->queue(waiting, 12345, value) == EINVAL);
  atomic_store(&handled_on, 0);
  CHECK(made->kill(waiting, SIGUSR1) == 0);
  while (atomic_load(&handled_on) == 0) usleep(100);
  CHECK(atomic_load(&handled_by) == waiting && atomic_load(&handled_value) == 0);
  atomic_store(&handled_on, 0);
  CHECK(made->queue(waiting, SIGUSR1, value) == 0);
  while (atomic_load(&handled_on) == 0) usleep(100);
  CHECK(atomic_load(&handled_by) == waiting && atomic_load(&handled_value) == 17);
  CHECK(made->number() != waiting_number && made->send(waiting_number, 0) == 0);
  atomic_store(&handled_on, 0);
  CHECK(made->send(waiting_number, SIGUSR1) == 0);
  while (atomic_load(&handled_on) == 0) usleep(100);
  CHECK(atomic_load(&handled_by) == waiting && atomic_load(&handled_on) == waiting_number);
  CHECK(made->cancel(waiting) == ENOTSUP);
  CHECK(made->detach(waiting) == EINVAL);
  CHECK(made->join(waiting, &result) == EINVAL);
  CHECK(made->tryjoin(waiting, &result) == EINVAL);
  CHECK(made->timedjoin(waiting, &result, &kLongAgo) == EINVAL);
  CHECK(made->clockjoin(waiting, &result, CLOCK_MONOTONIC, &kLongAgo) == EINVAL);
  CHECK(made->setname(waiting, "name") == ENOTSUP);
  CHECK(made->getname(waiting, name, sizeof name) == ENOTSUP);
}

static void* thread_from_outside(void* arg) {
  from_outside();
  return arg;
}
static void ult_from_outside(void* arg) {
  (void)arg;
  from_outside();
}

static void others(enum how how) {
  weft_event_reset(&goes_on);
  atomic_store(&ready, 0);
  atomic_store(&go_on, 0);
  weft_unit_t unit = start_ult(WEFT_IDENTITY_OWN, own_that_waits, &how);
  while (!atomic_load(&ready)) usleep(100);  // not by yield: the other worker shall run it
  from_outside();
  CHECK(pthread_join(start(thread_from_outside, NULL), NULL) == 0);
  for (weft_identity_t identity = WEFT_IDENTITY_WORKER; identity <= WEFT_IDENTITY_OWN; ++identity) {
    weft_unit_t other = start_ult(identity, ult_from_outside, NULL);
    CHECK(weft_free(&other) == WEFT_OK);
  }
  atomic_store(&go_on, 1);
  weft_event_set(&goes_on);
  CHECK(weft_free(&unit) == WEFT_OK);
  CHECK(made->send(waiting_number, 0) == -1 && errno == ESRCH);
}

static void of_its_worker(void* arg) {
  (void)arg;
  lock_all(PTHREAD_PRIO_INHERIT, 0);
  lock_all(PTHREAD_PRIO_NONE, 0);
}

static void initialize(void) {
  weft_options_t options = {0};
  options.workers = 2;
  CHECK(weft_initialize(&options) == WEFT_OK);
}

static void exit_in_unit(void* arg) { made->exit(arg); }

static int exit_in(const char* place) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  initialize();
  weft_unit_t unit = NULL;
  if (strcmp(place, "own") == 0) unit = start_ult(WEFT_IDENTITY_OWN, exit_in_unit, NULL);
  if (strcmp(place, "worker") == 0) unit = start_ult(WEFT_IDENTITY_WORKER, exit_in_unit, NULL);
  if (strcmp(place, "tasklet") == 0) CHECK(weft_tasklet_create(exit_in_unit, NULL, NULL, &unit) == WEFT_OK);
  if (unit == NULL) made->exit(NULL);
  weft_join(unit);
  return 5;
}

__attribute__((visibility("default"))) int main(int argc, char** argv) {
  const struct calls* const all[] = {&calls_of_program, &calls_of_library};
  if (argc > 2) {
    made = all[argc > 3];
    return exit_in(argv[2]);
  }
  set_handler();
  for (int which = 0; which < 2; ++which) {
    made = all[which];
    threads_notice_nothing();
    initialize();
    threads_notice_nothing();
    for (int round = 0; round < 20; ++round) {  // on identities that have been given back, too
      weft_unit_t unit = start_ult(WEFT_IDENTITY_OWN, own_itself, NULL);
      CHECK(weft_free(&unit) == WEFT_OK);
    }
    weft_unit_t unit = start_ult(WEFT_IDENTITY_WORKER, of_its_worker, NULL);
    CHECK(weft_free(&unit) == WEFT_OK);
    others(kSpins);
    others(kYields);
    others(kWaits);
    CHECK(weft_finalize() == WEFT_OK);
    threads_notice_nothing();
  }
  return 0;
}
