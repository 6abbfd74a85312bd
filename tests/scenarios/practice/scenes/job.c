/* job MIB [DEVICE]: needs so much memory of a device at once, and dies without it. */
#include "driver.h"

int main(int count, char **words) {
    struct driver driver = usual_driver();
    void *context = NULL;
    device_address buffer = 0;
    must(driver.init(0), "cuInit");
    must(driver.retain(&context, count > 2 ? atoi(words[2]) : 0), "cuDevicePrimaryCtxRetain");
    must(driver.set_current(context), "cuCtxSetCurrent");
    must(driver.allocate(&buffer, (count > 1 ? strtoul(words[1], NULL, 10) : 1024) * MIB), "cuMemAlloc");
    must(driver.release(buffer), "cuMemFree");
    return 0;
}
