/* Weights are copied to a buffer that is too small for them, and nobody looks at the copy's code; then
 * the work goes on with what the buffer held before. True: the copy was refused; memory is healthy. */
#include "driver.h"

#define BUFFER (16 * MIB)
#define WEIGHTS (24 * MIB)

int main(void) {
    struct driver driver = usual_driver();
    int (*to_device)(device_address, const void *, size_t) = by_dlsym("cuMemcpyHtoD_v2");
    int (*to_host)(void *, device_address, size_t) = by_dlsym("cuMemcpyDtoH_v2");
    start(&driver);

    char *weights = malloc(WEIGHTS), first = 0;
    memset(weights, 7, WEIGHTS);
    device_address buffer = 0, work = 0;
    must(driver.allocate(&buffer, BUFFER), "cuMemAlloc");
    to_device(buffer, weights, WEIGHTS);
    must(driver.allocate(&work, 64 * MIB), "cuMemAlloc");
    must(to_host(&first, buffer, 1), "cuMemcpyDtoH");
    must(driver.release(work), "cuMemFree");
    must(driver.release(buffer), "cuMemFree");
    if (first != 7) fprintf(stderr, "the weights are %d and should be 7. Out of memory?\n", first);
    return first != 7;
}
