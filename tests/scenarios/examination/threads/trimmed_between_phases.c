/* A sort works in a stream-ordered pool that keeps what is freed; when it is done, the pool is
 * trimmed and the join takes one large table by cuMemAlloc. True: the pool's memory came back in
 * time. */
#include "driver.h"

#define RELEASE_THRESHOLD 4

typedef int (*pool_of_device)(void **pool, int device);
typedef int (*set_attribute)(void *pool, int attribute, void *value);
typedef int (*trim_to)(void *pool, size_t kept);

static void sort_runs(const struct driver *driver) {
    for (int pass = 0; pass < 20; pass++) {
        device_address runs[8];
        for (int run = 0; run < 8; run++)
            must(driver->allocate_async(&runs[run], 128 * MIB, NULL), "cuMemAllocAsync");
        for (int run = 0; run < 8; run++)
            must(driver->release_async(runs[run], NULL), "cuMemFreeAsync");
        driver->synchronize();
    }
}

int main(void) {
    struct driver driver = usual_driver();
    unsigned long long keep = ~0ULL;
    device_address table = 0;
    void *pool = NULL;
    start(&driver);
    must(((pool_of_device)by_dlsym("cuDeviceGetDefaultMemPool"))(&pool, 0),
         "cuDeviceGetDefaultMemPool");
    must(((set_attribute)by_dlsym("cuMemPoolSetAttribute"))(pool, RELEASE_THRESHOLD, &keep),
         "cuMemPoolSetAttribute");
    sort_runs(&driver);
    must(((trim_to)by_dlsym("cuMemPoolTrimTo"))(pool, 0), "cuMemPoolTrimTo");
    must(driver.allocate(&table, 1024 * MIB), "cuMemAlloc");
    driver.synchronize();
    must(driver.release(table), "cuMemFree");
    puts("joined");
    return 0;
}
