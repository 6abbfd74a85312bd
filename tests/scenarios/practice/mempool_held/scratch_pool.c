/* A solver has a pool of its own for scratch memory, told to keep up to 900 MiB, and uses some of it
 * still when the result is allocated. True: of what the pool holds, most is freed and kept. */
#include "driver.h"

#define PARTS 7
#define PART (128 * MIB)
#define RESULT (1100 * MIB)
enum { RELEASE_THRESHOLD = 4, RESERVED_CURRENT = 5, USED_CURRENT = 7 };

/* CUmemPoolProps of CUDA 12: pinned memory of a device, no handles. */
struct pool_properties {
    int allocation_type, handle_types, location_type, location_id;
    void *security_attributes;
    size_t max_size;
    unsigned char reserved[56];
};

int main(void) {
    struct driver driver = usual_driver();
    int (*create)(void **, const struct pool_properties *) = by_dlsym("cuMemPoolCreate");
    int (*set_attribute)(void *, int, void *) = by_dlsym("cuMemPoolSetAttribute");
    int (*get_attribute)(void *, int, void *) = by_dlsym("cuMemPoolGetAttribute");
    int (*from_pool)(device_address *, size_t, void *, void *) = by_dlsym("cuMemAllocFromPoolAsync");
    start(&driver);

    struct pool_properties properties = {.allocation_type = 1, .location_type = 1};
    void *pool = NULL;
    unsigned long long threshold = 900 * MIB, reserved = 0, used = 0;
    must(create(&pool, &properties), "cuMemPoolCreate");
    must(set_attribute(pool, RELEASE_THRESHOLD, &threshold), "cuMemPoolSetAttribute");
    device_address parts[PARTS], result = 0;
    for (int index = 0; index < PARTS; index++)
        must(from_pool(&parts[index], PART, pool, NULL), "cuMemAllocFromPoolAsync");
    for (int index = 1; index < PARTS; index++)
        must(driver.release_async(parts[index], NULL), "cuMemFreeAsync");
    must(driver.synchronize(), "cuCtxSynchronize");

    must(get_attribute(pool, RESERVED_CURRENT, &reserved), "cuMemPoolGetAttribute");
    must(get_attribute(pool, USED_CURRENT, &used), "cuMemPoolGetAttribute");
    printf("{\"bytes\": %llu}\n", reserved - used);
    fflush(stdout);
    must(driver.allocate(&result, RESULT), "cuMemAlloc");
    return 0;
}
