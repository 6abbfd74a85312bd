/* A curriculum: every step works on two MiB more than the one before, and frees all of it. The peak of
 * each step is higher; what is left after each is the same. */
#include "driver.h"

enum { STEPS = 250 };

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    device_address weights = 0;
    must(driver.allocate(&weights, 200 * MIB), "cuMemAlloc");
    for (size_t step = 1; step <= STEPS; step++) {
        device_address input = 0, hidden = 0;
        must(driver.allocate(&input, step * MIB), "cuMemAlloc");
        must(driver.allocate(&hidden, step * MIB), "cuMemAlloc");
        must(driver.synchronize(), "cuCtxSynchronize");
        must(driver.release(hidden), "cuMemFree");
        must(driver.release(input), "cuMemFree");
    }
    must(driver.release(weights), "cuMemFree");
    return 0;
}
