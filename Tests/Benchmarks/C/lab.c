#define _GNU_SOURCE
#include "CBenchmarks.h"
#include "sockets.h"

#include <bluetooth/bluetooth.h>
#include <bluetooth/l2cap.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The attribute channel of an LE link (Core Specification, Vol 3, Part A, 2.1).
enum { ATTRIBUTE_CHANNEL = 4 };

static int parse(const char *text, bdaddr_t *address) {
    unsigned octets[6];
    if (sscanf(text, "%x:%x:%x:%x:%x:%x", octets + 5, octets + 4, octets + 3, octets + 2, octets + 1, octets) != 6) {
        errno = EINVAL;
        return -1;
    }
    for (int i = 0; i < 6; i++) address->b[i] = (uint8_t)octets[i];
    return 0;
}

// An L2CAP socket on the attribute channel of the adapter with that address.
static int attribute_socket(const char *local, struct sockaddr_l2 *address) {
    memset(address, 0, sizeof *address);
    address->l2_family = AF_BLUETOOTH;
    address->l2_cid = htobs(ATTRIBUTE_CHANNEL);
    address->l2_bdaddr_type = BDADDR_LE_PUBLIC;
    if (parse(local, &address->l2_bdaddr) != 0) return -1;
    int fd = socket(AF_BLUETOOTH, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, BTPROTO_L2CAP);
    if (fd >= 0 && bind(fd, (struct sockaddr *)address, sizeof *address) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int CBenchmarks_serveKernel(const char *local, uint32_t count, int size) {
    struct sockaddr_l2 address;
    int listener = attribute_socket(local, &address);
    if (listener < 0 || listen(listener, 4) != 0) return -1;
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd wait = {.fd = listener, .events = POLLIN};
        poll(&wait, 1, -1);
        int link = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (link < 0) continue;
        CBenchmarks_serve(link, count, size);
        close(link);
    }
}

static int connect_to(int fd, struct sockaddr_l2 *address, const char *peer) {
    if (parse(peer, &address->l2_bdaddr) != 0) return -1;
    if (connect(fd, (struct sockaddr *)address, sizeof *address) == 0) return 0;
    if (errno != EINPROGRESS) return -1;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    poll(&wait, 1, -1);
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    errno = error;
    return error == 0 ? 0 : -1;
}

// One PDU with its control data, or 0 when nothing has come for so long.
static ssize_t receive_counting(int fd, uint8_t *buffer, uint32_t *dropped, int patience) {
    char control[128];
    for (;;) {
        struct iovec vector = {.iov_base = buffer, .iov_len = CAPACITY};
        struct msghdr message = {
            .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control,
        };
        ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT);
        if (count >= 0) {
            for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
                if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SO_RXQ_OVFL) {
                    memcpy(dropped, CMSG_DATA(item), sizeof *dropped);
                }
            }
            return count;
        }
        if (errno != EAGAIN && errno != EINTR) return count;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, patience) == 0) return 0;
    }
}

int CBenchmarks_connectKernel(const char *local, const char *peer) {
    struct sockaddr_l2 address;
    int fd = attribute_socket(local, &address);
    if (fd < 0 || connect_to(fd, &address, peer) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int CBenchmarks_receiveKernel(
    const char *local, const char *peer, uint32_t count, uint32_t pause, CBenchmarks_Reception *reception
) {
    enum { PATIENCE = 10000 };
    *reception = (CBenchmarks_Reception){.isInOrder = true};
    struct sockaddr_l2 address;
    int fd = attribute_socket(local, &address);
    if (fd < 0) return -1;
    int octets = 16 << 20, on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets) != 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets);
    }
    // The same facts as the library asks for.
    setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    const uint8_t mtu[] = {0x02, 0x05, 0x02}, subscribe[] = {0x12, CBenchmarks_configurationHandle, 0, 1, 0};
    uint8_t buffer[CAPACITY];
    if (connect_to(fd, &address, peer) != 0 || transmit(fd, mtu, sizeof mtu) != 0 || receive(fd, buffer) <= 0
        || transmit(fd, subscribe, sizeof subscribe) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    uint64_t begin = 0, begin_of_work = 0;
    int64_t last = -1;
    while (reception->received + reception->dropped < count) {
        ssize_t length = receive_counting(fd, buffer, &reception->dropped, PATIENCE);
        if (length <= 0) break;
        if (buffer[0] != 0x1B) continue;
        uint32_t number;
        memcpy(&number, buffer + 3, sizeof number);
        if ((int64_t)number <= last) reception->isInOrder = false;
        last = number;
        if (reception->received++ == 0) {
            begin = CBenchmarks_now();
            begin_of_work = CBenchmarks_processorTime();
        }
        if (reception->received % 1000 == 0 || reception->received == count) {
            reception->nanoseconds = CBenchmarks_now() - begin;
            reception->processorNanoseconds = CBenchmarks_processorTime() - begin_of_work;
        }
        if (pause > 0 && reception->received % 1000 == 0) usleep(pause);
    }
    close(fd);
    return 0;
}
