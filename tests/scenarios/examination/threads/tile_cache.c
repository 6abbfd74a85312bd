/* A map server draws tiles and keeps each in a cache on the device, from which nothing is ever
 * taken out. True: one tile a request stays, until none can be had. */
#include "driver.h"

#define TILE ((size_t)2048 * 2048 * 4)
#define REQUESTS 500

static device_address cache[REQUESTS];

static int draw(const struct driver *driver, int request) {
    device_address scratch = 0;
    int code = driver->allocate(&scratch, TILE / 2);
    if (code == 0) code = driver->allocate(&cache[request], TILE);
    if (code != 0) return code;
    driver->synchronize();
    return driver->release(scratch);
}

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    for (int request = 0; request < REQUESTS; request++) {
        int code = draw(&driver, request);
        if (code != 0) {
            fprintf(stderr, "tile %d: error %d\n", request, code);
            return 1;
        }
        printf("{\"bytes\": %zu}\n", (size_t)(request + 1) * TILE);
        fflush(stdout);
    }
    return 0;
}
