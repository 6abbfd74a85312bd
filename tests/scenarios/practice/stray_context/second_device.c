/* Initializes CUDA as every example does, then finds the faster device and works on that one only.
 * True: a context of some hundred MiB stays open on device 0 for nothing. Nothing fails here. */
#include "driver.h"

static struct driver driver;

static void use_device(int device) {
    void *context = NULL;
    must(driver.retain(&context, device), "cuDevicePrimaryCtxRetain");
    must(driver.set_current(context), "cuCtxSetCurrent");
}

int main(void) {
    driver = usual_driver();
    start(&driver);
    use_device(1);
    for (int step = 0; step < 10; step++) {
        device_address input = 0, output = 0;
        must(driver.allocate(&input, 256 * MIB), "cuMemAlloc");
        must(driver.allocate(&output, 128 * MIB), "cuMemAlloc");
        must(driver.synchronize(), "cuCtxSynchronize");
        must(driver.release(output), "cuMemFree");
        must(driver.release(input), "cuMemFree");
    }
    return 0;
}
