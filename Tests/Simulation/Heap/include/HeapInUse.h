#ifndef HEAP_IN_USE_H
#define HEAP_IN_USE_H

#include <stddef.h>

/// How many octets of the heap are in use; 0 where the C library doesn't tell.
size_t HeapInUse_octets(void);

#endif
