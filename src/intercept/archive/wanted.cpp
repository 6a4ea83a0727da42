// wanted.cpp: who links libweft_intercept.a asks the linker for this name, and gets all that is in it.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

extern "C" {
extern void* const weft_intercept[];
void* const weft_intercept[] = {reinterpret_cast<void*>(pthread_kill), reinterpret_cast<void*>(pthread_mutex_lock),
                                reinterpret_cast<void*>(sigaction), reinterpret_cast<void*>(syscall), reinterpret_cast<void*>(longjmp)};
}
