/* Allocates and frees in several threads until it is killed, and counts what returned:
 *
 *     churn THREADS COUNTERS
 *
 * COUNTERS is a file with one number a thread, mapped: what a thread has counted before it is killed
 * stays. Behind them stands the number of the process. Each thread uses sizes of its own, so that its calls can be told from the others'. */
#include "driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_THREADS 64

static struct driver driver;
static _Atomic uint64_t *counters;
static void *context;

static void *churn(void *number) {
    size_t index = (size_t)number;
    must(driver.set_current(context), "cuCtxSetCurrent");
    for (;;) {
        device_address address = 0;
        must(driver.allocate(&address, (index + 1) * MIB), "cuMemAlloc");
        atomic_fetch_add(&counters[index], 1);
        must(driver.release(address), "cuMemFree");
        atomic_fetch_add(&counters[index], 1);
    }
    return NULL;
}

int main(int count, char **words) {
    size_t threads = count > 2 ? (size_t)atoi(words[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS) stop("churn THREADS COUNTERS");
    int file = open(words[2], O_RDWR | O_CREAT | O_TRUNC, 0644);
    size_t length = (MOST_THREADS + 1) * sizeof *counters;
    if (file < 0 || ftruncate(file, (off_t)length)) stop("no file");
    counters = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counters == MAP_FAILED) stop("no map");
    counters[MOST_THREADS] = (uint64_t)getpid();
    driver = usual_driver();
    start(&driver);
    must(driver.retain(&context, 0), "cuDevicePrimaryCtxRetain");
    pthread_t last;
    for (size_t index = 0; index < threads; index++) {
        if (pthread_create(&last, NULL, churn, (void *)index)) stop("no thread");
    }
    pthread_join(last, NULL);
    return 0;
}
