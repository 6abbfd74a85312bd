/* Managed memory may be larger than the device: its pages come and go. 3 GiB on a device of 2 GiB are
 * taken, used in turns and freed, and no call fails. */
#include "driver.h"

enum { ANYWHERE = 1, PIECES = 12, STEPS = 100 };

int main(void) {
    int (*managed)(device_address *, size_t, unsigned) = by_dlsym("cuMemAllocManaged");
    struct driver driver = usual_driver();
    device_address pieces[PIECES];
    start(&driver);
    for (int piece = 0; piece < PIECES; piece++) must(managed(&pieces[piece], 256 * MIB, ANYWHERE), "cuMemAllocManaged");
    for (int step = 0; step < STEPS; step++) must(driver.synchronize(), "cuCtxSynchronize");
    for (int piece = 0; piece < PIECES; piece++) must(driver.release(pieces[piece]), "cuMemFree");
    return 0;
}
