#ifndef CBLUETOOTH_H
#define CBLUETOOTH_H

#ifdef __linux__

#if !__has_include(<bluetooth/bluetooth.h>)
#error "BLEStreams needs the headers of libbluetooth. On Debian: apt-get install libbluetooth-dev pkg-config"
#endif

// The headers of libbluetooth do not include what they use: the order matters.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <linux/filter.h>
#include <linux/rfkill.h>
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <bluetooth/l2cap.h>

// Structures that Swift fills or reads: what it believes of them is checked here, against the headers in use.
_Static_assert(sizeof(bdaddr_t) == 6, "a device address is six octets");
_Static_assert(sizeof(struct sockaddr_l2) == 14, "the kernel takes 14 octets for an L2CAP address");
_Static_assert(offsetof(struct sockaddr_l2, l2_bdaddr) == 4, "family, PSM, address");
_Static_assert(offsetof(struct sockaddr_l2, l2_cid) == 10, "the channel follows the address");
_Static_assert(offsetof(struct sockaddr_l2, l2_bdaddr_type) == 12, "the address type comes last");
_Static_assert(sizeof(struct sockaddr_hci) == 6, "family, device, channel");
_Static_assert(sizeof(struct bt_security) == 2, "level and key size");
_Static_assert(sizeof(struct hci_filter) == 16, "the kernel takes 16 octets for an HCI filter, padding included");
_Static_assert(offsetof(struct rfkill_event, soft) == 6, "index, type, operation, soft, hard");

// MARK: Options that Swift can't import, since their macros are expressions.

/// `SO_TIMESTAMPNS`: the kernel notes when it received a datagram, in nanoseconds.
extern const int CBluetooth_SO_TIMESTAMPNS;
/// `SO_RXQ_OVFL`: the kernel counts the datagrams for which the receive queue had no room.
extern const int CBluetooth_SO_RXQ_OVFL;
/// A timeout of a socket that never passes. Which of Swift's modules `struct timeval` belongs to is left to chance.
extern const struct timeval CBluetooth_no_timeout;

// MARK: Sending

/// `send` without waiting and without a signal. Nor is it a point at which a thread can be cancelled, which costs each
/// call of glibc's as much as a lock does.
ssize_t CBluetooth_send(int socket, const uint8_t *octets, size_t count);

// MARK: Receiving

/// The most datagrams that one call of `CBluetooth_receive` takes.
#define CBLUETOOTH_MAXIMUM_BATCH 64

/// What the kernel says of one datagram.
typedef struct {
    /// How many octets lie in the slot.
    uint32_t length;
    /// How many datagrams the socket has dropped since it was made; valid with `hasDropped`.
    uint32_t dropped;
    /// When it was received, since 1970; valid with `hasTime`.
    int64_t seconds;
    int64_t nanoseconds;
    bool hasTime;
    bool hasDropped;
} CBluetooth_Datagram;

/// The room for a batch, as the system call takes it; made once, since describing it costs more than a datagram does.
typedef struct CBluetooth_Batch CBluetooth_Batch;

/// Makes room for `CBLUETOOTH_MAXIMUM_BATCH` datagrams of `slotSize` octets at `slots`; NULL where there is no memory.
CBluetooth_Batch *CBluetooth_make_batch(uint8_t *slots, size_t slotSize);

void CBluetooth_free_batch(CBluetooth_Batch *batch);

/// Takes datagrams off a socket without waiting, with their control data: one system call for a whole batch.
/// Returns how many; −1 with `errno`, `EAGAIN` where there is none.
int CBluetooth_receive(int socket, CBluetooth_Batch *batch, CBluetooth_Datagram *datagrams);

/// How many datagrams the socket has dropped since it was made; −1 with `errno` where the kernel can't tell.
int64_t CBluetooth_dropped(int socket);

// MARK: Connections

/// `accept4` with a socket that never waits and is not inherited; glibc shows it to GNU sources only.
int CBluetooth_accept(int socket, struct sockaddr_l2 *peer);

// MARK: Adapters

/// Whether an adapter has an LE connection that is up to the device with this address: 1 or 0; −1 with `errno`.
int CBluetooth_is_connected(int socket, uint16_t adapter, const bdaddr_t *peer);

/// Writes the addresses of the LE devices with which an adapter has a link that is up, those in which it is the central or those
/// in which it is not. Returns how many; −1 with `errno`.
int CBluetooth_list_peers(int socket, uint16_t adapter, int is_central, bdaddr_t *peers, int capacity);

/// Writes the addresses of the LE devices to which an adapter is connecting, or for which it waits. Returns how many; −1 with
/// `errno`.
int CBluetooth_list_attempts(int socket, uint16_t adapter, bdaddr_t *peers, int capacity);

/// Writes the handles of an adapter's connections of any type, also of those that are being made. Returns how many; −1 with
/// `errno`.
int CBluetooth_list_handles(int socket, uint16_t adapter, uint16_t *handles, int capacity);

/// Lists the adapters that the kernel knows: numbers and flags (`HCI_UP`, …). Returns how many; −1 with `errno`.
int CBluetooth_list_adapters(int socket, uint16_t *numbers, uint32_t *flags, int capacity);

/// Tells about the adapter whose number stands in `info->dev_id`. 0; −1 with `errno`, `ENODEV` where there is none.
int CBluetooth_adapter_info(int socket, struct hci_dev_info *info);

/// Closes an adapter, whether its controller answers or not; waits for the kernel, at worst for some seconds. 0; −1 with
/// `errno`.
int CBluetooth_close_adapter(int socket, uint16_t adapter);

/// Resets the USB device whose file this is, and binds its drivers anew; waits for the kernel, at worst for some seconds. 0; −1
/// with `errno`, `ENODEV` where the device is another one afterwards and is looked for anew.
int CBluetooth_reset_usb_device(int file);

/// Sets which HCI packets a raw socket delivers: what a scan needs, LE Meta events and the ends of commands.
/// 0; −1 with `errno`.
int CBluetooth_filter_scanning(int socket);

/// Sets which HCI packets a raw socket delivers: what becomes of links, and no advertisement. 0, or 1 where the kernel lets this
/// program hear no more than that a link ended; −1 with `errno`.
int CBluetooth_filter_links(int socket);

// MARK: Threads and files

/// Names the calling thread; 15 octets at most. glibc shows the function to GNU sources only.
void CBluetooth_name_thread(const char *name);

/// `secure_getenv`: nothing where the program has rights that its caller hasn't. glibc shows it to GNU sources only.
const char *CBluetooth_environment(const char *name);

/// `open` with `O_CLOEXEC`; the C function takes a variable number of arguments, which Swift can't call.
int CBluetooth_open(const char *path, int flags);

#endif
#endif
