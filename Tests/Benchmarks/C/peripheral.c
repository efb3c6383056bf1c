#define _GNU_SOURCE
#include "CBenchmarks.h"
#include "sockets.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int answer_error(int fd, const uint8_t *request, uint8_t code) {
    uint8_t answer[] = {0x01, request[0], request[1], request[2], code};
    return transmit(fd, answer, sizeof answer);
}

// The declarations of one service with two characteristics, found by their type within a range.
static int answer_list(int fd, const uint8_t *request) {
    static const uint8_t service[] = {0x11, 6, 1, 0, 6, 0, 0x00, 0xA0};
    static const uint8_t characteristics[] = {0x09, 7, 2, 0, 0x10, 3, 0, 0x01, 0xA0, 5, 0, 0x06, 6, 0, 0x02, 0xA0};
    int start = request[1] | request[2] << 8, type = request[5] | request[6] << 8;
    if (request[0] == 0x10 && type == 0x2800 && start <= 1) return transmit(fd, service, sizeof service);
    if (request[0] == 0x08 && type == 0x2803 && start <= 2) return transmit(fd, characteristics, sizeof characteristics);
    return answer_error(fd, request, 0x0A);
}

// Answers one request, but for what a written configuration asks for: `begins` says whether that is to notify.
static int answer(int fd, const uint8_t *request, ssize_t length, int *begins) {
    static const uint8_t mtu[] = {0x03, 0x05, 0x02}, written[] = {0x13}, value[] = {0x0B, 1, 2, 3, 4};
    static const uint8_t descriptor[] = {0x05, 1, CBenchmarks_configurationHandle, 0, 0x02, 0x29};
    switch (request[0]) {
    case 0x02: return transmit(fd, mtu, sizeof mtu);
    case 0x04:
        return request[1] <= CBenchmarks_configurationHandle
            ? transmit(fd, descriptor, sizeof descriptor) : answer_error(fd, request, 0x0A);
    case 0x08: case 0x10: return answer_list(fd, request);
    case 0x0A: return transmit(fd, value, sizeof value);
    case 0x12:
        *begins = length >= 4 && (request[3] & 1);
        return transmit(fd, written, sizeof written);
    case 0x1E: case 0x52: return 0;
    default: return answer_error(fd, request, 0x06);
    }
}

// Between notifications it answers, as a peripheral has to: within 30 s, however long all of them take.
static int notify(int fd, uint32_t count, int size) {
    enum { BETWEEN = 100 };
    uint8_t pdu[CAPACITY] = {0x1B, CBenchmarks_notifyingHandle, 0}, request[CAPACITY];
    int goes_on = 1;
    for (uint32_t number = 0; number < count && goes_on; number++) {
        memcpy(pdu + 3, &number, sizeof number);
        if (transmit(fd, pdu, 3 + (size_t)size) != 0) return -1;
        if (number % BETWEEN != BETWEEN - 1) continue;
        ssize_t length = recv(fd, request, sizeof request, MSG_DONTWAIT);
        if (length == 0) return -1;
        if (length > 0 && answer(fd, request, length, &goes_on) != 0) return -1;
    }
    return 0;
}

void CBenchmarks_serve(int fd, uint32_t count, int size) {
    uint8_t request[CAPACITY];
    for (;;) {
        int begins = 0;
        ssize_t length = receive(fd, request);
        if (length <= 0 || answer(fd, request, length, &begins) != 0) return;
        if (begins && notify(fd, count, size) != 0) return;
    }
}

pid_t CBenchmarks_startPeripheral(uint32_t count, int size, int *near) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return -1;
    pid_t process = fork();
    if (process == 0) {
        // Nothing but system calls from here on: the other threads of the program are not here. No descriptor of the
        // parent's stays open, or its links would never end.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], 3);
        close_range(4, ~0U, 0);
        CBenchmarks_serve(3, count, size);
        _exit(0);
    }
    int error = errno;
    close(ends[1]);
    if (process < 0) close(ends[0]);
    *near = ends[0];
    errno = error;
    return process;
}

void CBenchmarks_awaitPeripheral(pid_t process) {
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {}
}
