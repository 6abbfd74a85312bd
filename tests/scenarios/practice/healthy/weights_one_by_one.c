/* A server reads 160 weights, each through a staging buffer that it frees, and then serves a few
 * requests before it is told to stop. Most of what it ever allocates is loading: that ends by itself. */
#include "driver.h"

enum { WEIGHTS = 160, REQUESTS = 30 };

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    device_address weights[WEIGHTS];
    for (int weight = 0; weight < WEIGHTS; weight++) {
        device_address staged = 0;
        must(driver.allocate(&staged, 16 * MIB), "cuMemAlloc");
        must(driver.allocate(&weights[weight], 8 * MIB), "cuMemAlloc");
        must(driver.synchronize(), "cuCtxSynchronize");
        must(driver.release(staged), "cuMemFree");
    }
    for (int request = 0; request < REQUESTS; request++) {
        device_address answer = 0;
        must(driver.allocate(&answer, 24 * MIB), "cuMemAlloc");
        must(driver.synchronize(), "cuCtxSynchronize");
        must(driver.release(answer), "cuMemFree");
    }
    for (int weight = 0; weight < WEIGHTS; weight++) must(driver.release(weights[weight]), "cuMemFree");
    return 0;
}
