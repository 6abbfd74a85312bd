/* A renderer maps tiles of physical memory into an address range, and unmaps them when it is done.
 * True: the handles of the physical memory were never released, so the tiles stay until the end. The
 * staging buffers beside them are freed. */
#include "driver.h"

#define TILES 6
#define TILE (32 * MIB)

struct place {
    int type, id;
};

/* CUmemAllocationProp: pinned memory of a device. */
struct properties {
    int type, handle_types;
    struct place place;
    void *meta_data;
    unsigned char flags[8];
};

struct access {
    struct place place;
    int flags;
};

static struct driver driver;
static int (*create)(unsigned long long *, size_t, const struct properties *, unsigned long long);
static int (*map)(device_address, size_t, size_t, unsigned long long, unsigned long long);
static int (*unmap)(device_address, size_t);
static int (*set_access)(device_address, size_t, const struct access *, size_t);

static void show_tile(device_address at) {
    struct properties properties = {.type = 1, .place = {1, 0}};
    struct access access = {.place = {1, 0}, .flags = 3};
    unsigned long long tile = 0;
    must(create(&tile, TILE, &properties, 0), "cuMemCreate");
    must(map(at, TILE, 0, tile, 0), "cuMemMap");
    must(set_access(at, TILE, &access, 1), "cuMemSetAccess");
    device_address staging = 0;
    must(driver.allocate(&staging, TILE), "cuMemAlloc");
    must(driver.release(staging), "cuMemFree");
}

int main(void) {
    int (*reserve)(device_address *, size_t, size_t, device_address, unsigned long long) =
        by_dlsym("cuMemAddressReserve");
    int (*unreserve)(device_address, size_t) = by_dlsym("cuMemAddressFree");
    create = by_dlsym("cuMemCreate");
    map = by_dlsym("cuMemMap");
    unmap = by_dlsym("cuMemUnmap");
    set_access = by_dlsym("cuMemSetAccess");
    driver = usual_driver();
    start(&driver);

    device_address scene = 0;
    must(reserve(&scene, TILES * TILE, 0, 0, 0), "cuMemAddressReserve");
    for (int tile = 0; tile < TILES; tile++) show_tile(scene + tile * TILE);
    for (int tile = 0; tile < TILES; tile++) must(unmap(scene + tile * TILE, TILE), "cuMemUnmap");
    must(unreserve(scene, TILES * TILE), "cuMemAddressFree");
    printf("{\"bytes\": %zu}\n", TILES * TILE);
    return 0;
}
