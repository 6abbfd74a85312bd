/* Two hundred shots are processed with a table that is made once. All buffers of the shots are
 * given back, the table is not. True: 192 MiB are never freed; nothing grows. */
#include "driver.h"

static device_address table;

static void calibrate(const struct driver *driver) {
    must(driver->allocate(&table, 192 * MIB), "cuMemAlloc");
}

static void process(const struct driver *driver) {
    device_address raw = 0, corrected = 0;
    must(driver->allocate(&raw, 32 * MIB), "cuMemAlloc");
    must(driver->allocate(&corrected, 64 * MIB), "cuMemAlloc");
    driver->synchronize();
    must(driver->release(corrected), "cuMemFree");
    must(driver->release(raw), "cuMemFree");
}

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    calibrate(&driver);
    for (int shot = 0; shot < 200; shot++) process(&driver);
    puts("200 shots");
    return 0;
}
