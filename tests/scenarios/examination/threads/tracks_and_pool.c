/* Clusters are found in a stream-ordered pool that was told to keep its memory; the tracks of each
 * event are kept by cuMemAlloc and forgotten. True: both fill the device, the tracks far more. */
#include "driver.h"

#define RELEASE_THRESHOLD 4
#define TRACKS ((size_t)12 * MIB)

typedef int (*pool_of_device)(void **pool, int device);
typedef int (*attribute)(void *pool, int name, void *value);

static void find_clusters(const struct driver *driver) {
    device_address hits = 0;
    must(driver->allocate_async(&hits, 256 * MIB, NULL), "cuMemAllocAsync");
    must(driver->release_async(hits, NULL), "cuMemFreeAsync");
    driver->synchronize();
}

int main(void) {
    struct driver driver = usual_driver();
    unsigned long long keep = ~0ULL;
    void *pool = NULL;
    start(&driver);
    must(((pool_of_device)by_dlsym("cuDeviceGetDefaultMemPool"))(&pool, 0),
         "cuDeviceGetDefaultMemPool");
    must(((attribute)by_dlsym("cuMemPoolSetAttribute"))(pool, RELEASE_THRESHOLD, &keep),
         "cuMemPoolSetAttribute");
    for (int event = 0; event < 300; event++) {
        device_address tracks = 0;
        find_clusters(&driver);
        must(driver.allocate(&tracks, TRACKS), "cuMemAlloc of the tracks");
        driver.synchronize();
        printf("{\"bytes\": %zu}\n", (size_t)(event + 1) * TRACKS);
        fflush(stdout);
    }
    return 0;
}
