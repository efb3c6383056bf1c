#ifndef CBENCHMARKS_H
#define CBENCHMARKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// What the streams are compared with, and what is measured with. The loops work on one end of an AF_UNIX
// SOCK_SEQPACKET socket pair, whose datagrams are ATT PDUs; the other end is a C peripheral in a process of its own.

// MARK: The peripheral

/// Handles of the peripheral's one service.
enum {
    CBenchmarks_notifyingHandle = 3,
    CBenchmarks_configurationHandle = 4,
    CBenchmarks_writableHandle = 6,
};

/// Starts a peripheral that serves ATT until the other end is closed: discovery, reads, writes, and on each write of
/// the configuration `count` notifications of `size` octets, the first four of which are their number.
/// `near` becomes the central's end. The process, or −1 with `errno`.
pid_t CBenchmarks_startPeripheral(uint32_t count, int size, int *near);

/// Serves one link in that way until it ends, on this thread. The socket never waits by itself.
void CBenchmarks_serve(int fd, uint32_t count, int size);

/// Waits for the end of a peripheral whose other end has been closed.
void CBenchmarks_awaitPeripheral(pid_t process);

// MARK: The plain loops; nanoseconds, or 0 when something went wrong

/// Subscribes and receives `count` notifications with a plain recv loop; between the first and the last.
uint64_t CBenchmarks_receive(int fd, uint32_t count);

/// The same with all that the library asks the kernel for: the time of each notification and the number of those that
/// were dropped, with recvmmsg, in batches.
uint64_t CBenchmarks_receiveWithTimes(int fd, uint32_t count);

/// Sends `count` read requests, each after the answer to the one before.
uint64_t CBenchmarks_read(int fd, uint32_t count);

/// Sends `count` write commands of `size` octets, then a read request, until that is answered: all have arrived then.
uint64_t CBenchmarks_write(int fd, uint32_t count, int size);

// MARK: The same on the kernel's own links, in the kernel lab

/// What a receive loop has seen.
typedef struct {
    uint32_t received;
    /// What the kernel says that it dropped.
    uint32_t dropped;
    bool isInOrder;
    /// From the first to the last notification: the time, and the processor time of the process.
    uint64_t nanoseconds;
    uint64_t processorNanoseconds;
} CBenchmarks_Reception;

/// Listens on the adapter with that address, says `ready` and serves one central after the other. −1 with `errno`.
int CBenchmarks_serveKernel(const char *local, uint32_t count, int size);

/// Connects from one adapter to another, both public addresses. The descriptor, for the plain loops; −1 with `errno`.
int CBenchmarks_connectKernel(const char *local, const char *peer);

/// Connects from one adapter to another, both public addresses, subscribes and receives `count` notifications, with a
/// pause of so many microseconds after each thousand. 0; −1 with `errno`.
int CBenchmarks_receiveKernel(
    const char *local, const char *peer, uint32_t count, uint32_t pause, CBenchmarks_Reception *reception
);

// MARK: Measuring

/// The time of the clock that the loops use, in nanoseconds.
uint64_t CBenchmarks_now(void);

/// The processor time that this process has used, all threads together, in nanoseconds.
uint64_t CBenchmarks_processorTime(void);

/// Counts allocations from now on, or no more. Counting costs an atomic addition for each: times mean little then.
void CBenchmarks_countAllocations(bool counts);

/// The blocks that were allocated while counting, since the program began.
uint64_t CBenchmarks_allocations(void);

/// The octets that are allocated now.
uint64_t CBenchmarks_allocatedOctets(void);

/// Forgets the largest amount of memory so far.
void CBenchmarks_resetPeakMemory(void);

/// The largest amount of memory that the process had in use since it was forgotten, in octets.
uint64_t CBenchmarks_peakMemory(void);

#endif
