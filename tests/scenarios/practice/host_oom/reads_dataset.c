/* Reads a dataset into host memory before it trains; a context on the device is open all the while.
 * What it has resident is told as it goes: it does not live to the end. */
#include "driver.h"

#define SHARD (4 * MIB)
#define SHARDS 256

int main(void) {
    struct driver driver = usual_driver();
    device_address weights = 0;
    start(&driver);
    must(driver.allocate(&weights, 256 * MIB), "cuMemAlloc");
    for (size_t shard = 1; shard <= SHARDS; shard++) {
        char *samples = malloc(SHARD);
        if (!samples) stop("no host memory");
        memset(samples, 1, SHARD);
        printf("{\"bytes\": %zu}\n", shard * SHARD);
        fflush(stdout);
    }
    return 0;
}
