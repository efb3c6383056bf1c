// ThreadSanitizer sees a Synchronization.Mutex that is free: its atomic operations are compiled into our code. What a
// mutex with waiters does is inside of Swift's library, which isn't instrumented, so that each such turn would be
// reported as a race. Preloaded, this stands before the library's three functions and tells ThreadSanitizer of them.
// In a program without ThreadSanitizer it only passes the calls on.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

// Swift's calling convention: `self`, the address of the handle, is in a register of its own.
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *handle

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool tryLock(SELF) __asm__(TRY_LOCK);
SWIFT void unlock(SELF) __asm__(UNLOCK);

static void *original(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function) return function;
    fprintf(stderr, "KnownMutex: this Swift has no %s; see how its Mutex waits now\n", name);
    abort();
}

SWIFT void lock(uint32_t thread, SELF) {
    SWIFT void (*next)(uint32_t, SELF) = original(LOCK);
    next(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT bool tryLock(SELF) {
    SWIFT bool (*next)(SELF) = original(TRY_LOCK);
    bool isLocked = next(handle);
    if (isLocked && __tsan_acquire) __tsan_acquire(handle);
    return isLocked;
}

SWIFT void unlock(SELF) {
    SWIFT void (*next)(SELF) = original(UNLOCK);
    if (__tsan_release) __tsan_release(handle);
    next(handle);
}
