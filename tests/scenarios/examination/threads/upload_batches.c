/* Each batch goes to the device through a page-locked buffer of its own, which is not given back;
 * the device's buffer is. True: 480 MiB of pinned host memory stay, the device is healthy. */
#include "driver.h"

#define BATCH ((size_t)8 * MIB)

typedef int (*allocate_host)(void **at, size_t size);

static void upload(const struct driver *driver) {
    device_address there = 0;
    void *here = NULL;
    must(((allocate_host)by_dlsym("cuMemAllocHost_v2"))(&here, BATCH), "cuMemAllocHost");
    must(driver->allocate(&there, BATCH), "cuMemAlloc");
    driver->synchronize();
    must(driver->release(there), "cuMemFree");
}

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    for (int batch = 0; batch < 60; batch++) {
        upload(&driver);
        printf("{\"bytes\": %zu}\n", (size_t)(batch + 1) * BATCH);
    }
    return 0;
}
