/* Sets up a number of workers on the GPU, each with its state, its scratch pad and a long buffer
 * for results, runs them, and takes them down again. The scratch pads are forgotten.
 * True: eight scratch pads of 48 MiB are never freed. */
#include "driver.h"

#define WORKERS 8

struct worker {
    device_address state, scratch, results;
};

static void set_up(const struct driver *driver, struct worker *worker) {
    must(driver->allocate(&worker->state, 12 * MIB), "cuMemAlloc");
    must(driver->allocate(&worker->scratch, 48 * MIB), "cuMemAlloc");
    must(driver->allocate(&worker->results, 20 * MIB), "cuMemAlloc");
}

static void take_down(const struct driver *driver, struct worker *worker) {
    must(driver->release(worker->results), "cuMemFree");
    must(driver->release(worker->state), "cuMemFree");
}

int main(void) {
    struct driver driver = usual_driver();
    struct worker workers[WORKERS];
    start(&driver);
    for (int index = 0; index < WORKERS; index++) set_up(&driver, &workers[index]);
    driver.synchronize();
    for (int index = 0; index < WORKERS; index++) take_down(&driver, &workers[index]);
    printf("{\"bytes\": %zu}\n", WORKERS * 48 * MIB);
    return 0;
}
