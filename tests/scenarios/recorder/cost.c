/* What a call costs: pairs of an allocation and a free, in batches.
 *
 *     cost BATCHES
 *
 * Prints the median batch in nanoseconds a call, for stream-ordered and for plain memory, and of a
 * multiplication that waits for the one before, three cycles on x86-64 processors of today: it tells
 * how fast the machine is while it measures. */
#include "driver.h"

#include <time.h>

#define PAIRS 200
#define WARM_UP 20
#define MOST_BATCHES 100000

static struct driver driver;

static void stream_ordered(void) {
    device_address address = 0;
    driver.allocate_async(&address, 4096, NULL);
    driver.release_async(address, NULL);
}

static void plain(void) {
    device_address address = 0;
    driver.allocate(&address, 4 * MIB);
    driver.release(address);
}

static void multiply(void) {
    static volatile unsigned long kept = 3;
    unsigned long value = kept;
    for (int index = 0; index < 32; index++) {
        value *= 0x9e3779b97f4a7c15ul;
        __asm__ volatile("" : "+r"(value));
    }
    kept = value;
}

/* This thread's own time: what else runs on the machine is not part of it. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static double median_call(void (*pair)(void), int batches) {
    static double taken[MOST_BATCHES];
    for (int batch = -WARM_UP; batch < batches; batch++) {
        double began = now();
        for (int index = 0; index < PAIRS; index++) pair();
        if (batch >= 0) taken[batch] = (now() - began) / (2.0 * PAIRS);
    }
    qsort(taken, (size_t)batches, sizeof *taken, ascending);
    return taken[batches / 2];
}

int main(int count, char **words) {
    int batches = count > 1 ? atoi(words[1]) : 200;
    if (batches < 1 || batches > MOST_BATCHES) stop("cost BATCHES");
    driver = usual_driver();
    start(&driver);
    device_address address = 0;
    must(driver.allocate_async(&address, 4096, NULL), "cuMemAllocAsync");
    must(driver.allocate(&address, MIB), "cuMemAlloc");
    printf("{\"stream_ordered_ns\":%.1f,", median_call(stream_ordered, batches));
    printf("\"plain_ns\":%.1f,", median_call(plain, batches));
    /* A batch has two calls a pair, here 32 multiplications. */
    printf("\"multiply_ns\":%.4f}\n", median_call(multiply, batches) / 16);
    return 0;
}
