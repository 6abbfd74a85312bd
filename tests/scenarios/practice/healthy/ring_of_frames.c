/* A video filter keeps the last eight frames: the oldest is freed where a new one is taken. Frames
 * differ in size. Memory in use rises over the first eight frames and stays there. */
#include "driver.h"

enum { KEPT = 8, FRAMES = 200 };

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    device_address frames[KEPT] = {0};
    for (int frame = 0; frame < FRAMES; frame++) {
        device_address *slot = &frames[frame % KEPT];
        if (*slot) must(driver.release(*slot), "cuMemFree");
        must(driver.allocate(slot, (size_t)(20 + frame * 7 % 5) * MIB), "cuMemAlloc");
        must(driver.synchronize(), "cuCtxSynchronize");
    }
    for (int slot = 0; slot < KEPT; slot++) must(driver.release(frames[slot]), "cuMemFree");
    return 0;
}
