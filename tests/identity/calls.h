// The calls that are tested, as a program makes them and as a library does that knows nothing of Weft: calls_made.c is in both.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

struct calls {
  int (*kill)(pthread_t, int);
  int (*queue)(pthread_t, int, union sigval);
  int (*number)(void);
  int (*send)(int number, int);
  int (*cancel)(pthread_t);
  int (*detach)(pthread_t);
  int (*join)(pthread_t, void**);
  int (*tryjoin)(pthread_t, void**);
  int (*timedjoin)(pthread_t, void**, const struct timespec*);
  int (*clockjoin)(pthread_t, void**, clockid_t, const struct timespec*);
  int (*setname)(pthread_t, const char*);
  int (*getname)(pthread_t, char*, size_t);
  void (*exit)(void*);
  int (*lock)(pthread_mutex_t*);
  int (*trylock)(pthread_mutex_t*);
  int (*timedlock)(pthread_mutex_t*, const struct timespec*);
  int (*clocklock)(pthread_mutex_t*, clockid_t, const struct timespec*);
};

extern const struct calls calls_of_program, calls_of_library;
