/* A join builds its hash tables in a stream-ordered pool, frees them, and then asks cuMemAlloc for
 * the output. True: the pool was told to keep everything, and keeps 1.5 GiB of which nothing is
 * used. */
#include "driver.h"

#define RELEASE_THRESHOLD 4
#define RESERVED_NOW 5
#define USED_NOW 7

typedef int (*pool_of_device)(void **pool, int device);
typedef int (*attribute)(void *pool, int name, void *value);

static void set_threshold(void *pool, unsigned long long bytes) {
    must(((attribute)by_dlsym("cuMemPoolSetAttribute"))(pool, RELEASE_THRESHOLD, &bytes),
         "cuMemPoolSetAttribute");
}

static unsigned long long now(void *pool, int name) {
    unsigned long long value = 0;
    must(((attribute)by_dlsym("cuMemPoolGetAttribute"))(pool, name, &value),
         "cuMemPoolGetAttribute");
    return value;
}

static void build(const struct driver *driver) {
    device_address tables[7];
    for (int index = 0; index < 7; index++)
        must(driver->allocate_async(&tables[index], 200 * MIB, NULL), "cuMemAllocAsync");
    driver->synchronize();
    for (int index = 0; index < 7; index++)
        must(driver->release_async(tables[index], NULL), "cuMemFreeAsync");
    driver->synchronize();
}

int main(void) {
    struct driver driver = usual_driver();
    device_address output = 0;
    void *pool = NULL;
    start(&driver);
    must(((pool_of_device)by_dlsym("cuDeviceGetDefaultMemPool"))(&pool, 0),
         "cuDeviceGetDefaultMemPool");
    set_threshold(pool, ~0ULL);
    build(&driver);
    printf("{\"bytes\": %llu}\n", now(pool, RESERVED_NOW) - now(pool, USED_NOW));
    fflush(stdout);
    must(driver.allocate(&output, 900 * MIB), "cuMemAlloc");
    driver.synchronize();
    must(driver.release(output), "cuMemFree");
    puts("joined");
    return 0;
}
