#pragma once
#include "fatal_signals.h"
#include <malloc.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

// glibc declares these for _GNU_SOURCE only, which Swift does not define.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int sched_getaffinity(pid_t process, size_t size, void *mask);
extern char **environ;

// A global variable is not safe to use from Swift; this one is not changed after the start.
static inline char **process_environment(void) { return environ; }
