/* Looks for objects in a series of pictures, over page-locked buffers for the scores. They are
 * given back by the address of the variable in place of what it holds, and nobody looks at what
 * the driver answers. True: every buffer stays locked, and every free fails unseen. */
#include "driver.h"

typedef int (*host_allocate)(void **, size_t, unsigned);
typedef int (*host_release)(void *);

int main(void) {
    struct driver driver = usual_driver();
    host_allocate take = (host_allocate)dlsym(library(), "cuMemHostAlloc");
    host_release give = (host_release)dlsym(library(), "cuMemFreeHost");
    size_t kept = 0;
    start(&driver);
    for (int picture = 0; picture < 60; picture++) {
        void *scores = NULL;
        device_address work = 0;
        size_t size = (size_t)(8 + picture % 3) * MIB;
        must(take(&scores, size, 0), "cuMemHostAlloc");
        must(driver.allocate(&work, 2 * size), "cuMemAlloc");
        driver.synchronize();
        driver.release(work);
        give(&scores);
        kept += size;
    }
    printf("{\"bytes\": %zu}\n", kept);
    return 0;
}
