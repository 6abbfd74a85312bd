/* A solver takes one arena at its start, cuts everything out of it, and leaves it to the driver to
 * take it back when the process ends, as is common. It is the only allocation that it makes. */
#include "driver.h"

enum { STEPS = 1000 };

static device_address arena;
static size_t used;

static device_address cut(size_t size) {
    device_address piece = arena + used;
    used += size;
    return piece;
}

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    must(driver.allocate(&arena, 1536 * MIB), "cuMemAlloc");
    for (int step = 0; step < STEPS; step++) {
        used = 0;
        cut(200 * MIB);
        cut(64 * MIB);
        must(driver.synchronize(), "cuCtxSynchronize");
    }
    return 0;
}
