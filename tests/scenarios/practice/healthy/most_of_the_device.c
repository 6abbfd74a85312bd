/* A sort takes 95 % of what is free as its workspace, and a second time what is then left, in small
 * pieces; all of it is freed. The device looks full, and no request fails. */
#include "driver.h"

int main(void) {
    int (*information)(size_t *, size_t *) = by_dlsym("cuMemGetInfo_v2");
    struct driver driver = usual_driver();
    size_t free_bytes = 0, total = 0;
    device_address workspace = 0, pieces[8];
    start(&driver);
    must(information(&free_bytes, &total), "cuMemGetInfo");
    must(driver.allocate(&workspace, free_bytes / 100 * 95), "cuMemAlloc");
    for (int pass = 0; pass < 40; pass++) {
        for (int piece = 0; piece < 8; piece++) must(driver.allocate(&pieces[piece], 4 * MIB), "cuMemAlloc");
        must(driver.synchronize(), "cuCtxSynchronize");
        for (int piece = 0; piece < 8; piece++) must(driver.release(pieces[piece]), "cuMemFree");
    }
    must(driver.release(workspace), "cuMemFree");
    return 0;
}
