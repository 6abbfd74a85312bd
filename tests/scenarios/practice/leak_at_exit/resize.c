/* A library that resizes images: where the source is larger than the target it returns early, and
 * the scratch memory stays. Built as libresize.so. */
#include "driver.h"

#define SCRATCH_BYTES (16 * MIB)

static struct driver driver;

int resize_image(int source, int target) {
    if (!driver.init) driver = usual_driver();
    device_address scratch = 0;
    if (driver.allocate(&scratch, SCRATCH_BYTES)) return 1;
    if (source > target) return 0;
    return driver.release(scratch);
}
