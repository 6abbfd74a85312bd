/* Before its first transform a program tries plans, each with a larger work area, and keeps the
 * one that is fastest. True: the work areas are a peak of the start, all given back; then it is
 * steady. */
#include "driver.h"

static void try_plan(const struct driver *driver, size_t work) {
    device_address area = 0;
    must(driver->allocate(&area, work), "cuMemAlloc");
    driver->synchronize();
    must(driver->release(area), "cuMemFree");
}

int main(void) {
    struct driver driver = usual_driver();
    device_address signal = 0, spectrum = 0;
    start(&driver);
    must(driver.allocate(&signal, 64 * MIB), "cuMemAlloc");
    must(driver.allocate(&spectrum, 64 * MIB), "cuMemAlloc");
    for (int plan = 0; plan < 6; plan++) try_plan(&driver, (size_t)(32 << plan) * MIB);
    for (int transform = 0; transform < 300; transform++) try_plan(&driver, 48 * MIB);
    must(driver.release(spectrum), "cuMemFree");
    must(driver.release(signal), "cuMemFree");
    puts("300 transforms");
    return 0;
}
