/* A camera's last eight pictures on the device: the newest takes the place of the oldest, in a
 * buffer of its own. True: never more than nine pictures live, however long it runs; nothing is
 * wrong. */
#include "driver.h"

#define KEPT 8
#define PICTURE ((size_t)1920 * 1080 * 4 * 4)

int main(void) {
    struct driver driver = usual_driver();
    device_address ring[KEPT] = {0};
    start(&driver);
    for (int number = 0; number < 240; number++) {
        device_address picture = 0;
        must(driver.allocate(&picture, PICTURE), "cuMemAlloc");
        driver.synchronize();
        if (ring[number % KEPT]) must(driver.release(ring[number % KEPT]), "cuMemFree");
        ring[number % KEPT] = picture;
    }
    for (int slot = 0; slot < KEPT; slot++) must(driver.release(ring[slot]), "cuMemFree");
    puts("240 pictures");
    return 0;
}
