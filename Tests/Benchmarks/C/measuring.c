#define _GNU_SOURCE
#include "CBenchmarks.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

uint64_t CBenchmarks_now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (uint64_t)moment.tv_sec * 1000000000u + (uint64_t)moment.tv_nsec;
}

uint64_t CBenchmarks_processorTime(void) {
    struct timespec moment;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &moment);
    return (uint64_t)moment.tv_sec * 1000000000u + (uint64_t)moment.tv_nsec;
}

// MARK: Allocations. The program's own malloc takes the place of the C library's, and calls it.

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

static atomic_bool is_counting;
static atomic_uint_fast64_t allocations;

static inline void count_one(void) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_one();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    count_one();
    return __libc_realloc(block, size);
}

void CBenchmarks_countAllocations(bool counts) { atomic_store(&is_counting, counts); }

uint64_t CBenchmarks_allocations(void) { return atomic_load(&allocations); }

uint64_t CBenchmarks_allocatedOctets(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// MARK: Memory

void CBenchmarks_resetPeakMemory(void) {
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    // Source: proc(5): 5 resets the peak to what is in use now.
    fputs("5", file);
    fclose(file);
}

uint64_t CBenchmarks_peakMemory(void) {
    FILE *file = fopen("/proc/self/status", "r");
    if (!file) return 0;
    char line[256];
    unsigned long long kibibytes = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmHWM: %llu", &kibibytes) == 1) break;
    }
    fclose(file);
    return kibibytes * 1024;
}
