#define _GNU_SOURCE
#include "CBenchmarks.h"
#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

uint64_t CBenchmarks_receive(int fd, uint32_t count) {
    uint8_t buffer[CAPACITY];
    const uint8_t subscribe[] = {0x12, CBenchmarks_configurationHandle, 0, 1, 0};
    if (transmit(fd, subscribe, sizeof subscribe) != 0) return 0;
    uint64_t begin = 0;
    for (uint32_t received = 0; received < count;) {
        ssize_t length = receive(fd, buffer);
        if (length <= 0) return 0;
        if (buffer[0] != 0x1B) continue;
        uint32_t number;
        memcpy(&number, buffer + 3, sizeof number);
        if (number != received) return 0;
        if (received++ == 0) begin = CBenchmarks_now();
    }
    return CBenchmarks_now() - begin;
}

enum { BATCH = 64, CONTROL = 128 };

// The bytes of a batch, each datagram in a slot of its own.
typedef struct {
    struct mmsghdr messages[BATCH];
    struct iovec vectors[BATCH];
    _Alignas(struct cmsghdr) uint8_t controls[BATCH][CONTROL];
    uint8_t slots[BATCH][CAPACITY];
} batch_t;

static int receive_batch(int fd, batch_t *batch) {
    for (;;) {
        for (int i = 0; i < BATCH; i++) {
            batch->vectors[i] = (struct iovec){.iov_base = batch->slots[i], .iov_len = CAPACITY};
            batch->messages[i].msg_hdr = (struct msghdr){
                .msg_iov = &batch->vectors[i],
                .msg_iovlen = 1,
                .msg_control = batch->controls[i],
                .msg_controllen = CONTROL,
            };
        }
        int count = recvmmsg(fd, batch->messages, BATCH, MSG_DONTWAIT, NULL);
        if (count >= 0 || (errno != EAGAIN && errno != EINTR)) return count;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        poll(&wait, 1, -1);
    }
}

// Whether the kernel has told when it received a datagram.
static int has_time(struct msghdr *message) {
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item; item = CMSG_NXTHDR(message, item)) {
        if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SO_TIMESTAMPNS) return 1;
    }
    return 0;
}

uint64_t CBenchmarks_receiveWithTimes(int fd, uint32_t count) {
    static batch_t batch;
    const int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) return 0;
    if (setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on) != 0) return 0;
    const uint8_t subscribe[] = {0x12, CBenchmarks_configurationHandle, 0, 1, 0};
    if (transmit(fd, subscribe, sizeof subscribe) != 0) return 0;
    uint64_t begin = 0;
    for (uint32_t received = 0; received < count;) {
        int filled = receive_batch(fd, &batch);
        if (filled <= 0) return 0;
        for (int i = 0; i < filled; i++) {
            if (batch.slots[i][0] != 0x1B) continue;
            uint32_t number;
            memcpy(&number, batch.slots[i] + 3, sizeof number);
            if (number != received || !has_time(&batch.messages[i].msg_hdr)) return 0;
            if (received++ == 0) begin = CBenchmarks_now();
        }
    }
    return CBenchmarks_now() - begin;
}

uint64_t CBenchmarks_read(int fd, uint32_t count) {
    uint8_t buffer[CAPACITY];
    const uint8_t request[] = {0x0A, CBenchmarks_writableHandle, 0};
    uint64_t begin = CBenchmarks_now();
    for (uint32_t index = 0; index < count; index++) {
        if (transmit(fd, request, sizeof request) != 0 || receive(fd, buffer) <= 0) return 0;
    }
    return CBenchmarks_now() - begin;
}

uint64_t CBenchmarks_write(int fd, uint32_t count, int size) {
    uint8_t buffer[CAPACITY];
    uint8_t command[CAPACITY] = {0x52, CBenchmarks_writableHandle, 0};
    const uint8_t request[] = {0x0A, CBenchmarks_writableHandle, 0};
    uint64_t begin = CBenchmarks_now();
    for (uint32_t number = 0; number < count; number++) {
        memcpy(command + 3, &number, sizeof number);
        if (transmit(fd, command, 3 + (size_t)size) != 0) return 0;
    }
    if (transmit(fd, request, sizeof request) != 0 || receive(fd, buffer) <= 0) return 0;
    return CBenchmarks_now() - begin;
}
