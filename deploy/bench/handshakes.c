// Begins new connections with TLS at a given rate, whatever the server does: a full handshake each, and an end.
//
//   handshakes PORT RATE SECONDS
//
// Prints one line of JSON: handshakes that were completed, and those that failed. It runs at the lowest priority, so that
// a client beside it that measures waits is not held up by the cost of the handshakes at this side.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 16 };

static SSL_CTX *context;
static struct sockaddr_in place;
static double pause_between, start, end;
static atomic_long number, completed, failed;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static int shake(void) {
    int done = 0, yes = 1, descriptor = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval patience = {10, 0};
    struct linger at_once = {1, 0};
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL *session = SSL_new(context);
    if (session && connect(descriptor, (struct sockaddr *)&place, sizeof place) == 0) {
        SSL_set_tlsext_host_name(session, "localhost");
        SSL_set_fd(session, descriptor);
        done = SSL_connect(session) == 1 && !SSL_session_reused(session);
    }
    SSL_free(session);
    // A port is not held for a minute.
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(descriptor);
    return done;
}

// Takes the next handshake that is due, until the time is over.
static void *run(void *unused) {
    (void)unused;
    for (;;) {
        double due = start + atomic_fetch_add(&number, 1) * pause_between;
        if (due >= end || now() >= end) return NULL;
        double wait = due - now();
        if (wait > 0) usleep(wait * 1e6);
        atomic_fetch_add(shake() ? &completed : &failed, 1);
    }
}

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "handshakes PORT RATE SECONDS\n"), 1;
    signal(SIGPIPE, SIG_IGN);
    if (nice(19) == -1) perror("nice");
    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    place.sin_family = AF_INET;
    place.sin_port = htons(atoi(arguments[1]));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    pause_between = 1 / atof(arguments[2]);
    start = now();
    end = start + atof(arguments[3]);
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++) pthread_create(&threads[index], NULL, run, NULL);
    for (int index = 0; index < THREADS; index++) pthread_join(threads[index], NULL);
    printf("{\"completed\": %ld, \"failed\": %ld}\n", (long)completed, (long)failed);
    return 0;
}
