/* The pool of the device is told to keep what is freed, and every step takes and frees the same
 * scratch on a stream. What the pool keeps is used again in each step; nobody else needs it. */
#include "driver.h"

#include <stdint.h>

enum { RELEASE_THRESHOLD = 4, STEPS = 200 };

static void keep_everything(void) {
    int (*pool_of)(void **, int) = by_dlsym("cuDeviceGetDefaultMemPool");
    int (*set)(void *, int, void *) = by_dlsym("cuMemPoolSetAttribute");
    void *pool = NULL;
    uint64_t threshold = UINT64_MAX;
    must(pool_of(&pool, 0), "cuDeviceGetDefaultMemPool");
    must(set(pool, RELEASE_THRESHOLD, &threshold), "cuMemPoolSetAttribute");
}

int main(void) {
    int (*create)(void **, unsigned) = by_dlsym("cuStreamCreate");
    struct driver driver = usual_driver();
    void *stream = NULL;
    start(&driver);
    keep_everything();
    must(create(&stream, 1), "cuStreamCreate");
    for (int step = 0; step < STEPS; step++) {
        device_address left = 0, right = 0;
        must(driver.allocate_async(&left, 500 * MIB, stream), "cuMemAllocAsync");
        must(driver.allocate_async(&right, (size_t)(100 + step % 4 * 50) * MIB, stream), "cuMemAllocAsync");
        must(driver.release_async(left, stream), "cuMemFreeAsync");
        must(driver.release_async(right, stream), "cuMemFreeAsync");
        must(driver.synchronize(), "cuCtxSynchronize");
    }
    return 0;
}
