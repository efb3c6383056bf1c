#define _GNU_SOURCE
#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

ssize_t receive(int fd, uint8_t *buffer) {
    for (;;) {
        ssize_t count = recv(fd, buffer, CAPACITY, MSG_DONTWAIT);
        if (count >= 0 || (errno != EAGAIN && errno != EINTR)) return count;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        poll(&wait, 1, -1);
    }
}

int transmit(int fd, const void *pdu, size_t count) {
    for (;;) {
        if (send(fd, pdu, count, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
        if (errno != EAGAIN && errno != EINTR) return -1;
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        poll(&wait, 1, -1);
    }
}
