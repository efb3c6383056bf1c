#ifndef CBENCHMARKS_H
#define CBENCHMARKS_H

#include <stdint.h>

// The other side of every measurement, and the plain C loops that BLEStreams is compared with.
// All of them work on one end of an AF_UNIX SOCK_SEQPACKET socket pair, whose datagrams are ATT PDUs.

/// Handles of the peripheral's one service.
enum {
    CBenchmarks_notifyingHandle = 3,
    CBenchmarks_configurationHandle = 4,
    CBenchmarks_readableHandle = 6,
};

/// Makes a socket pair: fds[0] for the central, fds[1] for the peripheral. 0, or an errno.
int CBenchmarks_makePair(int fds[2]);

/// Serves ATT until the other end is closed: discovery, reads, and on each write of the configuration
/// `count` notifications of `size` octets, the first four of which are their number. Blocks.
void CBenchmarks_servePeripheral(int fd, uint32_t count, int size);

/// Subscribes and receives `count` notifications with a plain recv loop. Nanoseconds between the first and the last,
/// or 0 when something went wrong.
uint64_t CBenchmarks_receive(int fd, uint32_t count);

/// Sends `count` read requests, each after the answer to the one before. Nanoseconds, or 0.
uint64_t CBenchmarks_read(int fd, uint32_t count);

/// The time of the clock that the loops use, in nanoseconds.
uint64_t CBenchmarks_now(void);

#endif
