/* The host's own buffers are page-locked for the time of each copy and let go after it: pinned memory
 * goes up and down with every step. */
#include "driver.h"

enum { STEPS = 150 };

int main(void) {
    int (*lock)(void *, size_t, unsigned) = by_dlsym("cuMemHostRegister_v2");
    int (*unlock)(void *) = by_dlsym("cuMemHostUnregister");
    struct driver driver = usual_driver();
    size_t size = 64 * MIB;
    void *buffer = aligned_alloc(4096, size);
    device_address copy = 0;
    start(&driver);
    must(driver.allocate(&copy, size), "cuMemAlloc");
    for (int step = 0; step < STEPS; step++) {
        must(lock(buffer, size, 0), "cuMemHostRegister");
        must(driver.synchronize(), "cuCtxSynchronize");
        must(unlock(buffer), "cuMemHostUnregister");
    }
    must(driver.release(copy), "cuMemFree");
    free(buffer);
    return 0;
}
