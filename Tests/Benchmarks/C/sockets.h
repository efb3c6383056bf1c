#ifndef SOCKETS_H
#define SOCKETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Room for the longest PDU.
enum { CAPACITY = 672 };

/// Takes one PDU and waits where there is none, as a careful C program does it: never a blocking recv.
ssize_t receive(int fd, uint8_t *buffer);

/// Sends one PDU and waits where there is no room. 0, or −1.
int transmit(int fd, const void *pdu, size_t count);

#endif
