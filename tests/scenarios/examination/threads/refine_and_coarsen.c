/* An adaptive grid: cells are refined while a front passes, and made coarse again behind it. True:
 * memory climbs for forty steps and falls for forty; every patch is given back. */
#include "driver.h"

#define STEPS 40
#define PATCH ((size_t)24 * MIB)

int main(void) {
    struct driver driver = usual_driver();
    device_address patches[STEPS];
    start(&driver);
    for (int step = 0; step < STEPS; step++) {
        must(driver.allocate(&patches[step], PATCH), "cuMemAlloc");
        driver.synchronize();
    }
    for (int step = STEPS - 1; step >= 0; step--) {
        driver.synchronize();
        must(driver.release(patches[step]), "cuMemFree");
    }
    puts("front has passed");
    return 0;
}
