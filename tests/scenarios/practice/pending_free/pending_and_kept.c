/* Tiles are simulated with scratch buffers, and their results kept. True: 1000 MiB are freed and wait for their
 * kernels, 300 MiB of results are live; the last request needs some of either. */
#include "streams.h"

#define TILES 10

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    forbid_waiting();
    void *streams[TILES];
    for (int tile = 0; tile < TILES; tile++) {
        device_address scratch = 0, result = 0;
        streams[tile] = new_stream();
        must(driver.allocate(&result, 30 * MIB), "cuMemAlloc");
        must(driver.allocate_async(&scratch, 100 * MIB, streams[tile]), "cuMemAllocAsync");
        simulate(streams[tile]);
        must(driver.release_async(scratch, streams[tile]), "cuMemFreeAsync");
    }
    printf("{\"bytes\": %zu}\n", TILES * 100 * MIB);
    fflush(stdout);
    /* here */
    device_address image = 0;
    must(driver.allocate_async(&image, 600 * MIB, new_stream()), "cuMemAllocAsync of the image");
    puts("done");
    return 0;
}
