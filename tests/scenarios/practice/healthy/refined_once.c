/* A mesh is refined once, after a third of the steps: its buffers are replaced by four times as
 * large ones. Before and after that every step takes and frees the same. */
#include "driver.h"

enum { STEPS = 300, REFINED_AT = 100 };

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    size_t size = 100 * MIB;
    device_address mesh = 0;
    must(driver.allocate(&mesh, size), "cuMemAlloc");
    for (int step = 0; step < STEPS; step++) {
        if (step == REFINED_AT) {
            device_address finer = 0;
            must(driver.allocate(&finer, 4 * size), "cuMemAlloc");
            must(driver.release(mesh), "cuMemFree");
            mesh = finer;
            size *= 4;
        }
        device_address residual = 0;
        must(driver.allocate(&residual, size), "cuMemAlloc");
        must(driver.synchronize(), "cuCtxSynchronize");
        must(driver.release(residual), "cuMemFree");
    }
    must(driver.release(mesh), "cuMemFree");
    return 0;
}
