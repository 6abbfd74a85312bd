/* Before its first step a program tries five algorithms, each with a workspace of its own, the
 * largest of 1.2 GiB; then it stays with the one that needs 16 MiB. The peak is the warm-up's. */
#include "driver.h"

enum { STEPS = 300 };

static void step_with(const struct driver *driver, size_t workspace) {
    device_address scratch = 0, output = 0;
    must(driver->allocate(&scratch, workspace), "cuMemAlloc");
    must(driver->allocate(&output, 32 * MIB), "cuMemAlloc");
    must(driver->synchronize(), "cuCtxSynchronize");
    must(driver->release(output), "cuMemFree");
    must(driver->release(scratch), "cuMemFree");
}

int main(void) {
    static const size_t tried[] = {16, 120, 1200, 640, 8};
    struct driver driver = usual_driver();
    start(&driver);
    device_address weights = 0;
    must(driver.allocate(&weights, 256 * MIB), "cuMemAlloc");
    for (size_t index = 0; index < sizeof tried / sizeof *tried; index++) step_with(&driver, tried[index] * MIB);
    for (int step = 0; step < STEPS; step++) step_with(&driver, 16 * MIB);
    must(driver.release(weights), "cuMemFree");
    return 0;
}
