/* Simulates one block of cells after another, each with a scratch buffer that is freed behind its kernel. True:
 * the host is far ahead of the device; all the buffers are freed and none is free yet when the result is asked
 * for. */
#include "streams.h"

#define BLOCKS 5
#define SCRATCH (256 * MIB)

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    forbid_waiting();
    void *streams[BLOCKS];
    for (int block = 0; block < BLOCKS; block++) {
        device_address scratch = 0;
        streams[block] = new_stream();
        must(driver.allocate_async(&scratch, SCRATCH, streams[block]), "cuMemAllocAsync");
        simulate(streams[block]);
        must(driver.release_async(scratch, streams[block]), "cuMemFreeAsync");
    }
    printf("{\"bytes\": %zu}\n", BLOCKS * SCRATCH);
    fflush(stdout);
    /* here */
    device_address result = 0;
    must(driver.allocate_async(&result, 768 * MIB, new_stream()), "cuMemAllocAsync of the result");
    puts("done");
    return 0;
}
