/* Frames from a camera lie in memory of the program's own, which it page-locks for the copy and never
 * unlocks. True: page-locked memory grows with every frame; the device is all but empty. */
#include "driver.h"

#include <sys/mman.h>

#define FRAMES 32
#define FRAME (4 * MIB)

int main(void) {
    struct driver driver = usual_driver();
    int (*lock)(void *, size_t, unsigned) = by_dlsym("cuMemHostRegister_v2");
    int (*to_device)(device_address, const void *, size_t) = by_dlsym("cuMemcpyHtoD_v2");
    start(&driver);
    for (int number = 0; number < FRAMES; number++) {
        void *frame = mmap(NULL, FRAME, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        device_address image = 0;
        if (frame == MAP_FAILED) stop("no memory for a frame");
        must(lock(frame, FRAME, 0), "cuMemHostRegister");
        must(driver.allocate(&image, FRAME), "cuMemAlloc");
        must(to_device(image, frame, FRAME), "cuMemcpyHtoD");
        must(driver.release(image), "cuMemFree");
    }
    printf("{\"bytes\": %zu}\n", FRAMES * FRAME);
    return 0;
}
