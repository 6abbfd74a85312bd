/* Two pinned buffers on the host and two on the device take turns for a whole file; all four are
 * freed at the end. 512 MiB stay pinned for as long as it runs, by intent. */
#include "driver.h"

enum { BLOCKS = 500 };
#define BLOCK (256 * MIB)

int main(void) {
    int (*pin)(void **, size_t, unsigned) = by_dlsym("cuMemHostAlloc");
    int (*unpin)(void *) = by_dlsym("cuMemFreeHost");
    struct driver driver = usual_driver();
    void *staged[2];
    device_address loaded[2];
    start(&driver);
    for (int side = 0; side < 2; side++) {
        must(pin(&staged[side], BLOCK, 0), "cuMemHostAlloc");
        must(driver.allocate(&loaded[side], BLOCK), "cuMemAlloc");
    }
    for (int block = 0; block < BLOCKS; block++) {
        memset(staged[block % 2], block, 4096);
        must(driver.synchronize(), "cuCtxSynchronize");
    }
    for (int side = 0; side < 2; side++) {
        must(unpin(staged[side]), "cuMemFreeHost");
        must(driver.release(loaded[side]), "cuMemFree");
    }
    return 0;
}
