/* upload BATCHES: pins a new staging buffer for each batch and loses it; beside it a small index of each
 * batch stays on the device, lost as well. True: sixteen times as much is pinned as lost on the device. */
#include "driver.h"

#define STAGING (8 * MIB)
#define INDEX (MIB / 2)

static struct driver driver;

static void upload(int (*allocate_host)(void **, size_t)) {
    void *staging = NULL;
    device_address index = 0, batch = 0;
    must(allocate_host(&staging, STAGING), "cuMemAllocHost");
    must(driver.allocate(&index, INDEX), "cuMemAlloc");
    must(driver.allocate(&batch, STAGING), "cuMemAlloc");
    must(driver.synchronize(), "cuCtxSynchronize");
    must(driver.release(batch), "cuMemFree");
}

int main(int count, char **words) {
    int batches = count > 1 ? atoi(words[1]) : 32;
    driver = usual_driver();
    start(&driver);
    for (int batch = 0; batch < batches; batch++) upload(by_dlsym("cuMemAllocHost_v2"));
    printf("{\"bytes\": %zu}\n", batches * STAGING);
    return 0;
}
