#define _GNU_SOURCE
#include "CBenchmarks.h"
#include "sockets.h"

#include <string.h>

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
