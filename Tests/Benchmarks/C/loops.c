#define _GNU_SOURCE
#include "CBenchmarks.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { capacity = 672 };

uint64_t CBenchmarks_now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (uint64_t)moment.tv_sec * 1000000000u + (uint64_t)moment.tv_nsec;
}

int CBenchmarks_makePair(int fds[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0 ? 0 : errno;
}

// One PDU; waits where there is none. As a careful C program would do it: never a blocking recv.
static ssize_t receive(int fd, uint8_t *buffer) {
    for (;;) {
        ssize_t count = recv(fd, buffer, capacity, MSG_DONTWAIT);
        if (count >= 0 || (errno != EAGAIN && errno != EINTR)) return count;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        poll(&wait, 1, -1);
    }
}

static int transmit(int fd, const void *pdu, size_t count) {
    for (;;) {
        if (send(fd, pdu, count, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
        if (errno != EAGAIN && errno != EINTR) return -1;
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        poll(&wait, 1, -1);
    }
}

uint64_t CBenchmarks_receive(int fd, uint32_t count) {
    uint8_t buffer[capacity];
    const uint8_t subscribe[] = {0x12, CBenchmarks_configurationHandle, 0, 1, 0};
    if (transmit(fd, subscribe, sizeof subscribe) != 0) return 0;
    uint64_t begin = 0;
    for (uint32_t received = 0; received < count;) {
        ssize_t length = receive(fd, buffer);
        if (length <= 0) return 0;
        if (buffer[0] != 0x1B) continue;
        if (received++ == 0) begin = CBenchmarks_now();
    }
    return CBenchmarks_now() - begin;
}

uint64_t CBenchmarks_read(int fd, uint32_t count) {
    uint8_t buffer[capacity];
    const uint8_t request[] = {0x0A, CBenchmarks_readableHandle, 0};
    uint64_t begin = CBenchmarks_now();
    for (uint32_t index = 0; index < count; index++) {
        if (transmit(fd, request, sizeof request) != 0 || receive(fd, buffer) <= 0) return 0;
    }
    return CBenchmarks_now() - begin;
}

// MARK: - The peripheral

static int answerError(int fd, const uint8_t *request, uint8_t code) {
    uint8_t answer[] = {0x01, request[0], request[1], request[2], code};
    return transmit(fd, answer, sizeof answer);
}

// The declarations of one service with two characteristics, found by their type within a range.
static int answerList(int fd, const uint8_t *request) {
    static const uint8_t service[] = {0x11, 6, 1, 0, 6, 0, 0x00, 0xA0};
    static const uint8_t characteristics[] = {0x09, 7, 2, 0, 0x10, 3, 0, 0x01, 0xA0, 5, 0, 0x02, 6, 0, 0x02, 0xA0};
    int start = request[1] | request[2] << 8, type = request[5] | request[6] << 8;
    if (request[0] == 0x10 && type == 0x2800 && start <= 1) return transmit(fd, service, sizeof service);
    if (request[0] == 0x08 && type == 0x2803 && start <= 2) return transmit(fd, characteristics, sizeof characteristics);
    return answerError(fd, request, 0x0A);
}

static int notify(int fd, uint32_t count, int size) {
    uint8_t pdu[capacity] = {0x1B, CBenchmarks_notifyingHandle, 0};
    for (uint32_t number = 0; number < count; number++) {
        memcpy(pdu + 3, &number, sizeof number);
        if (transmit(fd, pdu, 3 + (size_t)size) != 0) return -1;
    }
    return 0;
}

void CBenchmarks_servePeripheral(int fd, uint32_t count, int size) {
    static const uint8_t mtu[] = {0x03, 0x05, 0x02}, written[] = {0x13}, value[] = {0x0B, 1, 2, 3, 4};
    static const uint8_t descriptor[] = {0x05, 1, CBenchmarks_configurationHandle, 0, 0x02, 0x29};
    uint8_t request[capacity];
    for (;;) {
        ssize_t length = receive(fd, request);
        if (length <= 0) return;
        int failed = 0;
        switch (request[0]) {
        case 0x02: failed = transmit(fd, mtu, sizeof mtu); break;
        case 0x04:
            failed = request[1] <= CBenchmarks_configurationHandle
                ? transmit(fd, descriptor, sizeof descriptor) : answerError(fd, request, 0x0A);
            break;
        case 0x08: case 0x10: failed = answerList(fd, request); break;
        case 0x0A: failed = transmit(fd, value, sizeof value); break;
        case 0x12:
            failed = transmit(fd, written, sizeof written);
            if (!failed && length >= 4 && (request[3] & 1)) failed = notify(fd, count, size);
            break;
        case 0x1E: case 0x52: break;
        default: failed = answerError(fd, request, 0x06); break;
        }
        if (failed) return;
    }
}
