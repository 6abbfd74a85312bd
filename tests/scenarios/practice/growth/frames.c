/* Frames of a video are filtered one by one; a frame that is too dark is left out, and with it the
 * release of its buffer. True: every third frame leaves 24 MiB behind. */
#include "driver.h"

#define FRAMES 400
#define FRAME (24 * MIB)

static struct driver driver;

static int is_dark(int number) { return number % 3 == 2; }

static int filter_frame(int number) {
    device_address pixels = 0;
    int code = driver.allocate(&pixels, FRAME);
    if (code) return code;
    if (is_dark(number)) return 0;
    return driver.release(pixels);
}

int main(void) {
    driver = usual_driver();
    start(&driver);
    int dark = 0;
    for (int number = 0; number < FRAMES; number++) {
        must(filter_frame(number), "filter_frame");
        dark += is_dark(number);
        printf("{\"bytes\": %zu}\n", dark * FRAME);
        fflush(stdout);
    }
    return 0;
}
