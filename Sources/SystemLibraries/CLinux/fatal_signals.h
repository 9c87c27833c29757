#pragma once
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// The last line of a process that a fault ends. Nothing here allocates, locks or calls Swift, because the fault may have come
// anywhere (signal-safety(7)).

static const int sallyport_fatal_signals[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
#define SALLYPORT_FATAL_SIGNALS (sizeof sallyport_fatal_signals / sizeof *sallyport_fatal_signals)

// What the runtime did with each signal: in the container image it writes a backtrace. Swift emits variables of a header only if
// they have a value.
static struct sigaction sallyport_former_actions[SALLYPORT_FATAL_SIGNALS] = {0};
static int sallyport_log_descriptor = -1;

static inline const char *sallyport_signal_name(int number) {
    switch (number) {
    case SIGILL: return "SIGILL";
    case SIGTRAP: return "SIGTRAP";
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    default: return "SIGABRT";
    }
}

static inline char *sallyport_put(char *end, const char *text) {
    while (*text) *end++ = *text++;
    return end;
}

static inline char *sallyport_put_number(char *end, long number, int digits) {
    for (int place = digits - 1; place >= 0; place--, number /= 10) end[place] = (char)('0' + number % 10);
    return end + digits;
}

// RFC 3339 in UTC, as the log has it. Days to a date as in CivilTime.swift.
static inline char *sallyport_put_time(char *end) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    long days = now.tv_sec / 86400 + 719468, second = now.tv_sec % 86400;
    long era = days / 146097, day_of_era = days - era * 146097;
    long year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    long day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    long shifted = (5 * day_of_year + 2) / 153, month = shifted < 10 ? shifted + 3 : shifted - 9;
    end = sallyport_put_number(end, year_of_era + era * 400 + (month <= 2), 4);
    end = sallyport_put_number(sallyport_put(end, "-"), month, 2);
    end = sallyport_put_number(sallyport_put(end, "-"), day_of_year - (153 * shifted + 2) / 5 + 1, 2);
    end = sallyport_put_number(sallyport_put(end, "T"), second / 3600, 2);
    end = sallyport_put_number(sallyport_put(end, ":"), second / 60 % 60, 2);
    end = sallyport_put_number(sallyport_put(end, ":"), second % 60, 2);
    end = sallyport_put_number(sallyport_put(end, "."), now.tv_nsec / 1000000, 3);
    return sallyport_put(end, "Z");
}

static inline void sallyport_write_last_line(int number) {
    char line[256];
    char *end = sallyport_put(line, "{\"stream\":\"log\",\"time\":\"");
    end = sallyport_put_time(end);
    end = sallyport_put(end, "\",\"level\":\"critical\",\"logger\":\"sallyport\",\"message\":\"a fatal signal ends the process\"");
    end = sallyport_put(end, ",\"fields\":{\"signal\":\"");
    end = sallyport_put(end, sallyport_signal_name(number));
    end = sallyport_put(end, "\"}}\n");
    // A pipe that nobody reads must not keep the process: it takes a line whole or not at all (pipe(7)).
    struct pollfd room = {sallyport_log_descriptor, POLLOUT, 0};
    if (poll(&room, 1, 1000) == 1) (void)!write(sallyport_log_descriptor, line, (size_t)(end - line));
}

static void sallyport_end_by_signal(int number, siginfo_t *info, void *context) {
    for (size_t index = 0; index < SALLYPORT_FATAL_SIGNALS; index++) {
        if (sallyport_fatal_signals[index] != number) continue;
        // A second fault, here or in another thread, ends the process at once.
        struct sigaction standard;
        memset(&standard, 0, sizeof standard);
        standard.sa_handler = SIG_DFL;
        sigaction(number, &standard, NULL);
        sallyport_write_last_line(number);
        struct sigaction *former = &sallyport_former_actions[index];
        if (former->sa_flags & SA_SIGINFO && former->sa_sigaction) former->sa_sigaction(number, info, context);
    }
    // The instruction that faulted is run again and ends the process, with its own state in the core dump. A signal that was
    // sent (as abort() does) has no such instruction.
    if (info->si_code <= 0) raise(number);
}

// Has each fatal signal write a line in the form of the log to the descriptor before it takes its usual effect.
static inline void sallyport_report_fatal_signals(int descriptor) {
    sallyport_log_descriptor = descriptor;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = sallyport_end_by_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t index = 0; index < SALLYPORT_FATAL_SIGNALS; index++) {
        sigaction(sallyport_fatal_signals[index], &action, &sallyport_former_actions[index]);
    }
}

// Gives the calling thread, which lives as long as the process, a stack of its own for signals, unless it has one: so the line
// is written also when the thread's stack is used up.
static inline void sallyport_use_signal_stack(void) {
    stack_t present;
    if (sigaltstack(NULL, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;
    const size_t size = 256 * 1024;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack = {.ss_sp = memory, .ss_flags = 0, .ss_size = size};
    if (sigaltstack(&stack, NULL) != 0) munmap(memory, size);
}
