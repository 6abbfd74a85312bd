/* Tiles of many sizes are taken in one order and freed in another, in every pass. Nothing stays
 * between the passes, and the driver's own memory does not fragment by it. */
#include "driver.h"

enum { TILES = 48, PASSES = 25 };

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    for (int pass = 0; pass < PASSES; pass++) {
        device_address tiles[TILES];
        for (int tile = 0; tile < TILES; tile++) {
            must(driver.allocate(&tiles[tile], (size_t)(1 + (tile * 13 + pass) % 40) * MIB), "cuMemAlloc");
        }
        must(driver.synchronize(), "cuCtxSynchronize");
        /* 29 has no divisor in common with 48: each tile once, in a scattered order. */
        for (int turn = 0; turn < TILES; turn++) {
            must(driver.release(tiles[(turn * 29 + pass) % TILES]), "cuMemFree");
        }
    }
    device_address whole = 0;
    must(driver.allocate(&whole, 1200 * MIB), "cuMemAlloc");
    must(driver.release(whole), "cuMemFree");
    return 0;
}
