// Begins new connections with TLS at a given rate, whatever the server does: a full handshake each, and an end.
//
//   handshakes PORT RATE SECONDS
//
// Prints one line of JSON: handshakes that were completed, and those that failed. A library's client computes more than the
// server, and two of them would need more than one core. This one does only what the server can notice: TLS 1.3 with X25519
// (RFC 8446), always with the same share of its own, and no look at the certificate. The server does all of its work: a new
// share, a signature, the tickets; and both sides prove that they have the same keys. Behind its Finished the client ends its
// output, and waits until the server, which has taken both, ends its own. It runs at the lowest priority, so that a client
// beside it that measures waits is not held up.
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { LINKS = 1024, EVENTS = 256, HELD = 8192, HASH = 32, TAG = 16, PATIENCE = 10 };
enum { CHANGE_CIPHER = 20, HANDSHAKE = 22, DATA = 23 };
enum { SERVER_HELLO = 2, FINISHED = 20, KEY_SHARE = 51 };
enum state { CONNECTING, HELLO_SENT, FLIGHT, ENDING };
enum result { GOES_ON, DONE, BROKEN };

// The keys of one side of a handshake, and the records that were protected with them.
struct side {
    uint8_t secret[HASH], key[16], vector[12];
    uint64_t count;
};

struct link {
    int socket;
    enum state state;
    double until;
    SHA256_CTX transcript;
    struct side client, server;
    size_t held, flight_held;
    uint8_t bytes[HELD];   // records
    uint8_t flight[HELD];  // the server's messages, deciphered
};

// Message and extensions of the hello but for the random bytes, which are at 6, and the share at its end.
static uint8_t hello[] = {
    1, 0, 0, 0, 3, 3, [38] = 0, 0, 2, 0x13, 1, 1, 0, 0, 0,             // TLS_AES_128_GCM_SHA256
    0, 0, 0, 14, 0, 12, 0, 0, 9, 'l', 'o', 'c', 'a', 'l', 'h', 'o', 's', 't',
    0, 43, 0, 3, 2, 3, 4,                                              // TLS 1.3
    0, 10, 0, 4, 0, 2, 0, 29,                                          // X25519
    0, 13, 0, 4, 0, 2, 4, 3,                                           // ECDSA with P-256
    0, 45, 0, 2, 1, 1,                                                 // tickets may be used with a new share
    0, KEY_SHARE, 0, 38, 0, 36, 0, 29, 0, 32, [135] = 0};

static EVP_PKEY *own;
static EVP_CIPHER_CTX *cipher;
static uint8_t derived[HASH];
static struct sockaddr_in place;
static int watch;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

// MARK: Keys (RFC 8446 7.1)

static void mac(const uint8_t key[HASH], const void *text, size_t count, uint8_t out[HASH]) {
    uint8_t block[64] = {0};
    SHA256_CTX hash;
    for (int i = 0; i < 64; i++) block[i] = (i < HASH ? key[i] : 0) ^ 0x36;
    SHA256_Init(&hash);
    SHA256_Update(&hash, block, 64);
    SHA256_Update(&hash, text, count);
    SHA256_Final(out, &hash);
    for (int i = 0; i < 64; i++) block[i] ^= 0x36 ^ 0x5C;
    SHA256_Init(&hash);
    SHA256_Update(&hash, block, 64);
    SHA256_Update(&hash, out, HASH);
    SHA256_Final(out, &hash);
}

// HKDF-Expand-Label with up to one hash of output.
static void expand(const uint8_t secret[HASH], const char *label, const uint8_t *context, size_t count, void *out, size_t size) {
    uint8_t text[128], full[HASH];
    size_t length = strlen(label), at = 0;
    text[at++] = 0;
    text[at++] = size;
    text[at++] = 6 + length;
    memcpy(text + at, "tls13 ", 6);
    memcpy(text + at + 6, label, length);
    at += 6 + length;
    text[at++] = count;
    if (count) memcpy(text + at, context, count);
    at += count;
    text[at++] = 1;
    mac(secret, text, at, full);
    memcpy(out, full, size);
}

static void hashed(const SHA256_CTX *transcript, uint8_t out[HASH]) {
    SHA256_CTX copy = *transcript;
    SHA256_Final(out, &copy);
}

static void set_keys(struct side *side, const uint8_t secret[HASH], const char *label, const uint8_t transcript[HASH]) {
    expand(secret, label, transcript, HASH, side->secret, HASH);
    expand(side->secret, "key", NULL, 0, side->key, sizeof side->key);
    expand(side->secret, "iv", NULL, 0, side->vector, sizeof side->vector);
    side->count = 0;
}

static void finished(const struct side *side, const SHA256_CTX *transcript, uint8_t out[HASH]) {
    uint8_t key[HASH], hash[HASH];
    expand(side->secret, "finished", NULL, 0, key, HASH);
    hashed(transcript, hash);
    mac(key, hash, HASH, out);
}

