/* All fields of a simulation are taken before its first step, none during the steps, and all are
 * freed at the end. Nearly the whole device is in use all the time: that is what it was bought for. */
#include "driver.h"

enum { FIELDS = 24, STEPS = 2000 };

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    device_address fields[FIELDS];
    for (int field = 0; field < FIELDS; field++) must(driver.allocate(&fields[field], 70 * MIB), "cuMemAlloc");
    for (int step = 0; step < STEPS; step++) must(driver.synchronize(), "cuCtxSynchronize");
    for (int field = 0; field < FIELDS; field++) must(driver.release(fields[field]), "cuMemFree");
    return 0;
}
