#include "HeapInUse.h"

#include <malloc.h>

size_t HeapInUse_octets(void) {
#ifdef __GLIBC__
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}