// Enciphers or deciphers a record whose head is `head`. The tag is written, or checked, at `tag`.
static int protect(struct side *side, int is_sending, const uint8_t head[5], uint8_t *text, int count, uint8_t *tag) {
    uint8_t vector[12];
    int size;
    memcpy(vector, side->vector, sizeof vector);
    for (int i = 0; i < 8; i++) vector[11 - i] ^= side->count >> (8 * i);
    side->count++;
    if (!EVP_CipherInit_ex(cipher, NULL, NULL, side->key, vector, is_sending)) return 0;
    if (!is_sending && !EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, TAG, tag)) return 0;
    if (!EVP_CipherUpdate(cipher, NULL, &size, head, 5) || !EVP_CipherUpdate(cipher, text, &size, text, count)) return 0;
    if (!EVP_CipherFinal_ex(cipher, text + size, &size)) return 0;
    return !is_sending || EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, TAG, tag);
}

// MARK: Messages

static enum result send_hello(struct link *link) {
    uint8_t record[5 + sizeof hello] = {HANDSHAKE, 3, 1, 0, sizeof hello};
    memcpy(record + 5, hello, sizeof hello);
    if (getrandom(record + 5 + 6, 32, 0) != 32) return BROKEN;
    SHA256_Init(&link->transcript);
    SHA256_Update(&link->transcript, record + 5, sizeof hello);
    return write(link->socket, record, sizeof record) == sizeof record ? GOES_ON : BROKEN;
}

// Takes the server's share, and makes the keys.
static enum result take_hello(struct link *link, const uint8_t *text, size_t count) {
    if (count < 42 || text[0] != SERVER_HELLO || text[38] != 0 || text[39] != 0x13 || text[40] != 1) return BROKEN;
    const uint8_t *share = NULL;
    for (size_t at = 44; at + 4 <= count;) {
        size_t size = text[at + 2] << 8 | text[at + 3];
        if (text[at] == 0 && text[at + 1] == KEY_SHARE && size == 36 && at + 40 <= count) share = text + at + 8;
        at += 4 + size;
    }
    if (!share) return BROKEN;
    uint8_t common[32], secret[HASH], hash[HASH];
    size_t size = sizeof common;
    EVP_PKEY *other = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, share, 32);
    EVP_PKEY_CTX *agreement = EVP_PKEY_CTX_new(own, NULL);
    int is_good = EVP_PKEY_derive_init(agreement) == 1 && EVP_PKEY_derive_set_peer_ex(agreement, other, 0) == 1
        && EVP_PKEY_derive(agreement, common, &size) == 1;
    EVP_PKEY_CTX_free(agreement);
    EVP_PKEY_free(other);
    if (!is_good) return BROKEN;
    mac(derived, common, sizeof common, secret);
    SHA256_Update(&link->transcript, text, count);
    hashed(&link->transcript, hash);
    set_keys(&link->client, secret, "c hs traffic", hash);
    set_keys(&link->server, secret, "s hs traffic", hash);
    link->state = FLIGHT;
    return GOES_ON;
}

static enum result send_finished(struct link *link) {
    uint8_t record[5 + 4 + HASH + 1 + TAG] = {DATA, 3, 3, 0, 4 + HASH + 1 + TAG, FINISHED, 0, 0, HASH};
    finished(&link->client, &link->transcript, record + 9);
    record[9 + HASH] = HANDSHAKE;
    if (!protect(&link->client, 1, record, record + 5, 4 + HASH + 1, record + 10 + HASH)) return BROKEN;
    link->state = ENDING;
    if (write(link->socket, record, sizeof record) != sizeof record) return BROKEN;
    return shutdown(link->socket, SHUT_WR) ? BROKEN : GOES_ON;
}

// Takes the server's messages up to its Finished.
static enum result take_flight(struct link *link, uint8_t *record, size_t count) {
    if (count < 5 + TAG + 1 || !protect(&link->server, 0, record, record + 5, count - 5 - TAG, record + count - TAG))
        return BROKEN;
    size_t size = count - 5 - TAG;
    while (size && record[5 + size - 1] == 0) size--;
    if (!size || record[5 + size - 1] != HANDSHAKE || link->flight_held + size > HELD) return BROKEN;
    memcpy(link->flight + link->flight_held, record + 5, size - 1);
    link->flight_held += size - 1;
    size_t at = 0;
    while (link->flight_held - at >= 4) {
        const uint8_t *message = link->flight + at;
        size_t whole = 4 + (message[1] << 16 | message[2] << 8 | message[3]);
        if (link->flight_held - at < whole) break;
        uint8_t expected[HASH];
        if (message[0] == FINISHED) finished(&link->server, &link->transcript, expected);
        SHA256_Update(&link->transcript, message, whole);
        if (message[0] == FINISHED)
            return whole == 4 + HASH && !memcmp(message + 4, expected, HASH) ? send_finished(link) : BROKEN;
        at += whole;
    }
    link->flight_held -= at;
    memmove(link->flight, link->flight + at, link->flight_held);
    return GOES_ON;
}

