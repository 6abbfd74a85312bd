/* Decoded frames come from the device's default stream-ordered pool, whose release threshold is the
 * maximum; then a model wants plain memory. True: every frame was freed, and the pool keeps them. */
#include "driver.h"

#define FRAMES 12
#define FRAME (96 * MIB)
#define MODEL (1200 * MIB)
enum { RELEASE_THRESHOLD = 4, RESERVED_CURRENT = 5, USED_CURRENT = 7 };

static int (*get_attribute)(void *, int, void *);

static unsigned long long figure(void *pool, int which) {
    unsigned long long value = 0;
    must(get_attribute(pool, which, &value), "cuMemPoolGetAttribute");
    return value;
}

static void decode(const struct driver *driver) {
    device_address frames[FRAMES];
    for (int index = 0; index < FRAMES; index++)
        must(driver->allocate_async(&frames[index], FRAME, NULL), "cuMemAllocAsync");
    for (int index = 0; index < FRAMES; index++)
        must(driver->release_async(frames[index], NULL), "cuMemFreeAsync");
}

int main(void) {
    struct driver driver = usual_driver();
    int (*default_pool)(void **, int) = by_dlsym("cuDeviceGetDefaultMemPool");
    int (*set_attribute)(void *, int, void *) = by_dlsym("cuMemPoolSetAttribute");
    get_attribute = by_dlsym("cuMemPoolGetAttribute");
    start(&driver);

    void *pool = NULL;
    unsigned long long keep_all = ~0ull;
    must(default_pool(&pool, 0), "cuDeviceGetDefaultMemPool");
    must(set_attribute(pool, RELEASE_THRESHOLD, &keep_all), "cuMemPoolSetAttribute");
    decode(&driver);
    must(driver.synchronize(), "cuCtxSynchronize");

    printf("{\"bytes\": %llu}\n", figure(pool, RESERVED_CURRENT) - figure(pool, USED_CURRENT));
    fflush(stdout);
    device_address model = 0;
    must(driver.allocate(&model, MODEL), "cuMemAlloc");
    return 0;
}
