/* Four threads work on buffers of their own, each of them freed by the thread that took it, in steps
 * of different lengths. The threads' peaks fall together now and then. */
#include "driver.h"

#include <pthread.h>

enum { THREADS = 4, STEPS = 200 };

static struct driver driver;
static void *context;

static void *work(void *number) {
    size_t own = (size_t)number;
    must(driver.set_current(context), "cuCtxSetCurrent");
    for (size_t step = 0; step < STEPS; step++) {
        device_address input = 0, output = 0;
        must(driver.allocate(&input, (50 + 10 * own) * MIB), "cuMemAlloc");
        must(driver.allocate(&output, (1 + (step + own) % 6) * 20 * MIB), "cuMemAlloc");
        must(driver.release(input), "cuMemFree");
        must(driver.release(output), "cuMemFree");
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    driver = usual_driver();
    start(&driver);
    must(driver.retain(&context, 0), "cuDevicePrimaryCtxRetain");
    for (size_t own = 0; own < THREADS; own++) {
        if (pthread_create(&threads[own], NULL, work, (void *)own)) stop("no thread");
    }
    for (size_t own = 0; own < THREADS; own++) pthread_join(threads[own], NULL);
    return 0;
}
