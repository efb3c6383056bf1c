#ifdef __linux__

#define _GNU_SOURCE
#include "CBluetooth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/usbdevice_fs.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

const int CBluetooth_SO_TIMESTAMPNS = SO_TIMESTAMPNS;
const int CBluetooth_SO_RXQ_OVFL = SO_RXQ_OVFL;
const struct timeval CBluetooth_no_timeout;

// The position of the drop counter among the values of SO_MEMINFO (linux/sock_diag.h: SK_MEMINFO_DROPS).
enum { DROPS = 8, MEMINFO_VALUES = 9 };

// Room for the control data of one datagram: a time and a counter.
typedef union {
    struct cmsghdr header;
    char octets[CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(uint32_t))];
} control_t;

static void read_control(struct msghdr *message, CBluetooth_Datagram *datagram) {
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item; item = CMSG_NXTHDR(message, item)) {
        if (item->cmsg_level == SOL_HCI && item->cmsg_type == HCI_CMSG_TSTAMP
            && item->cmsg_len >= CMSG_LEN(sizeof(struct timeval))) {
            struct timeval time;
            memcpy(&time, CMSG_DATA(item), sizeof time);
            datagram->seconds = time.tv_sec;
            datagram->nanoseconds = time.tv_usec * 1000;
            datagram->hasTime = true;
        }
        if (item->cmsg_level != SOL_SOCKET) continue;
        if (item->cmsg_type == SO_TIMESTAMPNS && item->cmsg_len >= CMSG_LEN(sizeof(struct timespec))) {
            struct timespec time;
            memcpy(&time, CMSG_DATA(item), sizeof time);
            datagram->seconds = time.tv_sec;
            datagram->nanoseconds = time.tv_nsec;
            datagram->hasTime = true;
        } else if (item->cmsg_type == SO_RXQ_OVFL && item->cmsg_len >= CMSG_LEN(sizeof(uint32_t))) {
            memcpy(&datagram->dropped, CMSG_DATA(item), sizeof datagram->dropped);
            datagram->hasDropped = true;
        }
    }
}

ssize_t CBluetooth_send(int socket, const uint8_t *octets, size_t count) {
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
#ifdef SYS_sendto
    return syscall(SYS_sendto, socket, octets, count, flags, NULL, 0);
#else
    return send(socket, octets, count, flags);
#endif
}

struct CBluetooth_Batch {
    struct mmsghdr messages[CBLUETOOTH_MAXIMUM_BATCH];
    struct iovec vectors[CBLUETOOTH_MAXIMUM_BATCH];
    control_t controls[CBLUETOOTH_MAXIMUM_BATCH];
    size_t slot_size;
    // How many of them the last call has filled.
    int used;
};

CBluetooth_Batch *CBluetooth_make_batch(uint8_t *slots, size_t slotSize) {
    CBluetooth_Batch *batch = calloc(1, sizeof *batch);
    if (!batch) return NULL;
    batch->slot_size = slotSize;
    batch->used = CBLUETOOTH_MAXIMUM_BATCH;
    for (int i = 0; i < CBLUETOOTH_MAXIMUM_BATCH; i++) {
        batch->vectors[i] = (struct iovec){.iov_base = slots + (size_t)i * slotSize, .iov_len = slotSize};
        batch->messages[i].msg_hdr.msg_iov = &batch->vectors[i];
        batch->messages[i].msg_hdr.msg_iovlen = 1;
        batch->messages[i].msg_hdr.msg_control = &batch->controls[i];
    }
    return batch;
}

void CBluetooth_free_batch(CBluetooth_Batch *batch) { free(batch); }

