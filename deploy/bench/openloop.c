// Asks at a given rate, whatever the server does, and measures how long each answer takes from the time at which its
// request was due: a server that falls behind is charged for the wait. (wrk sends the next request when an answer is
// there, so a slow server is asked less.) Arrivals are those of many independent clients: exponential pauses.
//
//   openloop PORT RATE SECONDS CONNECTIONS HEAD...
//
// Each HEAD is a request without the empty line at its end; they are sent in turn. Prints one line of JSON: answers that
// were 200, errors, requests without an answer three seconds after the end, and percentiles in microseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_ROOM = 8192, EVENTS = 256 };

struct connection {
    int socket;
    double due;        // of the request under way
    int is_asked;      // whether there is one
    long missing;      // bytes of its answer; -1: the head is not complete
    size_t held;       // bytes of the head so far
    char head[HEAD_ROOM + 1];
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static int by_size(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// The pause until the next arrival, in seconds.
static double pause_at(double rate) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return -log(((state >> 11) + 1) / 9007199254740993.0) / rate;
}

// Takes what has come. 1: the answer is complete, 0: not yet, -1: the connection is lost or the answer cannot be read.
static int receive(struct connection *from, int *is_good) {
    if (from->missing >= 0) {
        char body[65536];
        ssize_t count = read(from->socket, body, sizeof body);
        if (count <= 0) return count < 0 && errno == EAGAIN ? 0 : -1;
        from->missing -= count;
    } else {
        ssize_t count = read(from->socket, from->head + from->held, HEAD_ROOM - from->held);
        if (count <= 0) return count < 0 && errno == EAGAIN ? 0 : -1;
        from->held += count;
        from->head[from->held] = 0;
        char *end = strstr(from->head, "\r\n\r\n");
        if (!end) return from->held < HEAD_ROOM ? 0 : -1;
        char *length = strcasestr(from->head, "\r\ncontent-length:");
        if (!length || length > end) return -1;
        *is_good = !strncmp(from->head, "HTTP/1.1 200 ", 13);
        from->missing = atol(length + 17) - (long)(from->held - (end + 4 - from->head));
    }
    return from->missing == 0;
}

int main(int count, char **words) {
    if (count < 6) return 2;
    // A connection that the server has closed is an error, not the end.
    signal(SIGPIPE, SIG_IGN);
    int port = atoi(words[1]), size = atoi(words[4]), heads = count - 5, next_head = 0;
    double rate = atof(words[2]), seconds = atof(words[3]);
    char **requests = calloc(heads, sizeof *requests);
    for (int i = 0; i < heads; i++)
        if (asprintf(&requests[i], "%s\r\n", words[5 + i]) < 0) fail("asprintf");

    struct connection *all = calloc(size, sizeof *all);
    int *idle = calloc(size, sizeof *idle), idles = 0, poll = epoll_create1(0);
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < size; i++) {
        all[i].socket = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(all[i].socket, (struct sockaddr *)&place, sizeof place)) fail("connect");
        setsockopt(all[i].socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        fcntl(all[i].socket, F_SETFL, O_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        epoll_ctl(poll, EPOLL_CTL_ADD, all[i].socket, &event);
        idle[idles++] = i;
    }

    long room = rate * seconds * 1.3 + 1000, due = 0, sent = 0, answered = 0, errors = 0;
    double *arrivals = calloc(room, sizeof *arrivals);
    float *waits = calloc(room, sizeof *waits);
    double end = now() + seconds, arrival = now();
    for (;;) {
        double time = now();
        for (; arrival <= time && arrival < end && due < room; arrival += pause_at(rate)) arrivals[due++] = arrival;
        while (sent < due && idles) {
            struct connection *to = &all[idle[--idles]];
            const char *request = requests[next_head];
            next_head = (next_head + 1) % heads;
            to->due = arrivals[sent++];
            to->is_asked = 1;
            to->missing = -1;
            to->held = 0;
            if (write(to->socket, request, strlen(request)) != (ssize_t)strlen(request)) errors++;
        }
        if (time >= end && ((idles == size && sent == due) || time > end + 3)) break;
        // It sleeps, because the app has the same core.
        double wait = (arrival < end ? arrival : end + 0.02) - now();
        wait = wait < 0 ? 0 : wait > 0.02 ? 0.02 : wait;
        struct epoll_event events[EVENTS];
        int ready = epoll_pwait2(poll, events, EVENTS, &(struct timespec){.tv_nsec = wait * 1e9}, NULL);
        for (int i = 0; i < ready; i++) {
            struct connection *from = &all[events[i].data.u32];
            int is_good = 1;
            int result = from->is_asked ? receive(from, &is_good) : -1;
            if (!is_good) errors++;
            if (result < 0) {
                // What was asked here counts as unanswered.
                errors++;
                epoll_ctl(poll, EPOLL_CTL_DEL, from->socket, NULL);
            } else if (result) {
                from->is_asked = 0;
                idle[idles++] = events[i].data.u32;
                waits[answered++] = (now() - from->due) * 1e6;
            }
        }
    }
    qsort(waits, answered, sizeof *waits, by_size);
    double shares[] = {0.5, 0.9, 0.99, 0.999};
    printf("{\"requests\": %ld, \"errors\": %ld, \"unanswered\": %ld", answered, errors, due - answered);
    for (int i = 0; i < 4 && answered; i++) printf(", \"p%g_us\": %.0f", shares[i] * 100, waits[(long)(answered * shares[i])]);
    printf("}\n");
}
