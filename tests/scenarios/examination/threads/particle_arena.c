/* A particle code takes one arena at its start, divides it itself and gives it back at its end.
 * True: three quarters of the device are in use from first to last, as meant; nothing is wrong. */
#include "driver.h"

#define ARENA ((size_t)1200 * MIB)

struct arena {
    device_address base;
    size_t used;
};

static device_address take(struct arena *arena, size_t size) {
    device_address at = arena->base + arena->used;
    arena->used += (size + 255) / 256 * 256;
    if (arena->used > ARENA) stop("the arena is full");
    return at;
}

int main(void) {
    struct driver driver = usual_driver();
    struct arena arena = {0, 0};
    start(&driver);
    must(driver.allocate(&arena.base, ARENA), "cuMemAlloc");
    for (int step = 0; step < 200; step++) {
        arena.used = 0;
        take(&arena, 300 * MIB);
        take(&arena, 300 * MIB);
        take(&arena, (size_t)(step % 10 + 1) * 16 * MIB);
        driver.synchronize();
    }
    must(driver.release(arena.base), "cuMemFree");
    puts("200 steps");
    return 0;
}
