/* The pool of the device refuses 64 MiB on a stream although most of the device is free (the lab makes
 * this one call fail). */
#include "driver.h"

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    for (int step = 0; step < 40; step++) {
        device_address scratch = 0;
        must(driver.allocate_async(&scratch, 64 * MIB, NULL), "cuMemAllocAsync");
        must(driver.release_async(scratch, NULL), "cuMemFreeAsync");
        must(driver.synchronize(), "cuCtxSynchronize");
    }
    return 0;
}
