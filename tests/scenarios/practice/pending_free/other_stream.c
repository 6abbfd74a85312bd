/* A pipeline frees its input in one stream and allocates its output in another. True: the input of 1 GiB is
 * freed behind a kernel that still runs; the other stream cannot have it yet. */
#include "streams.h"

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    forbid_waiting();
    void *reading = new_stream(), *writing = new_stream();
    device_address input = 0, output = 0;
    must(driver.allocate_async(&input, 1024 * MIB, reading), "cuMemAllocAsync of the input");
    simulate(reading);
    must(driver.release_async(input, reading), "cuMemFreeAsync");
    printf("{\"bytes\": %zu}\n", 1024 * MIB);
    fflush(stdout);
    /* here */
    must(driver.allocate_async(&output, 1024 * MIB, writing), "cuMemAllocAsync of the output");
    puts("done");
    return 0;
}
