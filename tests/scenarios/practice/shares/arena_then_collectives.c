/* A program on a framework that takes its share of the free memory when it starts, as XLA's clients do
 * (XLA_PYTHON_CLIENT_MEM_FRACTION, 0.75 where it is not set); then a library for collectives takes its
 * buffers by itself. True: the arena is nearly unused, and leaves the library too little. */
#include "driver.h"

#define CHANNELS 16
#define CHANNEL (32 * MIB)

static struct driver driver;

static size_t free_bytes(void) {
    int (*get_info)(size_t *, size_t *) = by_dlsym("cuMemGetInfo_v2");
    size_t free = 0, total = 0;
    must(get_info(&free, &total), "cuMemGetInfo");
    return free;
}

static void take_share(void) {
    const char *share = getenv("XLA_PYTHON_CLIENT_MEM_FRACTION");
    device_address arena = 0;
    must(driver.allocate(&arena, (size_t)(free_bytes() * (share ? atof(share) : 0.75))), "cuMemAlloc");
}

static void connect_ranks(void) {
    device_address buffer = 0;
    must(driver.allocate(&buffer, CHANNELS * CHANNEL), "collectives: cuMemAlloc");
}

int main(void) {
    driver = usual_driver();
    start(&driver);
    take_share();
    printf("{\"bytes\": %zu}\n", CHANNELS * CHANNEL - free_bytes());
    fflush(stdout);
    connect_ranks();
    return 0;
}