int CBluetooth_receive(int socket, CBluetooth_Batch *batch, CBluetooth_Datagram *datagrams) {
    // What the kernel wrote into the last time.
    for (int i = 0; i < batch->used; i++) {
        batch->messages[i].msg_hdr.msg_controllen = sizeof batch->controls[i];
        batch->messages[i].msg_hdr.msg_flags = 0;
    }
    batch->used = 0;
    int received = recvmmsg(socket, batch->messages, CBLUETOOTH_MAXIMUM_BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < received; i++) {
        datagrams[i] = (CBluetooth_Datagram){.length = batch->messages[i].msg_len};
        if (datagrams[i].length > batch->slot_size) datagrams[i].length = (uint32_t)batch->slot_size;
        read_control(&batch->messages[i].msg_hdr, &datagrams[i]);
    }
    // A call that failed may have written into the first.
    batch->used = received > 0 ? received : 1;
    return received;
}

int64_t CBluetooth_dropped(int socket) {
    uint32_t values[MEMINFO_VALUES] = {0};
    socklen_t length = sizeof values;
    if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, values, &length) < 0) return -1;
    if (length < sizeof values) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return values[DROPS];
}

int CBluetooth_accept(int socket, struct sockaddr_l2 *peer) {
    socklen_t length = sizeof *peer;
    return accept4(socket, (struct sockaddr *)peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// The type is the kernel's own number, which no header tells.
enum { LE_LINK = 0x80 };

// What the kernel says of an adapter's connections; to be freed. A null pointer with `errno`.
static struct hci_conn_list_req *connections(int socket, uint16_t adapter) {
    // More than controllers have.
    enum { CAPACITY = 256 };
    struct hci_conn_list_req *list = calloc(1, sizeof *list + CAPACITY * sizeof *list->conn_info);
    if (!list) return NULL;
    list->dev_id = adapter;
    list->conn_num = CAPACITY;
    if (ioctl(socket, HCIGETCONNLIST, list) >= 0) return list;
    int error = errno;
    free(list);
    errno = error;
    return NULL;
}

int CBluetooth_is_connected(int socket, uint16_t adapter, const bdaddr_t *peer) {
    struct hci_conn_list_req *list = connections(socket, adapter);
    if (!list) return -1;
    int result = 0;
    for (int i = 0; i < list->conn_num; i++) {
        const struct hci_conn_info *connection = &list->conn_info[i];
        if (connection->type == LE_LINK && connection->state == BT_CONNECTED &&
            bacmp(&connection->bdaddr, peer) == 0) result = 1;
    }
    free(list);
    return result;
}

int CBluetooth_list_peers(int socket, uint16_t adapter, int is_central, bdaddr_t *peers, int capacity) {
    struct hci_conn_list_req *list = connections(socket, adapter);
    if (!list) return -1;
    int count = 0;
    for (int i = 0; i < list->conn_num && count < capacity; i++) {
        const struct hci_conn_info *connection = &list->conn_info[i];
        // Of a link that is up some facts may be still to come.
        int is_up = connection->state == BT_CONNECTED || connection->state == BT_CONFIG;
        int role = (connection->link_mode & HCI_LM_MASTER) != 0;
        if (connection->type == LE_LINK && is_up && role == (is_central != 0)) peers[count++] = connection->bdaddr;
    }
    free(list);
    return count;
}

int CBluetooth_list_attempts(int socket, uint16_t adapter, bdaddr_t *peers, int capacity) {
    struct hci_conn_list_req *list = connections(socket, adapter);
    if (!list) return -1;
    int count = 0;
    for (int i = 0; i < list->conn_num && count < capacity; i++) {
        const struct hci_conn_info *connection = &list->conn_info[i];
        int is_attempt = connection->type == LE_LINK && connection->out && connection->state == BT_CONNECT;
        if (is_attempt) peers[count++] = connection->bdaddr;
    }
    free(list);
    return count;
}

int CBluetooth_list_handles(int socket, uint16_t adapter, uint16_t *handles, int capacity) {
    struct hci_conn_list_req *list = connections(socket, adapter);
    if (!list) return -1;
    int count = 0;
    for (int i = 0; i < list->conn_num && count < capacity; i++) handles[count++] = list->conn_info[i].handle;
    free(list);
    return count;
}

int CBluetooth_list_adapters(int socket, uint16_t *numbers, uint32_t *flags, int capacity) {
    struct hci_dev_list_req *list = calloc(1, sizeof *list + (size_t)capacity * sizeof *list->dev_req);
    if (!list) return -1;
    list->dev_num = (uint16_t)capacity;
    int result = ioctl(socket, HCIGETDEVLIST, list);
    if (result >= 0) {
        result = list->dev_num < capacity ? list->dev_num : capacity;
        for (int i = 0; i < result; i++) {
            numbers[i] = list->dev_req[i].dev_id;
            flags[i] = list->dev_req[i].dev_opt;
        }
    }
    int error = errno;
    free(list);
    errno = error;
    return result;
}

int CBluetooth_adapter_info(int socket, struct hci_dev_info *info) {
    return ioctl(socket, HCIGETDEVINFO, info);
}

int CBluetooth_close_adapter(int socket, uint16_t adapter) {
    return ioctl(socket, HCIDEVDOWN, adapter);
}

int CBluetooth_reset_usb_device(int file) {
    return ioctl(file, USBDEVFS_RESET, 0);
}

int CBluetooth_filter_scanning(int socket) {
    struct hci_filter filter;
    hci_filter_clear(&filter);
    hci_filter_set_ptype(HCI_EVENT_PKT, &filter);
    hci_filter_set_event(EVT_LE_META_EVENT, &filter);
    hci_filter_set_event(EVT_CMD_COMPLETE, &filter);
    hci_filter_set_event(EVT_CMD_STATUS, &filter);
    // Raw HCI sockets have an option of their own for times; without it they are taken at reading.
    int on = 1;
    setsockopt(socket, SOL_HCI, HCI_TIME_STAMP, &on, sizeof on);
    return setsockopt(socket, SOL_HCI, HCI_FILTER, &filter, sizeof filter);
}

int CBluetooth_filter_links(int socket) {
    // The advertisements of every scan are LE Meta events too: their subevent stands behind packet type, event and length.
    enum { SUBEVENT = 3, ADVERTISING = 0x02, DIRECTED = 0x0B, EXTENDED = 0x0D, EVERYTHING = 0xFFFF };
    // Of the commands those that ask for a link, LE Create Connection and both forms of LE Extended Create Connection, with
    // their octets turned round.
    enum { CREATE = 0x0D20, CREATE_EXTENDED = 0x4320, CREATE_EXTENDED_V2 = 0x8520 };
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SUBEVENT, 0, 12),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HCI_COMMAND_PKT, 0, 4),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CREATE, 8, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CREATE_EXTENDED, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CREATE_EXTENDED_V2, 6, 7),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EVT_LE_META_EVENT, 0, 4),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, SUBEVENT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ADVERTISING, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DIRECTED, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EXTENDED, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, EVERYTHING),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = sizeof steps / sizeof *steps, .filter = steps};
    if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0) return -1;

    struct hci_filter filter;
    hci_filter_clear(&filter);
    hci_filter_set_ptype(HCI_COMMAND_PKT, &filter);
    hci_filter_set_ptype(HCI_EVENT_PKT, &filter);
    hci_filter_set_event(EVT_LE_META_EVENT, &filter);
    hci_filter_set_event(EVT_DISCONN_COMPLETE, &filter);
    if (setsockopt(socket, SOL_HCI, HCI_FILTER, &filter, sizeof filter) < 0) return -1;
    // What a program may not hear the kernel takes out without a word.
    socklen_t length = sizeof filter;
    if (getsockopt(socket, SOL_HCI, HCI_FILTER, &filter, &length) < 0) return -1;
    return hci_filter_test_event(EVT_LE_META_EVENT, &filter) ? 0 : 1;
}

void CBluetooth_name_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

const char *CBluetooth_environment(const char *name) {
    return secure_getenv(name);
}

int CBluetooth_open(const char *path, int flags) {
    return open(path, flags | O_CLOEXEC);
}

#endif
