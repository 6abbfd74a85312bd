/* A server whose load rises and falls: each request holds 12 MiB while it is served. Over five waves
 * the number of open requests goes up to 100 and back to none. The run is recorded over whole waves. */
#include "driver.h"

enum { MOST = 100, WAVES = 5 };

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    device_address open[MOST];
    for (int wave = 0; wave < WAVES; wave++) {
        for (int request = 0; request < MOST; request++) {
            must(driver.allocate(&open[request], 12 * MIB), "cuMemAlloc");
            must(driver.synchronize(), "cuCtxSynchronize");
        }
        for (int request = 0; request < MOST; request++) {
            must(driver.release(open[request]), "cuMemFree");
            must(driver.synchronize(), "cuCtxSynchronize");
        }
    }
    return 0;
}
