/* The driver refuses 64 MiB although 1 GiB and more is free, to this one and only call (the lab makes
 * it fail). Nothing that can be recorded says why. */
#include "driver.h"

int main(void) {
    struct driver driver = usual_driver();
    device_address buffers[10];
    start(&driver);
    for (int index = 0; index < 10; index++) must(driver.allocate(&buffers[index], 64 * MIB), "cuMemAlloc");
    for (int index = 0; index < 10; index++) must(driver.release(buffers[index]), "cuMemFree");
    return 0;
}
