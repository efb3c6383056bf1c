#include "TestWidth.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Swift Testing starts all tests at once unless told otherwise. A time limit then measures the whole run instead of its
// test, and on a slow machine ends tests that wait for nothing but their turn. Four at once for each processor, since those
// that start programs wait for them. Set before the library reads it; whoever sets it outside is right.
__attribute__((constructor)) static void limitTestsAtOnce(void) {
    char width[16];
    snprintf(width, sizeof width, "%ld", 4 * sysconf(_SC_NPROCESSORS_ONLN));
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", width, 0);
}
