/* A data-frame program over a pool of a fixed size, as large as its owner allowed. It keeps every
 * second column, and ends when a join finds no part of the pool that is long enough.
 * True: the pool is fragmented inside. No call of the driver ever fails, and what the pool does
 * inside its one block, nobody outside can see: a recording cannot tell why it ended. */
#include "driver.h"

#define POOL ((size_t)1200 * MIB)
#define COLUMNS 40

static unsigned char taken[1200]; /* a byte for each MiB of the pool */

static long find(size_t length) {
    size_t run = 0;
    for (size_t at = 0; at < sizeof taken; at++) {
        run = taken[at] ? 0 : run + 1;
        if (run == length) return (long)(at + 1 - length);
    }
    return -1;
}

static long take(size_t length) {
    long at = find(length);
    if (at >= 0) memset(taken + at, 1, length);
    return at;
}

int main(void) {
    struct driver driver = usual_driver();
    device_address pool = 0;
    long columns[COLUMNS];
    start(&driver);
    must(driver.allocate(&pool, POOL), "cuMemAlloc");
    for (int index = 0; index < COLUMNS; index++) columns[index] = take(28);
    for (int index = 0; index < COLUMNS; index += 2) memset(taken + columns[index], 0, 28);
    driver.synchronize();
    if (take(256) < 0) {
        fprintf(stderr, "terminate: std::bad_alloc: out_of_memory: maximum pool size exceeded\n");
        return 1;
    }
    return 0;
}