static enum result receive(struct link *link) {
    ssize_t count = read(link->socket, link->bytes + link->held, HELD - link->held);
    if (count < 0) return errno == EAGAIN ? GOES_ON : BROKEN;
    if (count == 0) return link->state == ENDING ? DONE : BROKEN;
    link->held += count;
    enum result result = GOES_ON;
    size_t at = 0;
    while (result == GOES_ON && link->state != ENDING && link->held - at >= 5) {
        uint8_t *record = link->bytes + at;
        size_t whole = 5 + (record[3] << 8 | record[4]);
        if (whole > HELD) return BROKEN;
        if (link->held - at < whole) break;
        if (record[0] == CHANGE_CIPHER)
            ;
        else if (link->state == HELLO_SENT && record[0] == HANDSHAKE)
            result = take_hello(link, record + 5, whole - 5);
        else if (link->state == FLIGHT && record[0] == DATA)
            result = take_flight(link, record, whole);
        else
            result = BROKEN;
        at += whole;
    }
    // Tickets, and the alert that nothing follows.
    if (link->state == ENDING) at = link->held;
    link->held -= at;
    memmove(link->bytes, link->bytes + at, link->held);
    return result;
}

// MARK: Connections

static enum result begin(struct link *link, double time) {
    int yes = 1;
    link->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    link->state = CONNECTING;
    link->until = time + PATIENCE;
    link->held = link->flight_held = 0;
    setsockopt(link->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(link->socket, (struct sockaddr *)&place, sizeof place) && errno != EINPROGRESS) return BROKEN;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = link};
    return epoll_ctl(watch, EPOLL_CTL_ADD, link->socket, &event) ? BROKEN : GOES_ON;
}

static enum result advance(struct link *link, uint32_t events) {
    if (events & EPOLLERR) return BROKEN;
    if (link->state == CONNECTING && events & EPOLLOUT) {
        link->state = HELLO_SENT;
        if (send_hello(link) == BROKEN) return BROKEN;
    }
    // What has come with the end is read first.
    enum result result = GOES_ON;
    for (int reads = 0; reads < 2 && result == GOES_ON && events & (EPOLLIN | EPOLLHUP); reads++) result = receive(link);
    return result;
}

static int set_up(void) {
    uint8_t zeros[HASH] = {0}, early[HASH], nothing[HASH];
    size_t size = 32;
    own = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
    cipher = EVP_CIPHER_CTX_new();
    if (!own || !cipher || !EVP_CipherInit_ex(cipher, EVP_aes_128_gcm(), NULL, NULL, NULL, 1)) return 0;
    size_t whole = sizeof hello - 4, extensions = sizeof hello - 47;
    hello[2] = whole >> 8, hello[3] = whole;
    hello[45] = extensions >> 8, hello[46] = extensions;
    if (EVP_PKEY_get_raw_public_key(own, hello + sizeof hello - 32, &size) != 1) return 0;
    mac(zeros, zeros, HASH, early);
    SHA256(NULL, 0, nothing);
    expand(early, "derived", nothing, HASH, derived, HASH);
    return 1;
}

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "handshakes PORT RATE SECONDS\n"), 1;
    signal(SIGPIPE, SIG_IGN);
    if (nice(19) == -1) perror("nice");
    if (!set_up()) return fprintf(stderr, "no X25519 or AES-GCM\n"), 1;
    place.sin_family = AF_INET;
    place.sin_port = htons(atoi(arguments[1]));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    watch = epoll_create1(0);
    struct link *all = calloc(LINKS, sizeof *all), **idle = calloc(LINKS, sizeof *idle);
    int idles = 0;
    for (int i = 0; i < LINKS; i++) {
        all[i].socket = -1;
        idle[idles++] = &all[i];
    }
    double pause_between = 1 / atof(arguments[2]), start = now(), end = start + atof(arguments[3]), look = start;
    long begun = 0, completed = 0, failed = 0;
    for (;;) {
        double time = now(), due;
        while ((due = start + begun * pause_between) <= time && due < end && time < end && idles) {
            struct link *link = idle[--idles];
            begun++;
            if (begin(link, time) == GOES_ON) continue;
            failed++;
            close(link->socket);
            link->socket = -1;
            idle[idles++] = link;
        }
        if ((time >= end || due >= end) && idles == LINKS) break;
        struct epoll_event events[EVENTS];
        double wait = time >= end || !idles ? 0.02 : due - time;
        wait = wait < 0 ? 0 : wait > 0.02 ? 0.02 : wait;
        int ready = epoll_pwait2(watch, events, EVENTS, &(struct timespec){.tv_nsec = wait * 1e9}, NULL);
        for (int i = 0; i < ready; i++) {
            struct link *link = events[i].data.ptr;
            enum result result = advance(link, events[i].events);
            if (result == GOES_ON) continue;
            if (result == DONE) completed++;
            else failed++;
            close(link->socket);
            link->socket = -1;
            idle[idles++] = link;
        }
        if (time < look) continue;
        look = time + 1;
        for (int i = 0; i < LINKS; i++) {
            if (all[i].socket < 0 || all[i].until > time) continue;
            failed++;
            close(all[i].socket);
            all[i].socket = -1;
            idle[idles++] = &all[i];
        }
    }
    printf("{\"completed\": %ld, \"failed\": %ld}\n", completed, failed);
    return 0;
}
