/* A simulation keeps its last three checkpoints on the device to roll back to: every tenth step takes
 * a new one and, from the fourth on, frees the oldest. */
#include "driver.h"

enum { KEPT = 3, STEPS = 400, EVERY = 10 };

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    device_address state = 0, kept[KEPT] = {0};
    int taken = 0;
    must(driver.allocate(&state, 300 * MIB), "cuMemAlloc");
    for (int step = 0; step < STEPS; step++) {
        device_address scratch = 0;
        must(driver.allocate(&scratch, 50 * MIB), "cuMemAlloc");
        must(driver.synchronize(), "cuCtxSynchronize");
        must(driver.release(scratch), "cuMemFree");
        if (step % EVERY) continue;
        device_address *slot = &kept[taken++ % KEPT];
        if (*slot) must(driver.release(*slot), "cuMemFree");
        must(driver.allocate(slot, 300 * MIB), "cuMemAlloc");
    }
    for (int slot = 0; slot < KEPT; slot++) must(driver.release(kept[slot]), "cuMemFree");
    must(driver.release(state), "cuMemFree");
    return 0;
}
